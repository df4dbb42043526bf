//! Plaintexts as data.

use bfv::{Encoder, Plaintext};
use std::sync::Arc;

/// A plaintext as data, before it is encoded: `N` integers modulo `t`, by coefficient or by slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plain {
    /// Coefficients.
    Coefficients(Words),
    /// Slots.
    Slots(Words),
    /// Only in a recording: the result of [`Operations::rounded`](super::Operations::rounded) on a
    /// value of the recording.
    Rounded {
        /// The value in the recording.
        value: program::recording::ValueId,
        /// Component of the value that is rounded.
        component: usize,
        /// Factor of the rounded coefficients.
        unit: u64,
    },
    /// Only in a recording: the result of [`Operations::blocks`](super::Operations::blocks).
    Blocks {
        /// The samples in the recording.
        value: program::recording::ValueId,
        /// Bodies (0) or masks (1).
        component: usize,
    },
}

/// `N` integers modulo `t`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Words {
    /// All words, in `[0, t)`.
    All(Arc<[u32]>),
    /// Places and values of the words that are not 0.
    Sparse(Vec<(usize, i64)>),
    /// Word `i` is `values[(i / run) mod values.len()]`, in `[0, t)`.
    Repeat {
        /// Number of equal words in a row.
        run: usize,
        /// Values that are repeated.
        values: Vec<u64>,
    },
}

impl Plain {
    /// Encodes the plaintext, multiplied by `unit`.
    pub fn encode(&self, encoder: &Encoder, unit: u64) -> Plaintext {
        match self {
            Self::Coefficients(words) => encoder.from_residues(words.residues(encoder, unit)),
            Self::Slots(words) => encoder.slots_to_plaintext(&words.residues(encoder, unit)),
            Self::Rounded { .. } | Self::Blocks { .. } => {
                unreachable!("a recording encodes no plaintext")
            }
        }
    }
}

impl Words {
    /// The integers times `unit`, in `[0, t)`.
    fn residues(&self, encoder: &Encoder, unit: u64) -> Vec<u64> {
        let (t, n) = (encoder.modulus(), encoder.slots());
        match self {
            Self::All(words) if unit == 1 => words.iter().map(|&w| u64::from(w)).collect(),
            Self::All(words) => words.iter().map(|&w| t.mul(unit, u64::from(w))).collect(),
            Self::Sparse(entries) => {
                let mut words = vec![0; n];
                for &(place, value) in entries {
                    words[place] = t.mul(unit, t.from_i64(value));
                }
                words
            }
            Self::Repeat { run, values } => {
                let scaled: Vec<u64> = values.iter().map(|&v| t.mul(unit, v)).collect();
                let mut words = Vec::with_capacity(n);
                for &value in scaled.iter().cycle().take(n.div_ceil(*run)) {
                    words.resize(n.min(words.len() + run), value);
                }
                words
            }
        }
    }
}
