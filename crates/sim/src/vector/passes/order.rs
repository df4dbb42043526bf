//! The order of operations: operations that share a key-switch hint come together.
//!
//! An operation is all the instructions of one instruction of the trace's main body. Operations for
//! the hint on the machine come next, as long as there is one whose operands are available or can
//! be computed without another hint. Operations that they wait for come just before them. Then
//! comes the hint of the first operation that can begin. An operation without a hint comes as late
//! as possible, or at once if its result takes no more room than its operands leave.
//!
//! # Source
//! F1, section "Scheduling data and computation", first stage: operations are ordered for reuse of
//! hints.

use super::operations::{NO_HINT, Operations};
use crate::vector::work::Work;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Orders instructions so that operations with a common hint follow each other. An operation may
/// overtake the first one that is not done only if it is less than `ahead` places behind it.
pub(super) fn by_hints(work: &Work, ahead: usize) -> Vec<u32> {
    let operations = Operations::of(work);
    let count = operations.len();
    let mut turns = Turns {
        operations: &operations,
        ahead,
        waits: (0..count)
            .map(|o| operations.before(o).len() as u32)
            .collect(),
        undone: (0..count)
            .map(|o| operations.before(o).len() as u32)
            .collect(),
        readers: (0..count)
            .map(|o| operations.after(o).len() as u32)
            .collect(),
        done: vec![false; count],
        oldest: 0,
        by_hint: vec![BinaryHeap::new(); work.hints.len()],
        heads: BTreeSet::new(),
        order: Vec::with_capacity(work.instructions()),
    };
    for operation in 0..count {
        if operations.before(operation).is_empty() {
            turns.clear(operation);
        }
    }
    while let Some(&(_, hint)) = turns.heads.first() {
        // The first operation of a hint has no limit, so that the loop ends.
        let mut ahead = usize::MAX;
        while let Some(operation) = turns.next_of(hint, ahead) {
            turns.with_needed(operation);
            ahead = turns.ahead;
        }
    }
    for operation in 0..count {
        if !turns.done[operation] {
            turns.with_needed(operation as u32);
        }
    }
    turns.order
}

/// The state of the search for an order: the operations that are done and those that can begin.
struct Turns<'a> {
    operations: &'a Operations,
    ahead: usize,
    /// For each operation, how many operations it waits for that are not done and cannot be done
    /// without a hint.
    waits: Vec<u32>,
    /// For each operation, how many operations it waits for that are not done.
    undone: Vec<u32>,
    /// For each operation, how many of its readers are not done.
    readers: Vec<u32>,
    /// For each operation, true if it is done.
    done: Vec<bool>,
    /// The first operation that is not done.
    oldest: usize,
    /// For each hint, the operations that can begin.
    by_hint: Vec<BinaryHeap<Reverse<u32>>>,
    /// Pairs of a hint's first operation that can begin, and the hint.
    heads: BTreeSet<(u32, u32)>,
    /// Instructions of the operations that are done, in order.
    order: Vec<u32>,
}

impl Turns<'_> {
    /// Takes the next operation of a hint, if it is near enough.
    fn next_of(&mut self, hint: u32, ahead: usize) -> Option<u32> {
        let heap = self.by_hint.get_mut(hint as usize)?;
        let Reverse(first) = *heap.peek()?;
        if first as usize >= self.oldest.saturating_add(ahead) {
            return None;
        }
        heap.pop();
        self.heads.remove(&(first, hint));
        if let Some(Reverse(second)) = heap.peek() {
            self.heads.insert((*second, hint));
        }
        Some(first)
    }

    /// Notes that an operation waits for no operation with a hint. If it has a hint, it can begin.
    /// Otherwise its readers can bring it along.
    fn clear(&mut self, operation: usize) {
        let mut open = vec![operation];
        while let Some(operation) = open.pop() {
            let hint = self.operations.hint(operation);
            if hint != NO_HINT {
                let heap = &mut self.by_hint[hint as usize];
                let before = heap.peek().map(|Reverse(first)| *first);
                let own = operation as u32;
                if before.is_none_or(|first| own < first) {
                    before.map(|first| self.heads.remove(&(first, hint)));
                    self.heads.insert((own, hint));
                }
                heap.push(Reverse(own));
                continue;
            }
            self.operations.after(operation).iter().for_each(|&after| {
                let waits = &mut self.waits[after as usize];
                *waits -= 1;
                if *waits == 0 {
                    open.push(after as usize);
                }
            });
        }
    }

    /// Does an operation, after all operations that it waits for. None of these needs a hint.
    fn with_needed(&mut self, operation: u32) {
        let mut needed = vec![operation];
        let mut next = 0;
        let mut known = BTreeSet::from([operation]);
        while next < needed.len() {
            for &before in self.operations.before(needed[next] as usize) {
                if !self.done[before as usize] && known.insert(before) {
                    needed.push(before);
                }
            }
            next += 1;
        }
        for operation in known {
            if !self.done[operation as usize] {
                self.perform(operation as usize);
            }
        }
    }

    /// Does an operation, and then readers whose results take no more room than they free.
    fn perform(&mut self, operation: usize) {
        let mut open = vec![operation];
        while let Some(operation) = open.pop() {
            self.done[operation] = true;
            self.order.extend(self.operations.instructions(operation));
            while self.done.get(self.oldest).is_some_and(|&done| done) {
                self.oldest += 1;
            }
            let hint = self.operations.hint(operation) != NO_HINT;
            for &before in self.operations.before(operation) {
                self.readers[before as usize] -= 1;
            }
            for &after in self.operations.after(operation) {
                let undone = &mut self.undone[after as usize];
                *undone -= 1;
                let all = *undone == 0;
                if hint {
                    let waits = &mut self.waits[after as usize];
                    *waits -= 1;
                    if *waits == 0 {
                        self.clear(after as usize);
                    }
                }
                if all && self.saves_room(after as usize) {
                    open.push(after as usize);
                }
            }
        }
    }

    /// Returns true if an operation whose operands are available needs no hint and frees at least
    /// as much room as it takes.
    fn saves_room(&self, operation: usize) -> bool {
        let before = self.operations.before(operation).iter();
        let left = before.filter(|&&before| self.readers[before as usize] == 1);
        let left: u32 = left
            .map(|&before| self.operations.limbs(before as usize))
            .sum();
        self.operations.hint(operation) == NO_HINT && self.operations.limbs(operation) <= left
    }
}
