//! The movement of limbs: loads, write-backs and releases between instructions.
//!
//! All reads are known in advance, so the limb that leaves a full scratchpad is the one whose next
//! use is farthest away. It leaves right after its previous use, because it would only take room
//! until its next one. Limbs never change. A limb is written to memory at most once. A limb that
//! came from memory, or from a seed on a machine with a generator, is dropped without a write.
//!
//! A result that was never written costs two transfers if it leaves, and a limb that came from
//! memory costs one. Belady's rule counts loads alone, so a second plan halves the distance to the
//! next use of such a result.
//!
//! Hints that do not fit are read in the same order again and again, by one key switch after the
//! other. Belady's rule then keeps the first limbs of this order, so that memory is idle during the
//! first part of a key switch and units wait in the rest. If some limbs of every hint *stream*,
//! they leave first once they have been read, and the limbs that stay are spread over the whole
//! order.
//!
//! # Source
//! Belady, "A Study of Replacement Algorithms for a Virtual-Storage Computer", IBM Systems Journal
//! 5(2), 1966; F1, section "Scheduling data and computation", second stage.

use super::Eviction;
use super::schedule::Event;
use crate::vector::machine::{Machine, Operation};
use crate::vector::work::{NONE, Work};
use std::collections::BinaryHeap;

/// Plans a scratchpad of `slots` limbs for instructions in an order. Every instruction must fit the
/// slots. `streamed` is the number of eighths of the limbs of hints that stream. `kept` is true if
/// results that were not written stay for twice as long.
pub(super) fn plan(
    work: &Work,
    uses: &Uses,
    slots: usize,
    eviction: Eviction,
    (streamed, kept): (u32, bool),
) -> Vec<u32> {
    let mut pad = Pad::new(work, slots, eviction);
    pad.streamed = streamed;
    pad.kept = kept;
    for (position, touched) in uses.by_position().enumerate() {
        pad.step(position as u32, touched);
    }
    for &output in &work.outputs {
        if !pad.saved[output as usize] {
            pad.leaves
                .push((pad.touched[output as usize], output, true));
        }
    }
    pad.with_early_leaves()
}

/// Limbs that pass the memory channel in planned events, by step of the program. An event counts
/// for the step of the next instruction, and the last events for the last step.
pub(super) fn transfers(machine: &Machine, work: &Work, events: &[u32]) -> Vec<usize> {
    let generates = !machine.uses(Operation::Sample).is_empty();
    let mut counts = vec![0; work.steps().len()];
    let (mut since, mut last) = (0, 0);
    for &event in events {
        match Event::unpack(event) {
            Event::Fetch(limb) => {
                let input = work.input(limb);
                let generated = generates && input.is_some_and(|input| input.source.sampled());
                since += usize::from(!generated);
            }
            Event::WriteBack(_) => since += 1,
            Event::Release(_) => {}
            Event::Issue(instruction) => {
                last = work.step(instruction as usize);
                counts[last] += std::mem::take(&mut since);
            }
        }
    }
    counts[last] += since;
    counts
}

/// Returns true if planned events load some limb of a hint twice.
pub(super) fn loads_hints_again(work: &Work, events: &[u32]) -> bool {
    let mut loaded = vec![false; work.inputs().len()];
    events.iter().any(|&event| match Event::unpack(event) {
        Event::Fetch(limb) if work.input(limb).is_some_and(|one| one.hint().is_some()) => {
            std::mem::replace(&mut loaded[limb as usize - work.instructions()], true)
        }
        _ => false,
    })
}

/// Returns true if planned events write results other than outputs.
pub(super) fn writes(work: &Work, events: &[u32]) -> bool {
    let written = events
        .iter()
        .filter(|&&event| matches!(Event::unpack(event), Event::WriteBack(_)));
    written.count() > work.outputs.len()
}

