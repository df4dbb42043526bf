//! The spreading of instructions: instructions that can run at the same time come together.
//!
//! A list scheduler runs on a model machine whose memory takes no time. Of the instructions that
//! can begin, the first in the input order does, unless it is too far ahead. Results that are
//! computed early take room, so the window is small.
//!
//! A second list scheduler, for comparison, looks at the pressure on registers. While few results
//! are held, it begins the instruction with the longest chain after it. While many are held, it
//! begins the first instruction of the input order, which holds few results.
//!
//! # Source
//! The second scheduler is after Goodman and Hsu, "Code scheduling and register allocation in large
//! basic blocks", ICS 1988: one scheduler for few registers and one for many, chosen at each step.

use super::model::Model;
use super::profile::Profile;
use crate::vector::machine::Machine;
use crate::vector::work::Work;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Limits on how far an instruction may move ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    /// Number of held results from which on the input order decides.
    pub(super) held: usize,
    /// Number of places in the input order from the first instruction that has not begun.
    pub(super) window: usize,
    /// The window, in places, while too many results are held.
    pub(super) narrow: usize,
}

impl Reach {
    /// The first instruction within a window of the input order.
    pub(super) fn window(window: usize) -> Self {
        Self {
            held: 0,
            window,
            narrow: window,
        }
    }

    /// The instruction with the longest chain, anywhere, until results hold three quarters of the
    /// slots.
    pub(super) fn pressure(slots: usize) -> Self {
        Self {
            held: slots * 3 / 4,
            window: usize::MAX,
            narrow: 64,
        }
    }
}

/// Orders instructions by their first ticks on a model machine.
pub(super) fn by_time(
    machine: &Machine,
    work: &Work,
    order: &[u32],
    profile: Profile,
    reach: Reach,
) -> Vec<u32> {
    let instructions = work.instructions();
    let mut place = vec![0; instructions];
    for (at, &instruction) in order.iter().enumerate() {
        place[instruction as usize] = at as u32;
    }
    let mut uses = vec![0; instructions];
    let mut waits = vec![0; instructions];
    for (i, waits) in waits.iter_mut().enumerate() {
        for limb in work.operands(i) {
            if let Some(uses) = uses.get_mut(limb as usize) {
                *uses += 1;
                *waits += 1;
            }
        }
    }
    let (first, readers) = readers(work, &uses);
    let model = Model::new(machine, work, profile);
    let classes = model.classes();
    let mut spread = Spread {
        work,
        reach,
        order,
        // Ranks decide only if some results may be held.
        ranks: match reach.held {
            0 => Vec::new(),
            _ => critical(machine, work, order, profile),
        },
        place,
        uses,
        waits,
        begun: vec![false; instructions],
        spread: Vec::with_capacity(instructions),
        by_rank: vec![Heap::new(); classes],
        by_place: vec![Heap::new(); classes],
        parked: Heap::new(),
        oldest: 0,
        held: 0,
        model,
    };
    for i in 0..instructions {
        if spread.waits[i] == 0 {
            spread.list(i as u32);
        }
    }
    while spread.spread.len() < instructions {
        spread.dispatch();
        let (ends, gives) = spread.model.tick();
        for instruction in ends {
            spread.model.end(instruction as usize);
        }
        for result in gives {
            let result = result as usize;
            for &reader in &readers[first[result] as usize..first[result + 1] as usize] {
                let waits = &mut spread.waits[reader as usize];
                *waits -= 1;
                if *waits == 0 {
                    spread.list(reader);
                }
            }
        }
    }
    spread.spread
}

/// For each result, the instructions that read it, as lists in one vector: the list of `i` is from
/// `first[i]` to `first[i + 1]`.
fn readers(work: &Work, uses: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut first = vec![0u32];
    first.extend(uses.iter().scan(0, |sum, &uses| {
        *sum += uses;
        Some(*sum)
    }));
    let mut next = first.clone();
    let mut readers = vec![0; first[uses.len()] as usize];
    for i in 0..uses.len() {
        for limb in work.operands(i) {
            if (limb as usize) < uses.len() {
                let place = &mut next[limb as usize];
                readers[*place as usize] = i as u32;
                *place += 1;
            }
        }
    }
    (first, readers)
}

/// Instructions by rank, the lowest first.
type Heap = BinaryHeap<Reverse<(u32, u32)>>;

