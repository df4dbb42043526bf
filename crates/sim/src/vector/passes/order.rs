//! Operations that share a key-switch hint come together.
//!
//! An operation is what one instruction of the trace's main body comes to. After one that reads a hint, the next one that
//! reads the same hint follows, if it is near, and if what it waits for reads no other hint. What it waits for is brought
//! forward with it.
//!
//! # Source
//! F1, section "Scheduling data and computation", first stage: operations are ordered for reuse of hints.

use crate::vector::work::Work;
use std::ops::Range;

/// How many operations ahead the next one with the same hint may be. Results that are made early take room.
const AHEAD: usize = 64;
/// Most operations that are brought forward for one.
const BROUGHT: usize = 32;

const NO_HINT: u32 = u32::MAX;

/// Instructions in an order in which operations that share a hint follow each other.
pub(super) fn by_hints(work: &Work) -> Vec<u32> {
    let operations = Operations::of(work);
    let mut by_hint: Vec<Vec<u32>> = vec![Vec::new(); work.hints.len()];
    for (place, &hint) in operations.hints.iter().enumerate() {
        if hint != NO_HINT {
            by_hint[hint as usize].push(place as u32);
        }
    }
    let mut cursor = vec![0; by_hint.len()];
    let mut done = vec![false; operations.len()];
    let mut order = Vec::with_capacity(work.instructions());
    let mut oldest = 0;
    while oldest < operations.len() {
        if done[oldest] {
            oldest += 1;
            continue;
        }
        let mut next = vec![oldest as u32];
        while let Some(&last) = next.last() {
            for &operation in &next {
                done[operation as usize] = true;
                order.extend(operations.instructions[operation as usize].clone());
            }
            next = match operations.hints[last as usize] {
                NO_HINT => Vec::new(),
                hint => {
                    let (same, cursor) = (&by_hint[hint as usize], &mut cursor[hint as usize]);
                    while same.get(*cursor).is_some_and(|&place| done[place as usize]) {
                        *cursor += 1;
                    }
                    let near = same
                        .get(*cursor)
                        .filter(|&&place| (place as usize) < oldest + AHEAD);
                    near.and_then(|&place| operations.with_needed(place, &done))
                        .unwrap_or_default()
                }
            };
        }
    }
    order
}

/// Operations of the main body that have instructions, in order.
struct Operations {
    /// Its instructions.
    instructions: Vec<Range<u32>>,
    /// For each operation the hint that it reads first.
    hints: Vec<u32>,
    /// Operations whose results an operation reads: those of `i` are `before[first[i]..first[i + 1]]`.
    before: Vec<u32>,
    first: Vec<u32>,
}

impl Operations {
    fn of(work: &Work) -> Self {
        let mut found = Self {
            instructions: Vec::new(),
            hints: Vec::new(),
            before: Vec::new(),
            first: vec![0],
        };
        let mut owner: Vec<u32> = Vec::with_capacity(work.instructions());
        let mut start = 0;
        while start < work.instructions() {
            let own = found.instructions.len() as u32;
            let group = work.groups[start];
            let end = start
                + work.groups[start..]
                    .iter()
                    .take_while(|&&other| other == group)
                    .count();
            let (mut hint, begin) = (NO_HINT, found.before.len());
            owner.resize(end, own);
            for limb in (start..end).flat_map(|i| work.operands(i)) {
                match work.input(limb) {
                    Some(input) if hint == NO_HINT => hint = input.hint().unwrap_or(NO_HINT),
                    Some(_) => {}
                    None => {
                        let from = owner[limb as usize];
                        if from != own && !found.before[begin..].contains(&from) {
                            found.before.push(from);
                        }
                    }
                }
            }
            found.instructions.push(start as u32..end as u32);
            found.hints.push(hint);
            found.first.push(found.before.len() as u32);
            start = end;
        }
        found
    }

    fn len(&self) -> usize {
        self.instructions.len()
    }

    /// An operation behind all that it waits for; `None` if these are too many, or one of them reads another hint.
    fn with_needed(&self, operation: u32, done: &[bool]) -> Option<Vec<u32>> {
        let hint = self.hints[operation as usize];
        let mut needed = vec![operation];
        let mut next = 0;
        while next < needed.len() {
            let one = needed[next] as usize;
            for &before in &self.before[self.first[one] as usize..self.first[one + 1] as usize] {
                if done[before as usize] || needed.contains(&before) {
                    continue;
                }
                let other = self.hints[before as usize];
                if needed.len() == BROUGHT || (other != NO_HINT && other != hint) {
                    return None;
                }
                needed.push(before);
            }
            next += 1;
        }
        needed.sort_unstable();
        Some(needed)
    }
}
