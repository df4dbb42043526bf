//! The tiles of a blind rotation around its multipliers.
//!
//! A *group* is the components of a ciphertext that share a stream, one after another. The mapping
//! gives their number.

use super::moved;
use crate::spatial::machine::Machine;
use crate::spatial::network::{FIRST, Kernel, NONE, Object, Phase, SECOND};
use ring::torus::Decomposition;

/// Keeps a group of the accumulator, and sends `X^a ACC - ACC`, one component to each output.
///
/// In each turn it reads the group on input 0 and the exponent on input 1.
pub(super) struct Rotation {
    machine: Machine,
    n: usize,
    accumulator: Vec<u32>,
    exponent: usize,
    turns: usize,
}

impl Rotation {
    pub(super) fn new(machine: &Machine, (n, components): (usize, usize), turns: usize) -> Self {
        Self {
            machine: machine.clone(),
            n,
            accumulator: vec![0; n * components],
            exponent: 0,
            turns,
        }
    }

    /// Coefficient `i` of `X^a p - p`, for `a` in `[0, 2N)`.
    fn rotated(&self, poly: &[u32], i: usize) -> u32 {
        let n = self.n;
        let place = (i + 2 * n - self.exponent) % (2 * n);
        let turned = match poly.get(place) {
            Some(&word) => word,
            None => poly[place - n].wrapping_neg(),
        };
        turned.wrapping_sub(poly[i])
    }
}

impl Kernel for Rotation {
    fn turns(&self) -> usize {
        self.turns
    }

    fn turn(&self, _turn: usize) -> Vec<Phase> {
        let to = [true, self.accumulator.len() > self.n];
        vec![
            moved(&self.machine, self.accumulator.len(), FIRST, NONE),
            moved(&self.machine, 1, SECOND, NONE),
            moved(&self.machine, self.n, NONE, to),
        ]
    }

    fn step(&mut self, phase: usize, i: usize, words: [u32; 2]) -> [u32; 2] {
        match phase {
            0 => self.accumulator[i] = words[0],
            1 => self.exponent = words[1] as usize % (2 * self.n),
            _ => {
                let mut polys = self.accumulator.chunks_exact(self.n);
                return [0, 1].map(|_| polys.next().map_or(0, |poly| self.rotated(poly, i)));
            }
        }
        [0; 2]
    }

    fn memory(&self) -> usize {
        4 * self.accumulator.len()
    }

    fn object(&self) -> Option<Object> {
        Some(Object {
            class: "Rotation",
            arguments: Vec::new(),
        })
    }
}

/// Computes the digits of one level, by an addition, a shift, a mask and a subtraction for each
/// word.
pub(super) struct Decompose {
    machine: Machine,
    n: usize,
    /// Half of the base at every level, and half of the part rounded away. With it, digits come out
    /// plus `B/2`.
    offset: u32,
    shift: u32,
    base_log: u32,
    turns: usize,
}

impl Decompose {
    pub(super) fn new(
        machine: &Machine,
        n: usize,
        (decomposition, level): (Decomposition, u32),
        turns: usize,
    ) -> Self {
        let base_log = decomposition.base_log();
        let halves =
            (1..=decomposition.levels()).map(|j| decomposition.weight::<u32>(j) << (base_log - 1));
        let rounding = 1 << (u32::BITS - decomposition.bits() - 1);
        Self {
            machine: machine.clone(),
            n,
            offset: halves.fold(rounding, u32::wrapping_add),
            shift: u32::BITS - base_log * level,
            base_log,
            turns,
        }
    }

    fn digit(&self, word: u32) -> u32 {
        let mask = (1 << self.base_log) - 1;
        let raised = (word.wrapping_add(self.offset) >> self.shift) & mask;
        raised.wrapping_sub(1 << (self.base_log - 1))
    }
}

impl Kernel for Decompose {
    fn turns(&self) -> usize {
        self.turns
    }

    fn turn(&self, _turn: usize) -> Vec<Phase> {
        vec![moved(&self.machine, self.n, FIRST, FIRST)]
    }

    fn step(&mut self, _phase: usize, _i: usize, words: [u32; 2]) -> [u32; 2] {
        [self.digit(words[0]), 0]
    }

    fn object(&self) -> Option<Object> {
        Some(Object {
            class: "Decomposition",
            arguments: vec![self.offset, self.shift],
        })
    }
}

