//! Probability that the multiple of `q_0` is larger than the reduction allows.
//!
//! Raised under the sparse secret of weight `h`, the phase is `m + q_0 I`. The components of a
//! ciphertext are uniform modulo `q_0`. Hence a coefficient of `c_0 + c_1 s`, divided by `q_0`, is
//! a sum of `h + 1` independent numbers that are uniform in `[-1/2, 1/2]`. `I` is this sum minus
//! the message, rounded. Beyond `range` the interpolated polynomial has no meaning, and the slot is
//! lost.
//!
//! Sources: Bossuat, Troncoso-Pastoriza, Hubaux, ACNS 2022, section 3 (the Irwin-Hall distribution
//! of `I`); Chernoff's bound, with `E exp(x u) = sinh(x / 2) / (x / 2)`.

use super::Bootstrapper;
use program::circuit::Bootstrapping;
use rlwe::security::SPARSE_WEIGHT;
use std::f64::consts::LOG2_E;

impl Bootstrapper {
    /// Bounds the probability that in a bootstrapping any of the `2 slots` coefficients has a
    /// multiple of `q_0` beyond the range of the reduction. Returns log2 of the bound.
    pub fn log2_overflow(stated: &Bootstrapping) -> f64 {
        // Smallest sum that is rounded to range + 1, with a message of the largest coefficient
        // allowed.
        let reach = stated.range as f64 + 0.5 - (-stated.log_ratio).exp2();
        let one = log2_uniform_sum_tail(SPARSE_WEIGHT + 1, reach);
        (one + (2.0 * stated.slots as f64).log2()).min(0.0)
    }
}

/// log2 of a bound on `P(|u_1 + .. + u_count| >= reach)` for independent uniform `u` in
/// `[-1/2, 1/2]`.
fn log2_uniform_sum_tail(count: usize, reach: f64) -> f64 {
    if reach > count as f64 / 2.0 {
        return f64::NEG_INFINITY;
    }
    // Convex in x. The minimum is where the mean of the tilted sum equals `reach`.
    let exponent = |x: f64| count as f64 * log_mean_exp(x) - x * reach;
    let (mut low, mut high) = (0.0, 4.0 * count as f64);
    for _ in 0..200 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if exponent(a) < exponent(b) {
            high = b;
        } else {
            low = a;
        }
    }
    (exponent(low) * LOG2_E + 1.0).min(0.0)
}

/// `ln(sinh(x / 2) / (x / 2))`.
fn log_mean_exp(x: f64) -> f64 {
    if x < 1e-4 {
        return x * x / 24.0;
    }
    // sinh(y) = exp(y) (1 - exp(-2y)) / 2, which does not overflow.
    x / 2.0 + (-(-x).exp_m1()).ln() - x.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approximate::BootstrapSpec;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    #[test]
    fn sums_reach_far_as_often_as_bounded() {
        let mut rng = ChaCha20Rng::seed_from_u64(8);
        let rounds = 400_000;
        let sums: Vec<f64> = (0..rounds)
            .map(|_| {
                (0..=SPARSE_WEIGHT)
                    .map(|_| rng.random_range(-0.5..0.5))
                    .sum()
            })
            .collect();
        for reach in [3.0, 4.5, 6.0] {
            let found = sums.iter().filter(|sum| f64::abs(**sum) >= reach).count();
            let found = (found as f64 / f64::from(rounds)).log2();
            let bound = log2_uniform_sum_tail(SPARSE_WEIGHT + 1, reach);
            println!("beyond {reach}: 2^{found:.2}, at most 2^{bound:.2}");
            // Chernoff's bound lacks the factor 1 / (x deviation sqrt(2 pi)) of the tail.
            assert!(found < bound && bound < found + 4.0, "{found}, {bound}");
        }
        // All of 33 numbers are near 1/2: at most 2 e^33 / 33! for the last unit, exactly.
        assert_eq!(log2_uniform_sum_tail(33, 16.6), f64::NEG_INFINITY);
    }

    #[test]
    fn a_shorter_reduction_overflows_too_often() {
        let mut stated = Bootstrapping {
            slots: 1 << 15,
            range: BootstrapSpec::default().range,
            doublings: 3,
            log_ratio: 8.0,
            babies: 8,
            level: 9,
            from_scale: 1.0,
            to_scale: 1.0,
            rotations: Default::default(),
        };
        let log2 = Bootstrapper::log2_overflow(&stated);
        println!("2^{log2:.1}");
        assert!((-104.0..-98.0).contains(&log2), "{log2}");
        stated.range = 12;
        let log2 = Bootstrapper::log2_overflow(&stated);
        assert!((-40.0..-30.0).contains(&log2), "{log2}");
    }
}