/// The scratchpad during planning: the limbs that it holds, and the events so far.
struct Pad<'a> {
    work: &'a Work,
    eviction: Eviction,
    /// Eighths of the limbs of hints that stream.
    streamed: u32,
    /// True if results that were not written stay for twice as long.
    kept: bool,
    /// Distance of the next use, in instructions, beyond which a limb that streams leaves.
    far: u32,
    /// For each limb in the scratchpad its key, or 0 if the limb must stay. The limb with the
    /// largest key leaves first. The high half of a key is the limb's rank by the eviction rule,
    /// the low half its number plus 1. Limbs outside the scratchpad have 0.
    keys: Vec<u64>,
    /// Keys of limbs in the scratchpad, with some that are out of date. Old keys are dropped before
    /// the heap outgrows the scratchpad.
    ranks: BinaryHeap<u64>,
    /// Number of free slots.
    free: usize,
    /// For each limb, true if it is in the scratchpad.
    here: Vec<bool>,
    /// For each limb, true if it can be had again from memory or from a seed.
    saved: Vec<bool>,
    /// For each limb, true if it is an output.
    output: Vec<bool>,
    events: Vec<u32>,
    /// For each limb, the number of events up to its last production, load or read.
    touched: Vec<u32>,
    /// Limbs that leave because other limbs need their room. Each has the number of events after
    /// which it leaves, its number, and true if it is written before.
    leaves: Vec<(u32, u32, bool)>,
}

impl<'a> Pad<'a> {
    fn new(work: &'a Work, slots: usize, eviction: Eviction) -> Self {
        let (instructions, limbs) = (work.instructions(), work.limbs());
        let mut saved = vec![false; limbs];
        saved[instructions..].fill(true);
        let mut output = vec![false; limbs];
        work.outputs
            .iter()
            .for_each(|&limb| output[limb as usize] = true);
        Self {
            work,
            eviction,
            streamed: 0,
            kept: false,
            far: slots as u32,
            keys: vec![0; limbs],
            ranks: BinaryHeap::with_capacity(2 * slots.min(limbs)),
            free: slots,
            here: vec![false; limbs],
            saved,
            output,
            events: Vec::with_capacity(2 * instructions),
            touched: vec![0; limbs],
            leaves: Vec::new(),
        }
    }

    /// Executes the instruction at a position. `touched` has its operands and then its result.
    fn step(&mut self, position: u32, touched: &[Use]) {
        let (result, read) = touched.split_last().expect("an instruction makes a limb");
        // Operands stay. The ones that are in the scratchpad are marked first, so that loads do not
        // push them out.
        for one in read {
            self.keys[one.limb as usize] = 0;
        }
        for one in read {
            if !self.here[one.limb as usize] {
                self.take(one.limb);
                self.events.push(Event::Fetch(one.limb).pack());
            }
        }
        self.take(result.limb);
        self.events.push(Event::Issue(result.limb).pack());
        let now = self.events.len() as u32;
        for &one in touched {
            self.touched[one.limb as usize] = now;
            self.after(one, position);
        }
    }

    /// Lets a limb into the scratchpad, with a key of 0.
    fn take(&mut self, limb: u32) {
        if self.free == 0 {
            self.evict();
        }
        self.free -= 1;
        self.here[limb as usize] = true;
        self.keys[limb as usize] = 0;
    }

    fn evict(&mut self) {
        let limb = loop {
            let key = self.ranks.pop().expect("every instruction fits");
            let limb = key as u32 as usize - 1;
            if key == self.keys[limb] {
                break limb;
            }
        };
        let written = !std::mem::replace(&mut self.saved[limb], true);
        self.leaves.push((self.touched[limb], limb as u32, written));
        self.here[limb] = false;
        self.keys[limb] = 0;
        self.free += 1;
    }

