//! Protocols: functions of shared values, as fixed lists of exchanges.
//!
//! A [`Protocol`] is built once, from public numbers, and run on vectors of any length by
//! [`Party::run`](crate::Party::run). It knows its needs and its cost before it runs.

mod make;
mod specification;

use crate::circuit::{Bit, Circuit};
use crate::cost::{Cost, Role};
use crate::material::Needs;
use crate::slices::plane_words;

pub use specification::{Piece, Requantisation};

/// Largest size of a circuit's wires in bytes. Longer vectors are computed in parts, each with its
/// own exchanges.
const MAX_WIRE_BYTES: usize = 1 << 28;

/// The result of a protocol.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// Bits of the result as an unsigned number, lowest first.
    pub(crate) bits: Vec<Bit>,
    /// Bits of the modulus: the result is shared modulo `2^ring`. Unused if the result is revealed.
    pub(crate) ring: u32,
    /// Constant added to the result.
    pub(crate) constant: u64,
}

/// A function of one or several shared values, ready to run.
#[derive(Clone, Debug)]
pub struct Protocol {
    pub(crate) circuit: Circuit,
    /// Number of bits of each input.
    pub(crate) input_bits: Vec<u32>,
    /// Constant added to every input.
    pub(crate) input_constant: u64,
    pub(crate) output: Output,
    /// True if the result is the input minus the circuit's result.
    pub(crate) extends: bool,
    /// True if the client gets the results, and nobody gets shares.
    pub(crate) reveals: bool,
}

impl Protocol {
    /// Number of values from which one result is computed: 1, or the size of a group.
    pub fn inputs(&self) -> usize {
        self.input_bits.len()
    }

    /// The material that `count` results use up.
    pub fn needs(&self, count: usize) -> Needs {
        let words = plane_words(count);
        let mut needs = Needs::default();
        for chooser in [Role::Server, Role::Client] {
            for width in self.circuit.widths(chooser) {
                needs.add_transfers(chooser, width, words);
            }
        }
        if !self.reveals {
            for (_, modulus) in self.random_bits() {
                needs.add_random_bits(modulus, words);
            }
        }
        needs
    }

    /// The online cost of `count` results.
    pub fn cost(&self, count: usize) -> Cost {
        let mut cost = Cost::default();
        for part in self.parts(count) {
            let words = plane_words(part);
            cost += self.circuit.cost(words);
            let converted = if self.reveals {
                0
            } else {
                self.random_bits().count()
            };
            if converted > 0 {
                let bytes = 8 * (words * converted) as u64;
                cost += Cost {
                    rounds: 1,
                    bytes_to_server: bytes,
                    bytes_to_client: bytes,
                };
            }
            let revealed = if self.reveals {
                self.wire_bits().count()
            } else {
                0
            };
            if revealed > 0 {
                cost.rounds += 1;
                cost.bytes_to_client += 8 * (words * revealed) as u64;
            }
        }
        cost
    }

    /// Lengths of the parts into which `count` results are cut.
    pub(crate) fn parts(&self, count: usize) -> impl Iterator<Item = usize> + use<> {
        let words = (MAX_WIRE_BYTES / 8 / self.circuit.wires.max(1)).max(1);
        let whole = words * 64;
        let mut left = count;
        std::iter::from_fn(move || {
            let part = left.min(whole);
            left -= part;
            (part > 0).then_some(part)
        })
    }

    /// The result bits that shared random bits convert: for each, its position and the bits of its
    /// modulus. A bit of weight `2^i` is needed modulo `2^(ring - i)`. The highest bit of the ring
    /// converts for free.
    pub(crate) fn random_bits(&self) -> impl Iterator<Item = (usize, u32)> {
        let moduli = (1..=self.output.ring).rev();
        let bits = self.output.bits.iter().zip(moduli).enumerate();
        bits.filter_map(|(place, (bit, modulus))| {
            (matches!(bit, Bit::Wire(_)) && modulus > 1).then_some((place, modulus))
        })
    }

    /// The wires of the result bits that are not public.
    pub(crate) fn wire_bits(&self) -> impl Iterator<Item = u32> {
        self.output.bits.iter().filter_map(|bit| match bit {
            Bit::Wire(wire) => Some(*wire),
            Bit::Public(_) => None,
        })
    }
}
