//! Noise of an encrypted linear layer: its bounds, and the flood that hides it.
//!
//! The client knows its secret and the errors of its ciphertexts, so it learns from an answer the
//! noise, which is a function of the weights. The server adds a uniform integer in `[-2^f, 2^f)` to
//! each coefficient that it sends. The statistical distance between such an integer with and
//! without an addend `e` is `|e| / 2^(f+1)`, and the distance for all coefficients is at most the
//! sum. The expectation of `|e|` is at most its standard deviation, so over the client's errors the
//! distance is on average at most `sum_i sigma_i / 2^(f+1)`. The client may have chosen the noise
//! that it knows beforehand: the roundings of its own values count with their bound. The modulus
//! switch is a function of the flooded ciphertext, so it reveals nothing more.

use ring::sample::SIGMA;

use crate::cipher::RingSpec;

/// Largest error of a fresh ciphertext: the sampler stops at ten standard deviations.
const LARGEST_ERROR: f64 = 32.0;

/// Norms of the kernels of a block, which bound its noise. An error has all coefficients, so the
/// noise of an answer depends on all kernels of its block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Norms {
    /// Largest sum of absolute weights of a block.
    pub(crate) one: f64,
    /// Largest root of the sum of squared weights of a block.
    pub(crate) two: f64,
    /// Largest sum of the absolute weights of one output, if the client may choose its share of the
    /// source, else 0. The client's values then determine the roundings of the encoding: at most
    /// 1/2 each.
    pub(crate) chosen: f64,
}

impl Norms {
    /// Computes the norms from the weights of each block.
    pub(crate) fn of<'w>(blocks: impl Iterator<Item = &'w [i64]>) -> Self {
        let mut norms = Self::default();
        for block in blocks {
            let one: f64 = block.iter().map(|w| w.unsigned_abs() as f64).sum();
            let squares: f64 = block.iter().map(|&w| (w as f64) * (w as f64)).sum();
            norms.one = norms.one.max(one);
            norms.two = norms.two.max(squares.sqrt());
        }
        norms
    }

    /// Adds the norm for a source whose values the client may choose. `kernels` are the weights of
    /// each output.
    pub(crate) fn with_chosen<'w>(mut self, kernels: impl Iterator<Item = &'w [i64]>) -> Self {
        for kernel in kernels {
            let one: f64 = kernel.iter().map(|w| w.unsigned_abs() as f64).sum();
            self.chosen = self.chosen.max(one);
        }
        self
    }

    /// Standard deviation of the noise of a sum. Each input has an error and the roundings of two
    /// encodings (each uniform, so with variance 1/12). The encryption of zero adds
    /// `e u + e_0 + e_1 s`, with ternary `u` and `s` of variance 2/3.
    pub(crate) fn deviation(&self, n: usize) -> f64 {
        let input = SIGMA * SIGMA + 2.0 / 12.0;
        let zero = SIGMA * SIGMA * (1.0 + 2.0 * n as f64 * 2.0 / 3.0) + 1.0 / 12.0;
        (self.two * self.two * input + zero).sqrt()
    }

    /// A bound on the noise of a sum that holds in every case.
    pub(crate) fn largest(&self, n: usize) -> f64 {
        let zero = LARGEST_ERROR * (1.0 + 2.0 * n as f64) + 0.5;
        self.one * (LARGEST_ERROR + 1.0) + zero
    }
}

/// log2 of the statistical distance between `outputs` coefficients with a flood in `[-2^f, 2^f)`
/// and floods without noise.
pub(crate) fn log2_distance(norms: &Norms, n: usize, outputs: usize, flood_bits: u32) -> f64 {
    let noise = norms.deviation(n) + norms.chosen / 2.0;
    (outputs as f64 * noise).log2() - f64::from(flood_bits) - 1.0
}

/// The flood of a term's answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Flooding {
    /// `f`: the flood is uniform in `[-2^f, 2^f)`.
    pub(crate) bits: u32,
    /// Bits of the words of an answer.
    pub(crate) answer_bits: u32,
    /// log2 of the statistical distance for all coefficients of the term.
    pub(crate) log2_distance: f64,
}

impl Flooding {
    /// The largest flood under which messages of `bits` bits always decrypt. Returns `None` if
    /// there is no such flood, or if answers would have too many bits. `outputs` is the number of
    /// coefficients sent.
    ///
    /// A message decrypts if all noise is below `q / 2^(bits + 1)`. More than a quarter of this
    /// room is for the rounding of the modulus switch to `2^answer_bits`: at most 0.55 for each
    /// coefficient of the mask, which meets a coefficient of the secret, and for the body.
    pub(crate) fn largest(
        ring: &RingSpec,
        bits: u32,
        norms: &Norms,
        outputs: usize,
    ) -> Option<Self> {
        let answer_bits = bits + 2 + ring.n.ilog2();
        let room = ring.log_q() - f64::from(bits + 1);
        let flood = (room - 0.9).floor();
        if answer_bits > crate::cipher::ANSWER_BITS || !(8.0..=120.0).contains(&flood) {
            return None;
        }
        let switch = 0.55 * (ring.n as f64 + 1.0) / f64::from(1u32 << (ring.n.ilog2() + 1));
        let used = flood.exp2() + norms.largest(ring.n) + switch * room.exp2();
        (used < room.exp2()).then(|| Self {
            bits: flood as u32,
            answer_bits,
            log2_distance: log2_distance(norms, ring.n, outputs, flood as u32),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_a_shifted_flood_is_as_stated() {
        // The definition, for a small flood: half the sum of absolute differences.
        let (range, shift) = (1usize << 10, 37usize);
        let weight = |x: usize, from: usize| {
            if (from..from + range).contains(&x) {
                1.0 / range as f64
            } else {
                0.0
            }
        };
        let distance: f64 = (0..2 * range)
            .map(|x| (weight(x, 0) - weight(x, shift)).abs())
            .sum();
        let stated = shift as f64 / range as f64;
        assert!((distance / 2.0 - stated).abs() < 1e-9);
    }

    #[test]
    fn floods_of_a_residual_network() {
        let rings = RingSpec::candidates().unwrap();
        let norms = Norms {
            one: 576.0 * 60.0,
            two: 24.0 * 60.0,
            chosen: 0.0,
        };
        let of = |ring: usize, bits| Flooding::largest(&rings[ring], bits, &norms, 16 * 1024);
        assert!(of(0, 30).unwrap().log2_distance < -40.0);
        assert!(of(0, 36).unwrap().log2_distance > -40.0);
        assert!(of(1, 36).unwrap().log2_distance < -42.0);
        assert!(of(4, 43).unwrap().log2_distance < -65.0);
        assert_eq!(of(0, 45), None);
    }
}
