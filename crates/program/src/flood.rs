//! Noise that hides the noise of outputs.

use serde::{Deserialize, Serialize};

/// log2 of the largest statistical distance that a flood leaves, over all answers for which it is
/// planned.
pub const MAX_LOG2_DISTANCE: f64 = -40.0;

/// Fisher information of the sum of four numbers that are uniform in an interval of length 1: the
/// integral of `f'^2 / f` for their density `f`. A normal number of the same variance has 3.
const INFORMATION: f64 = 3.1158;

/// Noise that a server adds to the outputs of an answer, so that their own noise tells nothing.
///
/// Each coefficient gets the sum of four integers, each uniform in `[0, 2^bits)`, less
/// `2^(bits+1)`. Such a sum is smooth where a single uniform number has an edge. The distance
/// therefore grows with the root of the number of coefficients and answers, and not with their
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flood {
    /// log2 of the number of values of each of the four integers.
    pub bits: u32,
    /// The number of answers over which the statistical distance is at most 2^-40.
    pub answers: u64,
}

impl Flood {
    /// The least flood that hides noise in a number of coefficients of each answer. `noise_bits` is
    /// log2 of the root mean square of their residuals, which are `t` times the noise.
    pub fn over(noise_bits: f64, t: u64, coefficients: usize, answers: u64) -> Self {
        let none = Self { bits: 0, answers };
        let bits = none.log2_distance(noise_bits, t, coefficients) - MAX_LOG2_DISTANCE;
        let bits = bits.ceil().max(0.0) as u32;
        Self { bits, answers }
    }

    /// log2 of a bound on the statistical distance of all answers from answers whose noise is the
    /// flood alone.
    ///
    /// For a density of Fisher information `I`, the squared Hellinger distance from its copy that
    /// is moved by `e` is at most `I e^2 / 4`. It adds up over independent numbers, and its root
    /// bounds the statistical distance.
    pub fn log2_distance(&self, noise_bits: f64, t: u64, coefficients: usize) -> f64 {
        let count = coefficients as f64 * self.answers as f64;
        let norm = noise_bits - (t as f64).log2() + count.log2() / 2.0;
        norm + INFORMATION.log2() / 2.0 - 1.0 - f64::from(self.bits)
    }

    /// log2 of the root mean square of the number that the flood adds to a residual.
    pub fn residual_bits(&self, t: u64) -> f64 {
        // Four uniform numbers of 2^bits values have the variance 4 * 4^bits / 12.
        f64::from(self.bits) - 0.5 * 3f64.log2() + (t as f64).log2()
    }
}
