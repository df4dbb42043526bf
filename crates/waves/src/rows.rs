//! Assignment of rows to limbs: linear scan over the waves.
//!
//! A limb has its row from the wave that computes it until after the last wave that reads it, so no
//! wave overwrites its operands. The lowest free row is taken first: rows of limbs that are
//! computed together then mostly lie together.

use crate::order::Batch;
use crate::plan::Plan;
use crate::work::{Limb, Work, ZERO};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Rows of all limbs.
pub(crate) struct Rows {
    of: Vec<u32>,
    /// Number of rows.
    pub(crate) count: usize,
}

impl Rows {
    pub(crate) fn of(&self, limb: Limb) -> u32 {
        self.of[limb as usize]
    }
}

/// The last wave of a limb that no wave reads.
const NEVER: u32 = u32::MAX;

/// Assigns every limb a row. A limb that nothing reads has the spare row.
pub(crate) fn rows(work: &Work, batches: &[Batch]) -> Rows {
    let mut last = vec![NEVER; work.limbs as usize];
    for (wave, batch) in batches.iter().enumerate() {
        for &index in &batch.instructions {
            for &limb in work.reads(&work.instructions[index as usize]) {
                last[limb as usize] = wave as u32;
            }
        }
    }
    last[ZERO as usize] = NEVER;
    let mut of = vec![Plan::SPARE; work.limbs as usize];
    of[ZERO as usize] = Plan::ZERO;
    let mut count = Plan::FIRST;
    let mut free: BinaryHeap<Reverse<u32>> = BinaryHeap::new();
    for (wave, batch) in batches.iter().enumerate() {
        let instructions = || batch.instructions.iter();
        let instructions = || instructions().map(|&i| &work.instructions[i as usize]);
        for limb in instructions().flat_map(|instruction| instruction.makes.clone()) {
            if last[limb as usize] != NEVER {
                of[limb as usize] = free.pop().map_or_else(
                    || {
                        count += 1;
                        count - 1
                    },
                    |Reverse(row)| row,
                );
            }
        }
        for &limb in instructions().flat_map(|instruction| work.reads(instruction)) {
            if last[limb as usize] == wave as u32 {
                free.push(Reverse(of[limb as usize]));
                // The row of an operand that is read twice is freed once.
                last[limb as usize] = NEVER;
            }
        }
    }
    Rows {
        of,
        count: count as usize,
    }
}
