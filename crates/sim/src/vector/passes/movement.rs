//! What lies in the scratchpad when: loads, write-backs and releases between instructions.
//!
//! Everything is known before it runs, so the limb that leaves a full scratchpad is the one that is read last. It leaves
//! right after its last use before that: it would only have taken room. Limbs never change: one is written to memory at
//! most once, and one that came from memory, or from a seed on a machine with a generator, is dropped without being
//! written.
//!
//! A result that was never written costs two transfers if it leaves, and what came from memory one. Belady's rule minds
//! loads alone, so a second plan counts the way to the next use of such a result as half as long.
//!
//! Hints that do not fit are read in the same order again and again, by one key switch after the other. Belady's rule then
//! keeps the first limbs of that order, so that memory has nothing to do for the first part of a key switch, and units
//! have to wait in the rest. If some limbs of every hint *stream*, they leave first once they have been read, and those
//! that stay are spread over the whole order.
//!
//! # Source
//! Belady, "A Study of Replacement Algorithms for a Virtual-Storage Computer", IBM Systems Journal 5(2), 1966; F1,
//! section "Scheduling data and computation", second stage.

use super::Eviction;
use super::schedule::Event;
use crate::vector::machine::{Machine, Operation};
use crate::vector::work::{NONE, Work};
use std::collections::BinaryHeap;

/// Plans a scratchpad of so many slots for instructions in an order. Every instruction fits the slots. Of limbs of hints,
/// so many eighths stream. `kept` says whether results that were not written stay for twice as long.
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

/// Limbs that pass the memory channel in planned events, by step of the program. An event counts for
/// the step of the next instruction, and the last events for the last step.
pub(super) fn transfers(machine: &Machine, work: &Work, events: &[u32]) -> Vec<usize> {
    let generates = !machine.uses(Operation::Sample).is_empty();
    let mut found = vec![0; work.steps().len()];
    let (mut since, mut last) = (0, 0);
    for &event in events {
        match Event::unpack(event) {
            Event::Fetch(limb) => {
                let input = work.input(limb);
                let made = generates && input.is_some_and(|input| input.source.sampled());
                since += usize::from(!made);
            }
            Event::WriteBack(_) => since += 1,
            Event::Release(_) => {}
            Event::Issue(instruction) => {
                last = work.step(instruction as usize);
                found[last] += std::mem::take(&mut since);
            }
        }
    }
    found[last] += since;
    found
}

/// Whether planned events load some limb of a hint twice.
pub(super) fn loads_hints_again(work: &Work, events: &[u32]) -> bool {
    let mut loaded = vec![false; work.inputs().len()];
    events.iter().any(|&event| match Event::unpack(event) {
        Event::Fetch(limb) if work.input(limb).is_some_and(|one| one.hint().is_some()) => {
            std::mem::replace(&mut loaded[limb as usize - work.instructions()], true)
        }
        _ => false,
    })
}

/// Whether planned events write results that are no outputs.
pub(super) fn writes(work: &Work, events: &[u32]) -> bool {
    let written = events
        .iter()
        .filter(|&&event| matches!(Event::unpack(event), Event::WriteBack(_)));
    written.count() > work.outputs.len()
}

struct Pad<'a> {
    work: &'a Work,
    eviction: Eviction,
    /// Eighths of the limbs of hints that leave first.
    streamed: u32,
    /// Whether results that were not written stay for twice as long.
    kept: bool,
    /// Instructions from which on a use is so far away that a limb that streams leaves.
    far: u32,
    /// For each limb in the scratchpad how early it leaves: the one of the largest key first, one of key 0 never. 0 for
    /// all others. The low half of a key is the limb's number plus 1.
    keys: Vec<u64>,
    /// Keys of limbs, among them old ones: those are dropped before they outgrow the scratchpad.
    ranks: BinaryHeap<u64>,
    free: usize,
    here: Vec<bool>,
    /// Whether memory or a seed has the limb.
    saved: Vec<bool>,
    output: Vec<bool>,
    events: Vec<u32>,
    /// For each limb the number of events when it was made, loaded or read last.
    touched: Vec<u32>,
    /// Limbs that leave because others need their room: behind how many events, and whether they are written before.
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

    /// Executes the instruction of a position, which touches these limbs.
    fn step(&mut self, position: u32, touched: &[Use]) {
        let (made, read) = touched.split_last().expect("an instruction makes a limb");
        // What is read stays: first what is there, so that loads do not push it out.
        for one in read {
            self.keys[one.limb as usize] = 0;
        }
        for one in read {
            if !self.here[one.limb as usize] {
                self.take(one.limb);
                self.events.push(Event::Fetch(one.limb).pack());
            }
        }
        self.take(made.limb);
        self.events.push(Event::Issue(made.limb).pack());
        let now = self.events.len() as u32;
        for &one in touched {
            self.touched[one.limb as usize] = now;
            self.after(one, position);
        }
    }

    /// Lets a limb in, with a key of 0.
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

    /// Ranks a limb that has been read or made, or releases it if nothing reads it any more.
    fn after(&mut self, Use { limb, next }: Use, position: u32) {
        if !self.here[limb as usize] {
            // Read twice by one instruction, and released after the first time.
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
        // Numbers of limbs settle ties in the same way for every capacity.
        let key = (u64::from(first) << 32) | (u64::from(limb) + 1);
        self.keys[limb as usize] = key;
        if self.ranks.len() == self.ranks.capacity() {
            // What is left are keys of limbs that are here.
            let keys = &self.keys;
            self.ranks
                .retain(|&key| keys[key as u32 as usize - 1] == key);
        }
        self.ranks.push(key);
    }

    /// Whether a limb of a hint is one of those that stream: multiples of the golden ratio spread them evenly over any
    /// order in which numbers go up by equal steps (Knuth, volume 3, section 6.4).
    fn streams(&self, limb: u32) -> bool {
        let input = self.work.input(limb);
        input.is_some_and(|input| input.hint().is_some())
            && limb.wrapping_mul(2_654_435_769) >> 29 < self.streamed
    }

    /// All events, with those who leave at their places.
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

/// A limb that an instruction reads or makes, and the position at which it is read next, or `NONE`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    limb: u32,
    next: u32,
}

/// The limbs that each instruction of an order touches, in the order in which plans ask for them.
pub(super) struct Uses {
    /// Of each position the limbs that are read, and then the one that is made, which has the number of the instruction.
    all: Vec<Use>,
    /// Where those of each position end.
    ends: Vec<u32>,
}

impl Uses {
    /// Those of an order in which every limb is made before it is read.
    pub(super) fn of(work: &Work, order: &[u32]) -> Self {
        let mut all = Vec::with_capacity(4 * order.len());
        let mut ends = Vec::with_capacity(order.len());
        for &instruction in order {
            let touched = work.operands(instruction as usize).chain([instruction]);
            all.extend(touched.map(|limb| Use { limb, next: NONE }));
            ends.push(all.len() as u32);
        }
        // From behind: at each position it is known where each limb is read next.
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
