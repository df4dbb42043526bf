//! The choice of the limbs that stay in register files.
//!
//! The order of instructions of each cluster is known, so a full register file gives up the limb
//! whose next use by its cluster is farthest away. A limb is not kept after its last use: its words
//! only stream through. A result that every reader finds in the register file never passes the
//! ports.
//!
//! For a fixed order of instructions, a larger file keeps all limbs of a smaller one, and more.
//!
//! # Source
//! Belady's rule is a stack algorithm: Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for
//! storage hierarchies", IBM Systems Journal 9(2), 1970.

use super::schedule::{Event, INSIDE};
use crate::vector::machine::Machine;
use crate::vector::work::{NONE, Work};
use std::collections::BinaryHeap;

/// Chooses the limbs to keep. Returns for each instruction one bit for each operand, in order,
/// which is set if the operand is in the register file, and [`INSIDE`] if the result is needed
/// nowhere else. `sequences` has the instructions of each cluster, in order.
pub(super) fn keep(
    machine: &Machine,
    work: &Work,
    sequences: &[Vec<u32>],
    events: &[u32],
) -> Vec<u64> {
    let mut held = vec![0; work.instructions()];
    let mut file = File {
        next: vec![NONE; work.limbs()],
        until: vec![NONE; work.limbs()],
        met: vec![NONE; work.limbs()],
        ranks: BinaryHeap::new(),
        kept: 0,
    };
    for (cluster, sequence) in sequences.iter().enumerate() {
        let room = machine.register_limbs(cluster, work.n());
        if room > 0 {
            file.keep(work, sequence, room, &mut held);
        }
    }
    let mut outside = vec![false; work.limbs()];
    for (i, held) in held.iter().enumerate() {
        for (place, limb) in work.operands(i).enumerate() {
            outside[limb as usize] |= held >> place & 1 == 0;
        }
    }
    for &event in events {
        if let Event::WriteBack(limb) = Event::unpack(event) {
            outside[limb as usize] = true;
        }
    }
    for (held, outside) in held.iter_mut().zip(outside) {
        *held |= if outside { 0 } else { INSIDE };
    }
    held
}

/// The register file of one cluster, used for one cluster after the other. Positions are indices in
/// the sequence of the cluster. An instruction *meets* the limbs that it reads and the limb that it
/// produces.
struct File {
    /// For each limb, the position of its next meeting.
    next: Vec<u32>,
    /// For each limb that is kept, the position up to which it is, or `NONE`.
    until: Vec<u32>,
    /// For each limb, the position of its last meeting.
    met: Vec<u32>,
    /// Kept limbs by the position of their next meeting, with some entries that are out of date.
    ranks: BinaryHeap<(u32, u32)>,
    /// Number of limbs that are kept.
    kept: usize,
}

impl File {
    fn keep(&mut self, work: &Work, sequence: &[u32], room: usize, held: &mut [u64]) {
        let limbs = |i: u32| work.operands(i as usize).chain([i]);
        // For each meeting of a limb, the position of the next one. The loop runs backwards.
        let mut nexts = Vec::new();
        for (position, &i) in sequence.iter().enumerate().rev() {
            let first = nexts.len();
            nexts.extend(limbs(i).map(|limb| self.next[limb as usize]));
            nexts[first..].reverse();
            limbs(i).for_each(|limb| self.next[limb as usize] = position as u32);
        }
        for (position, &i) in sequence.iter().enumerate() {
            let position = position as u32;
            for (place, limb) in work.operands(i as usize).enumerate() {
                let known =
                    self.until[limb as usize] == position || self.met[limb as usize] == position;
                held[i as usize] |= u64::from(known) << place;
                self.meet(limb, position, nexts.pop().expect("one for each"));
            }
            self.meet(i, position, nexts.pop().expect("one for each"));
            while self.kept > room {
                let (until, limb) = self.ranks.pop().expect("as many as are kept");
                let known = &mut self.until[limb as usize];
                if *known == until {
                    *known = NONE;
                    self.kept -= 1;
                }
            }
        }
        for limb in sequence.iter().flat_map(|&i| limbs(i)) {
            self.next[limb as usize] = NONE;
            self.met[limb as usize] = NONE;
        }
        self.ranks.clear();
    }

    /// Meets a limb, which is met again at the position `next`.
    fn meet(&mut self, limb: u32, position: u32, next: u32) {
        let place = limb as usize;
        if self.until[place] == position {
            self.until[place] = NONE;
            self.kept -= 1;
        }
        if std::mem::replace(&mut self.met[place], position) != position && next != NONE {
            self.until[place] = next;
            self.kept += 1;
            self.ranks.push((next, limb));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::keep;
    use crate::vector::testing::{Knobs, Random, work};
    use crate::vector::work::Work;

    /// The largest number of operands found in a file of `room` limbs, over all choices of limbs to
    /// keep. One cluster executes all instructions in order. The search has all sets of limbs that
    /// may be in the file after an instruction, with the number of operands found on the way.
    fn most(work: &Work, room: usize) -> usize {
        let mut ways: std::collections::BTreeMap<Vec<u32>, usize> = [(Vec::new(), 0)].into();
        for i in 0..work.instructions() {
            let mut reads: Vec<u32> = work.operands(i).collect();
            let again = reads.len();
            reads.sort_unstable();
            reads.dedup();
            let again = again - reads.len();
            let mut next = std::collections::BTreeMap::new();
            for (file, hits) in ways {
                let hits = hits + again + reads.iter().filter(|limb| file.contains(limb)).count();
                let mut all = [&file[..], &reads[..], &[i as u32]].concat();
                all.sort_unstable();
                all.dedup();
                for set in 0u32..1 << all.len() {
                    if set.count_ones() as usize == room.min(all.len()) {
                        let kept = (0..all.len()).filter(|place| set >> place & 1 == 1);
                        let best = next
                            .entry(kept.map(|place| all[place]).collect())
                            .or_insert(0);
                        *best = hits.max(*best);
                    }
                }
            }
            ways = next;
        }
        ways.into_values().max().unwrap_or(0)
    }

    #[test]
    fn no_other_choice_finds_more_and_larger_files_keep_what_smaller_ones_do() {
        for seed in 0..60 {
            let work = work(seed, 6);
            let order = vec![(0..work.instructions() as u32).collect(), Vec::new()];
            let of = |registers| {
                let knobs = Knobs {
                    registers,
                    ..Knobs::random(&mut Random::new(seed))
                };
                keep(&knobs.machine(), &work, &order, &[])
            };
            let held: Vec<Vec<u64>> = (0..6).map(of).collect();
            for (room, pair) in held.windows(2).enumerate() {
                let within = pair[0].iter().zip(&pair[1]);
                assert!(
                    within.clone().all(|(small, large)| small & !large == 0),
                    "seed {seed}, {room} limbs"
                );
            }
            for room in 1..3 {
                let hits = held[room]
                    .iter()
                    .map(|held| (held << 1).count_ones() as usize);
                assert_eq!(
                    hits.sum::<usize>(),
                    most(&work, room),
                    "seed {seed}, {room} limbs"
                );
            }
        }
    }
}