/// The state of spreading: instructions that can begin, and the order so far.
struct Spread<'a> {
    work: &'a Work,
    reach: Reach,
    order: &'a [u32],
    /// For each instruction, its rank by the longest chain after it. Empty for a window.
    ranks: Vec<u32>,
    /// For each instruction, its place in the input order.
    place: Vec<u32>,
    /// For each result, how many reads are still to come.
    uses: Vec<u32>,
    /// For each instruction, how many operands are not available yet.
    waits: Vec<u32>,
    /// For each instruction, true if it has begun.
    begun: Vec<bool>,
    /// Instructions that have begun, in order.
    spread: Vec<u32>,
    /// For each class, the instructions that can begin, by rank and by place. An instruction that
    /// has begun stays in one of the two heaps until it is the first there.
    by_rank: Vec<Heap>,
    by_place: Vec<Heap>,
    /// Instructions whose operands are available, but which are too far ahead, by place.
    parked: Heap,
    /// Place in the input order of the first instruction that has not begun.
    oldest: usize,
    /// Number of results that later instructions still read.
    held: usize,
    model: Model<'a>,
}

impl Spread<'_> {
    /// Adds an instruction whose operands are available to its heaps.
    fn list(&mut self, instruction: u32) {
        let place = self.place[instruction as usize];
        if place as usize >= self.oldest.saturating_add(self.reach.window) {
            self.parked.push(Reverse((place, instruction)));
            return;
        }
        let class = self.model.class(instruction as usize);
        self.by_place[class].push(Reverse((place, instruction)));
        if self.reach.held > 0 {
            let rank = self.ranks[instruction as usize];
            self.by_rank[class].push(Reverse((rank, instruction)));
        }
    }

    fn dispatch(&mut self) {
        loop {
            let full = self.held >= self.reach.held;
            let heaps = if full {
                &mut self.by_place
            } else {
                &mut self.by_rank
            };
            let mut best: Option<(Reverse<(u32, u32)>, usize)> = None;
            for (class, heap) in heaps.iter_mut().enumerate() {
                while heap
                    .peek()
                    .is_some_and(|Reverse((_, i))| self.begun[*i as usize])
                {
                    heap.pop();
                }
                if let Some(&head) = heap.peek()
                    && self.model.able(class)
                    && best.is_none_or(|best| head > best.0)
                {
                    best = Some((head, class));
                }
            }
            let Some((Reverse((rank, instruction)), class)) = best else {
                break;
            };
            if full && rank as usize >= self.oldest.saturating_add(self.reach.narrow) {
                break;
            }
            heaps[class].pop();
            self.begin(instruction);
        }
    }

    fn begin(&mut self, instruction: u32) {
        self.begun[instruction as usize] = true;
        self.spread.push(instruction);
        self.model.issue(instruction as usize, instruction);
        self.held += usize::from(self.uses[instruction as usize] > 0);
        for limb in self.work.operands(instruction as usize) {
            if let Some(uses) = self.uses.get_mut(limb as usize) {
                *uses -= 1;
                self.held -= usize::from(*uses == 0);
            }
        }
        while self
            .order
            .get(self.oldest)
            .is_some_and(|&i| self.begun[i as usize])
        {
            self.oldest += 1;
        }
        while let Some(&Reverse((place, parked))) = self.parked.peek()
            && (place as usize) < self.oldest.saturating_add(self.reach.window)
        {
            self.parked.pop();
            self.list(parked);
        }
    }
}

/// Ranks of instructions by the longest chain after each: the longest chain has the lowest rank.
fn critical(machine: &Machine, work: &Work, order: &[u32], profile: Profile) -> Vec<u32> {
    let mut behind = vec![0u32; work.instructions()];
    for &instruction in order.iter().rev() {
        let i = instruction as usize;
        let ticks = profile.operation(machine, work.n(), work.kind(i), work.terms(i));
        let chain = u64::from(behind[i]) + ticks.busy + ticks.latency;
        behind[i] = u32::try_from(chain).unwrap_or(u32::MAX);
        let chain = behind[i];
        for limb in work.operands(i) {
            if let Some(behind) = behind.get_mut(limb as usize) {
                *behind = chain.max(*behind);
            }
        }
    }
    behind.iter().map(|chain| u32::MAX - chain).collect()
}