/// Keeps a group of the accumulator, adds the products, and sends it to the rotation.
///
/// Input 0 and output 0 carry products and sums. Input 1 and output 1 carry accumulators before the
/// first turn and after the last, in a chain through all groups. With the chain, the logic needs
/// only one channel in each direction for all of them.
pub(super) struct Accumulate {
    machine: Machine,
    accumulator: Vec<u32>,
    /// Words of the groups before and after this one in the chain.
    others: (usize, usize),
    turns: usize,
}

/// The phases of a turn, numbered in order.
const LOAD: usize = 0;
const START: usize = 2;
const ADD: usize = 3;
const UNLOAD: usize = 5;

impl Accumulate {
    pub(super) fn new(
        machine: &Machine,
        words: usize,
        others: (usize, usize),
        turns: usize,
    ) -> Self {
        Self {
            machine: machine.clone(),
            accumulator: vec![0; words],
            others,
            turns,
        }
    }
}

impl Kernel for Accumulate {
    fn turns(&self) -> usize {
        self.turns
    }

    fn turn(&self, turn: usize) -> Vec<Phase> {
        let (first, last) = (turn == 0, turn + 1 == self.turns);
        let (before, after) = self.others;
        let own = self.accumulator.len();
        let when = |here: bool, words: usize| if here { words } else { 0 };
        vec![
            moved(&self.machine, when(first, own), SECOND, NONE),
            moved(
                &self.machine,
                when(first, after),
                SECOND,
                if after > 0 { SECOND } else { NONE },
            ),
            moved(&self.machine, when(first, own), NONE, FIRST),
            moved(&self.machine, own, FIRST, if last { NONE } else { FIRST }),
            moved(
                &self.machine,
                when(last, before),
                if before > 0 { SECOND } else { NONE },
                SECOND,
            ),
            moved(&self.machine, when(last, own), NONE, SECOND),
        ]
    }

    fn step(&mut self, phase: usize, i: usize, words: [u32; 2]) -> [u32; 2] {
        match phase {
            LOAD => self.accumulator[i] = words[1],
            ADD => self.accumulator[i] = self.accumulator[i].wrapping_add(words[0]),
            START | UNLOAD => {}
            _ => return [0, words[1]],
        }
        [self.accumulator[i]; 2]
    }

    fn memory(&self) -> usize {
        4 * self.accumulator.len()
    }

    fn object(&self) -> Option<Object> {
        Some(Object {
            class: "Accumulation",
            arguments: vec![self.others.0 as u32, self.others.1 as u32],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_at_a_time_gives_the_digits_of_the_ring() {
        let machine = Machine::named("versal").expect("built in");
        for (base_log, levels) in [(8, 2), (10, 3), (1, 1), (15, 2), (30, 1)] {
            let decomposition = Decomposition::new(base_log, levels).expect("in range");
            for i in 0..2000u32 {
                let word = match i {
                    0 => 1 << 31,
                    1 => (1 << 31) - 1,
                    _ => i.wrapping_mul(0x9e37_79b9).wrapping_sub(i),
                };
                let mut want = vec![0; levels as usize];
                decomposition.digits_into(&mut want, &[word]);
                for level in 1..=levels {
                    let tile = Decompose::new(&machine, 1, (decomposition, level), 1);
                    let found = tile.digit(word) as i32;
                    assert_eq!(
                        found,
                        want[level as usize - 1],
                        "{word:#x}, {decomposition:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn rotations_change_the_sign_of_what_passes_the_end() {
        let machine = Machine::named("versal").expect("built in");
        let mut tile = Rotation::new(&machine, (4, 1), 1);
        for (exponent, want) in [
            (0, [0, 0, 0, 0]),
            (1, [-4 - 1, 1 - 2, 2 - 3, 3 - 4]),
            (4, [-2, -4, -6, -8]),
            (7, [2 - 1, 3 - 2, 4 - 3, -1 - 4]),
        ] {
            for i in 0..4 {
                tile.step(0, i, [i as u32 + 1, 0]);
            }
            tile.step(1, 0, [0, exponent]);
            let found = [0, 1, 2, 3].map(|i| tile.step(2, i, [0; 2])[0] as i32);
            assert_eq!(found, want, "X^{exponent}");
        }
    }
}
