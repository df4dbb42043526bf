//! Moments of powers of a rounding at single points of evaluation: their typical size in a run, and
//! the probability of larger ones.
//!
//! A modulus switch adds `u = w_0 + w_1 s`. At a point of evaluation, `|w_1|^2` and `|s|^2` divided
//! by their means are nearly independent exponential variables `x` and `y`. The *energy* of the
//! point is `z = x y`. It exceeds `z` with the probability `a K_1(a)`, `a = 2 sqrt(z)`. Products
//! carry powers `u^d` on, with the energy `z^d`.
//!
//! The mean of `z^d` is `d!^2`. But from about `d = 8` on, this mean is dominated by energies that
//! do not occur in a run: a ring of degree `n` has `n / 2` independent points. A run shows the mean
//! over its own points. That is close to the mean over energies up to a bound, which the largest
//! energy of a run exceeds in one run of eight. [`Moments::typical`] has these means. The noise
//! bound at all points covers larger energies ([`Noise`](crate::noise::Noise),
//! `docs/adr/0020-words-of-32-bits.md`).

/// Number of powers that are kept separately, including power 0. Higher powers count as the
/// highest.
pub(crate) const DEGREES: usize = 9;

/// Highest power whose mean is needed: a product of two parts of the highest degree has it.
const LARGEST_DEGREE: usize = 2 * (DEGREES - 1);

/// Number of samples of `n / 2` points of which one, on average, has an energy beyond the bound of
/// the typical moments.
const SAMPLES: f64 = 8.0;

/// log2 of an energy that is never reached: its probability is 2^-2951.
pub(crate) const NEVER: i32 = 20;

/// Ratios of means of powers of energies, for products of parts of a residual.
#[derive(Debug)]
pub(crate) struct Moments {
    /// The mean of `y^(i + j)` divided by the product of the means of `y^i` and `y^j`.
    pub(crate) secret: [[f64; DEGREES]; DEGREES],
    /// The ratio for `z` in place of `y`, divided by the ratio for `y`. The quotient is in effect
    /// the ratio for `x`.
    pub(crate) rounding: [[f64; DEGREES]; DEGREES],
}

impl Moments {
    /// Moments from means over all energies: the mean of `x^d` and of `y^d` is `d!`.
    pub(crate) fn exact() -> Self {
        Self {
            secret: BINOMIALS,
            rounding: BINOMIALS,
        }
    }

    /// Moments from means over the energies that a sample of `points` points has.
    pub(crate) fn typical(points: f64) -> Self {
        let rare = -(SAMPLES * points).log2();
        let energies = mean_energies(log2_energy_beyond(rare));
        let squares = mean_squares(-rare / std::f64::consts::LOG2_E);
        let ratios = |log2_mean: &dyn Fn(usize) -> f64| {
            std::array::from_fn(|i| {
                std::array::from_fn(|j| {
                    (log2_mean(i + j) - log2_mean(i) - log2_mean(j))
                        .exp2()
                        .max(1.0)
                })
            })
        };
        Self {
            secret: ratios(&|d| squares[d]),
            rounding: ratios(&|d| energies[d] - squares[d]),
        }
    }
}

/// `(i + j)! / (i! j!)`: Pascal's triangle.
const BINOMIALS: [[f64; DEGREES]; DEGREES] = {
    let mut table = [[1.0; DEGREES]; DEGREES];
    let mut i = 1;
    while i < DEGREES {
        let mut j = 1;
        while j < DEGREES {
            table[i][j] = table[i - 1][j] + table[i][j - 1];
            j += 1;
        }
        i += 1;
    }
    table
};

/// An upper bound of log2 of `P(x y > z)`: `a K_1(a) < sqrt(pi a / 2) exp(-a) (1 + 3 / (8 a))` for
/// `a = 2 sqrt(z)`.
pub(crate) fn log2_tail(z: f64) -> f64 {
    use std::f64::consts::{FRAC_PI_2, LOG2_E};
    let a = 2.0 * z.sqrt();
    let factor = (FRAC_PI_2 * a).sqrt() * (1.0 + 0.375 / a);
    (factor.log2() - a * LOG2_E).min(0.0)
}