    /// Ranks a limb after its read or production, or releases it if no instruction reads it any
    /// more.
    fn after(&mut self, Use { limb, next }: Use, position: u32) {
        if !self.here[limb as usize] {
            // The instruction reads the limb twice, and the limb was released after the first time.
            return;
        }
        if next == NONE && (self.saved[limb as usize] || !self.output[limb as usize]) {
            self.here[limb as usize] = false;
            self.keys[limb as usize] = 0;
            self.free += 1;
            self.events.push(Event::Release(limb).pack());
            return;
        }
        let first = match self.eviction {
            Eviction::Belady
                if next != NONE && next - position > self.far && self.streams(limb) =>
            {
                NONE - 1
            }
            Eviction::Belady if self.kept && next != NONE && !self.saved[limb as usize] => {
                position + (next - position) / 2
            }
            Eviction::Belady => next,
            Eviction::Lru => NONE - position,
        };
        // Numbers of limbs break ties in the same way for every capacity.
        let key = (u64::from(first) << 32) | (u64::from(limb) + 1);
        self.keys[limb as usize] = key;
        if self.ranks.len() == self.ranks.capacity() {
            // Only the keys of limbs in the scratchpad are left.
            let keys = &self.keys;
            self.ranks
                .retain(|&key| keys[key as u32 as usize - 1] == key);
        }
        self.ranks.push(key);
    }

    /// Returns true if the limb belongs to a hint and streams. Multiples of the golden ratio spread
    /// such limbs evenly over any order in which numbers rise by equal steps (Knuth, volume 3,
    /// section 6.4).
    fn streams(&self, limb: u32) -> bool {
        let input = self.work.input(limb);
        input.is_some_and(|input| input.hint().is_some())
            && limb.wrapping_mul(2_654_435_769) >> 29 < self.streamed
    }

    /// All events, with write-backs and releases of evicted limbs in their early places.
    fn with_early_leaves(mut self) -> Vec<u32> {
        self.leaves.sort_by_key(|leave| leave.0);
        let mut events = Vec::with_capacity(self.events.len() + 2 * self.leaves.len());
        let mut leaves = self.leaves.iter().peekable();
        for place in 0..=self.events.len() {
            while let Some((_, limb, written)) = leaves.next_if(|leave| leave.0 as usize <= place) {
                if *written {
                    events.push(Event::WriteBack(*limb).pack());
                }
                events.push(Event::Release(*limb).pack());
            }
            events.extend(self.events.get(place));
        }
        events
    }
}

/// A limb that an instruction reads or produces, and the position of its next read, or `NONE`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    limb: u32,
    next: u32,
}

/// The limbs that each instruction of an order touches, in the order in which plans need them.
pub(super) struct Uses {
    /// For each position the operands, and then the result, which has the number of the
    /// instruction.
    all: Vec<Use>,
    /// For each position, the end of its limbs in `all`.
    ends: Vec<u32>,
}

impl Uses {
    /// The limbs of an order in which every limb is produced before it is read.
    pub(super) fn of(work: &Work, order: &[u32]) -> Self {
        let mut all = Vec::with_capacity(4 * order.len());
        let mut ends = Vec::with_capacity(order.len());
        for &instruction in order {
            let touched = work.operands(instruction as usize).chain([instruction]);
            all.extend(touched.map(|limb| Use { limb, next: NONE }));
            ends.push(all.len() as u32);
        }
        // The loop runs backwards, so that at each position the next read of each limb is known.
        let mut read = vec![NONE; work.limbs()];
        let mut last = all.len();
        for position in (0..order.len()).rev() {
            let first = position.checked_sub(1).map_or(0, |p| ends[p] as usize);
            for one in &mut all[first..last] {
                one.next = read[one.limb as usize];
            }
            for one in &all[first..last - 1] {
                read[one.limb as usize] = position as u32;
            }
            last = first;
        }
        Self { all, ends }
    }

    fn by_position(&self) -> impl Iterator<Item = &[Use]> {
        self.ends.iter().scan(0, |first, &end| {
            let first = std::mem::replace(first, end as usize);
            Some(&self.all[first..end as usize])
        })
    }
}
