//! What lies in the scratchpad when: loads, write-backs and releases between instructions.
//!
//! Everything is known before it runs, so the limb that leaves a full scratchpad is the one that is read last. Limbs
//! never change: one is written to memory at most once, and one that came from memory, or from a seed on a machine with a
//! generator, is dropped without being written.
//!
//! # Source
//! Belady, "A Study of Replacement Algorithms for a Virtual-Storage Computer", IBM Systems Journal 5(2), 1966; F1,
//! section "Scheduling data and computation", second stage.

use super::Eviction;
use super::schedule::Event;
use crate::vector::work::{NONE, Work};

/// Plans a scratchpad of so many slots for instructions in the given order, in which every limb is made before it is read.
/// Every instruction fits the slots.
pub(super) fn plan(work: &Work, order: &[u32], slots: usize, eviction: Eviction) -> Vec<u32> {
    let mut pad = Pad::new(work, order, slots, eviction);
    for (position, &instruction) in order.iter().enumerate() {
        pad.step(position as u32, instruction);
    }
    for &output in &work.outputs {
        if !pad.saved[output as usize] {
            pad.events.push(Event::WriteBack(output).pack());
        }
    }
    pad.events
}

struct Pad<'a> {
    work: &'a Work,
    eviction: Eviction,
    uses: Uses,
    /// For each slot the limb in it, and a key: the limb of the largest key leaves first, one of key 0 never.
    slots: Vec<u32>,
    keys: Vec<u64>,
    free: Vec<u32>,
    /// For each limb its slot, or `NONE`.
    slot: Vec<u32>,
    /// Whether memory or a seed has the limb.
    saved: Vec<bool>,
    output: Vec<bool>,
    events: Vec<u32>,
}

impl<'a> Pad<'a> {
    fn new(work: &'a Work, order: &[u32], slots: usize, eviction: Eviction) -> Self {
        let (instructions, limbs) = (work.instructions(), work.limbs());
        let slots = slots.min(limbs);
        let mut saved = vec![false; limbs];
        saved[instructions..].fill(true);
        let mut output = vec![false; limbs];
        work.outputs
            .iter()
            .for_each(|&limb| output[limb as usize] = true);
        Self {
            work,
            eviction,
            uses: Uses::of(work, order),
            slots: vec![NONE; slots],
            keys: vec![0; slots],
            free: (0..slots as u32).rev().collect(),
            slot: vec![NONE; limbs],
            saved,
            output,
            events: Vec::with_capacity(2 * instructions),
        }
    }

    fn step(&mut self, position: u32, instruction: u32) {
        let work = self.work;
        // What is read stays: first what is there, so that loads do not push it out.
        for limb in work.operands(instruction as usize) {
            if self.slot[limb as usize] != NONE {
                self.keys[self.slot[limb as usize] as usize] = 0;
            }
        }
        for limb in work.operands(instruction as usize) {
            if self.slot[limb as usize] == NONE {
                self.take(limb);
                self.events.push(Event::Fetch(limb).pack());
            }
        }
        self.take(instruction);
        self.events.push(Event::Issue(instruction).pack());
        for limb in work.operands(instruction as usize).chain([instruction]) {
            self.after(limb, position);
        }
    }

    /// Gives a limb a slot, with a key of 0.
    fn take(&mut self, limb: u32) {
        let slot = self.free.pop().unwrap_or_else(|| self.evict());
        self.slots[slot as usize] = limb;
        self.keys[slot as usize] = 0;
        self.slot[limb as usize] = slot;
    }

    fn evict(&mut self) -> u32 {
        let keys = self.keys.iter().copied().enumerate();
        let (slot, _) = keys.fold(
            (0, 0),
            |most, (slot, key)| if key > most.1 { (slot, key) } else { most },
        );
        let limb = self.slots[slot];
        if !self.saved[limb as usize] {
            self.saved[limb as usize] = true;
            self.events.push(Event::WriteBack(limb).pack());
        }
        self.slot[limb as usize] = NONE;
        self.events.push(Event::Release(limb).pack());
        slot as u32
    }

    /// Ranks a limb that has been read or made, or releases it if nothing reads it any more.
    fn after(&mut self, limb: u32, position: u32) {
        let slot = self.slot[limb as usize];
        if slot == NONE {
            // Read twice by one instruction, and released after the first time.
            return;
        }
        let next = self.uses.after(limb, position);
        if next == NONE && (self.saved[limb as usize] || !self.output[limb as usize]) {
            self.slot[limb as usize] = NONE;
            self.keys[slot as usize] = 0;
            self.free.push(slot);
            self.events.push(Event::Release(limb).pack());
            return;
        }
        let first = match self.eviction {
            Eviction::Belady => next,
            Eviction::Lru => NONE - position,
        };
        // Numbers of limbs settle ties in the same way for every capacity.
        self.keys[slot as usize] = (u64::from(first) << 32) | (u64::from(limb) + 1);
    }
}

/// Positions at which limbs are read, in order.
struct Uses {
    positions: Vec<u32>,
    /// For each limb where its next position stands; those of limb `i` end at `ends[i]`.
    next: Vec<u32>,
    ends: Vec<u32>,
}

impl Uses {
    fn of(work: &Work, order: &[u32]) -> Self {
        let mut ends = vec![0u32; work.limbs()];
        let operands = || {
            order
                .iter()
                .flat_map(|&instruction| work.operands(instruction as usize))
        };
        operands().for_each(|limb| ends[limb as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        let mut next = ends.clone();
        let mut positions = vec![0; sum as usize];
        for (position, &instruction) in order.iter().enumerate().rev() {
            for limb in work.operands(instruction as usize) {
                next[limb as usize] -= 1;
                positions[next[limb as usize] as usize] = position as u32;
            }
        }
        Self {
            positions,
            next,
            ends,
        }
    }

    /// The first position behind this one at which a limb is read, or `NONE`.
    fn after(&mut self, limb: u32, position: u32) -> u32 {
        let (next, end) = (&mut self.next[limb as usize], self.ends[limb as usize]);
        while *next < end && self.positions[*next as usize] <= position {
            *next += 1;
        }
        if *next < end {
            self.positions[*next as usize]
        } else {
            NONE
        }
    }
}
