//! The tiles of a key switch.

use super::Sizes;
use crate::spatial::array::{moved, moved_by};
use crate::spatial::machine::Machine;
use crate::spatial::network::{FIRST, Kernel, NONE, Phase, SECOND};
use crate::spatial::schedule::cycles;
use ring::torus::wavefront::{Instruction, Issue, LANES, Section};

/// Number of words that a tile sends of its rests: the sum of halves, and the sum of odd bits.
pub(super) const RESTS: usize = 2;

/// Receives a share of the mask and a body, then the rows of the key. Sends its rests and its sum.
pub(super) struct SwitchTile {
    machine: Machine,
    sizes: Sizes,
    share: usize,
    /// Ticks in which a word of a row is received and multiplied.
    ticks: u64,
    mask: Vec<u32>,
    sum: Vec<u32>,
    rests: [u32; RESTS],
    digits: Vec<i32>,
}

/// Phases, numbered in order.
const MASK: usize = 0;
const DIGITS: usize = 1;
const ROWS: usize = 2;
const REST: usize = 3;

impl SwitchTile {
    pub(super) fn new(machine: &Machine, sizes: Sizes, share: usize) -> Self {
        let vector = cycles(machine, &[subtract(sizes.to + 1)]);
        let vectors = (sizes.to + 1).div_ceil(LANES) as u64;
        // A vector of a row takes as many cycles as it has words to arrive, or its instructions.
        let each = vector.max(vectors * LANES as u64) * machine.array_cycle();
        Self {
            machine: machine.clone(),
            sizes,
            share,
            ticks: each.div_ceil(vectors * LANES as u64),
            mask: Vec::new(),
            sum: vec![0; sizes.to + 1],
            rests: [0; RESTS],
            digits: vec![0; sizes.digits.levels() as usize],
        }
    }
}

/// Eight words of a row: the sum is loaded, a product subtracted, and the sum stored.
fn subtract(words: usize) -> Section {
    let list: [(Instruction, &[usize]); 4] = [
        (Instruction::Load, &[]),
        (Instruction::MultiplyAccumulate, &[0]),
        (Instruction::Narrow, &[1]),
        (Instruction::Store, &[2]),
    ];
    let issue = |(instruction, needs): (Instruction, &[usize])| Issue {
        instruction,
        needs: needs.to_vec(),
        not_before: Vec::new(),
    };
    Section {
        issues: list.into_iter().map(issue).collect(),
        times: words.div_ceil(LANES),
    }
}

impl Kernel for SwitchTile {
    fn turns(&self) -> usize {
        1
    }

    fn turn(&self, _turn: usize) -> Vec<Phase> {
        let (machine, sizes) = (&self.machine, &self.sizes);
        // A digit takes a cycle, as in the tiles of a decomposition, and so does a rest.
        let digits = self.share * (sizes.digits.levels() as usize + 1);
        vec![
            moved(machine, self.share + 1, FIRST, NONE),
            Phase::Compute {
                ticks: digits as u64 * machine.array_cycle(),
            },
            moved_by(self.ticks, self.share * sizes.row_words(), FIRST, NONE),
            moved(machine, RESTS, NONE, FIRST),
            moved(machine, sizes.to + 1, NONE, FIRST),
        ]
    }

    fn step(&mut self, phase: usize, i: usize, words: [u32; 2]) -> [u32; 2] {
        let size = self.sizes.to + 1;
        match phase {
            MASK if i < self.share => self.mask.push(words[0]),
            MASK => self.sum[size - 1] = words[0],
            ROWS => {
                let (row, place) = (i / size, i % size);
                let level = row % self.digits.len();
                if level == 0 && place == 0 {
                    let word = self.mask[row / self.digits.len()];
                    self.sizes.digits.digits_into(&mut self.digits, &[word]);
                }
                let product = words[0].wrapping_mul(self.digits[level] as u32);
                self.sum[place] = self.sum[place].wrapping_sub(product);
            }
            REST => return [self.rests[i], 0],
            _ => return [self.sum[i], 0],
        }
        [0; 2]
    }

    fn compute(&mut self, phase: usize) {
        debug_assert_eq!(phase, DIGITS);
        for &word in &self.mask {
            let rest = self.sizes.rest(word);
            self.rests[0] = self.rests[0].wrapping_add((rest >> 1) as u32);
            self.rests[1] = self.rests[1].wrapping_add((rest & 1) as u32);
        }
    }

    fn memory(&self) -> usize {
        4 * (self.share + self.sizes.to + 1)
    }
}

/// Passes on the sums of all tiles, and subtracts half of the sum of all rests from the body. On
/// its other input, the same tile passes on the results of the blind rotation.
pub(super) struct Close {
    machine: Machine,
    to: usize,
    rests: [u32; RESTS],
}

impl Close {
    pub(super) fn new(machine: &Machine, to: usize) -> Self {
        Self {
            machine: machine.clone(),
            to,
            rests: [0; RESTS],
        }
    }
}

impl Kernel for Close {
    fn turns(&self) -> usize {
        1
    }

    fn turn(&self, _turn: usize) -> Vec<Phase> {
        vec![
            moved(&self.machine, RESTS, SECOND, NONE),
            moved(&self.machine, self.to + 1, SECOND, FIRST),
        ]
    }

    fn step(&mut self, phase: usize, i: usize, words: [u32; 2]) -> [u32; 2] {
        if phase == 0 {
            self.rests[i] = words[1];
            return [0; 2];
        }
        let [halves, odd] = self.rests;
        let rest = if i == self.to {
            halves.wrapping_add(odd / 2)
        } else {
            0
        };
        [words[1].wrapping_sub(rest), 0]
    }
}