/// log2 of the energy that is exceeded with the probability `2^log2`.
pub(crate) fn log2_energy_beyond(log2: f64) -> f64 {
    let (mut low, mut high) = (0.0, f64::from(NEVER));
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        match log2_tail(f64::exp2(middle)) > log2 {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// log2 of the mean of `z^d` over energies up to `2^log2_bound`, for each `d`.
///
/// The density of `a = 2 sqrt(z)` is `a K_0(a)`, where `K_0(a)` is the integral of
/// `exp(-a cosh(v))` over positive `v`. Source: NIST Digital Library of Mathematical Functions,
/// 10.32.9.
fn mean_energies(log2_bound: f64) -> [f64; LARGEST_DEGREE + 1] {
    const STEPS: usize = 256;
    // Beyond it, exp(-a cosh(v)) is negligible for every a of the sum.
    const LARGEST_V: f64 = 8.0;
    const STEPS_V: usize = 64;
    let step = 2.0 * (log2_bound / 2.0).exp2() / STEPS as f64;
    let step_v = LARGEST_V / STEPS_V as f64;
    let mut means = [0.0; LARGEST_DEGREE + 1];
    for k in 0..STEPS {
        let a = (k as f64 + 0.5) * step;
        let k_0: f64 = (0..STEPS_V)
            .map(|v| (-a * ((v as f64 + 0.5) * step_v).cosh()).exp() * step_v)
            .sum();
        let mut power = a * k_0 * step;
        for mean in &mut means {
            *mean += power;
            power *= a * a / 4.0;
        }
    }
    means.map(f64::log2)
}

/// log2 of the mean of `y^d` over exponential `y` up to `bound`, for each `d`:
/// `d! - exp(-bound) sum_(k <= d) d!/k! bound^k`, by parts.
fn mean_squares(bound: f64) -> [f64; LARGEST_DEGREE + 1] {
    // The moment as a sum without cancellation:
    // bound^d exp(-bound) sum_(k > 0) bound^k d! / (d + k)!.
    std::array::from_fn(|d| {
        let mut term = 1.0;
        let mut sum = 0.0;
        for k in 1..=(d + 16 * bound as usize) {
            term *= bound / (d + k) as f64;
            sum += term;
        }
        d as f64 * bound.log2() - bound * std::f64::consts::LOG2_E + f64::log2(sum)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    /// log2 of the mean of `z^d` over a sample, for each degree.
    fn sampled(
        points: usize,
        degrees: &[u32],
        secret_only: bool,
        rng: &mut ChaCha20Rng,
    ) -> Vec<f64> {
        let mut exponential = || -(1.0 - rng.random::<f64>()).ln();
        let energies: Vec<f64> = (0..points)
            .map(|_| exponential() * if secret_only { 1.0 } else { exponential() })
            .collect();
        let mean =
            |&d: &u32| energies.iter().map(|z| z.powi(d as i32)).sum::<f64>() / points as f64;
        degrees.iter().map(|d| mean(d).log2()).collect()
    }

    /// The mean logarithm over samples is near the prediction. The mean over all energies is not.
    #[test]
    fn typical_moments_are_those_of_samples() {
        const RUNS: usize = 100;
        let degrees = [1, 2, 3, 4, 6, 8, 12, 16];
        let mut rng = ChaCha20Rng::seed_from_u64(6);
        for log2_points in [11, 14] {
            let points = 1 << log2_points;
            let typical = mean_energies(log2_energy_beyond(-(SAMPLES * points as f64).log2()));
            let mut means = vec![0.0; degrees.len()];
            for _ in 0..RUNS {
                let sample = sampled(points, &degrees, false, &mut rng);
                for (mean, log2) in means.iter_mut().zip(sample) {
                    *mean += log2 / RUNS as f64;
                }
            }
            for (&d, &found) in degrees.iter().zip(&means) {
                let expected = typical[d as usize];
                println!("2^{log2_points} points, z^{d}: 2^{found:.2}, expected 2^{expected:.2}");
                // A tenth of a bit in the root mean square, up to degree 4.
                let bound = if d <= 4 { 0.2 } else { 0.2 * f64::from(d) };
                assert!((found - expected).abs() < bound, "{d}: {found}, {expected}");
            }
        }
    }

    #[test]
    fn powers_of_the_secret_are_typical_too() {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let bound = f64::ln(SAMPLES * 16384.0);
        let expected = mean_squares(bound);
        for d in [1, 2, 4, 8] {
            let found: f64 = (0..60)
                .map(|_| sampled(16384, &[d], true, &mut rng)[0] / 60.0)
                .sum();
            let expected = expected[d as usize];
            println!("y^{d}: 2^{found:.2}, expected 2^{expected:.2}");
            assert!((found - expected).abs() < 0.1, "{d}: {found}, {expected}");
        }
    }

    #[test]
    fn means_over_all_energies_are_factorials() {
        let all = mean_energies(9.0);
        let mut exact = 0.0;
        for (d, found) in all.into_iter().enumerate().take(9).skip(1) {
            exact += 2.0 * (d as f64).log2();
            println!("{d}: {found}, {exact}");
            assert!((found - exact).abs() < 0.01, "{d}");
        }
    }
}
