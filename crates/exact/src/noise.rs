//! Predicted noise: the root mean square of the residual `r`, in bits.
//!
//! A residual is a polynomial in the secret: `r = sum_d w_d s^d` with independent `w_d`. The
//! variance of each part is kept separately, because powers of one secret are not independent. The
//! coefficients of `s^d` have `d!` times the variance of a product of `d` independent keys. Hence a
//! product of parts of degrees `i` and `j` has `(i+j)! / (i! j!)` times the plain `N v_i v_j`. In
//! sums, variances add up. These are averages over keys and messages. The tests compare measured
//! values with them from both sides.
//!
//! Source for the key's part: Costache, Nürnberger, Player, "Optimisations and Tradeoffs for
//! HElib", CT-RSA 2023; Biasioli, Marcolla, Calderini, Mono, "Improving and Automating BFV
//! Parameters Selection: An Average-Case Approach", 2023, section 4.

use crate::moments::{DEGREES, Moments, NEVER, log2_energy_beyond, log2_tail};
use crate::params::Params;
use ring::sample::SIGMA;
use std::sync::Arc;

/// Size, relative to the largest part, below which a part of a variance is dropped in products:
/// 2^-80.
const NEGLIGIBLE: f64 = power_of_two(-80);

/// The exponent of variances that are all 0: smaller than any other by more than a double's range.
const NONE: i32 = i32::MIN / 2;

/// log2 of the probability, for one point of evaluation, that a rounding's energy there exceeds the
/// energy that noise bounds assume.
const RARE: f64 = -70.0;

/// Bound of an exponential variable of mean 1. It is exceeded with the probability `2^RARE`.
const SQUARE_BOUND: f64 = -RARE * std::f64::consts::LN_2;

/// Noise of a residual.
///
/// The noise has two parts. The first is the variance of the residual, by the power of the secret.
/// The second is a bound of the residual at every point of evaluation, for points far from the
/// mean. The second part bounds the squared magnitude over `n`, whose mean over points is the
/// variance. The bound holds if each rounding has energies of at most `log2_energy_beyond(RARE)`.
/// The bound assumes that the terms of sums are as large as their bounds and in phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Variances over `2^exponent`. The largest is in `[1, 2)`, or all are 0.
    ///
    /// Variances of up to `2^1600` are no doubles, so they have a common exponent. Logarithms
    /// would do as well, but plans have many thousand sums and products: compiling the MNIST
    /// network took 1.4 times as long with them.
    parts: [f64; DEGREES],
    exponent: i32,
    /// log2 of the bound.
    bound: f64,
}

impl Noise {
    /// No noise.
    pub const ZERO: Self = Self {
        parts: [0.0; DEGREES],
        exponent: NONE,
        bound: f64::NEG_INFINITY,
    };

    /// Noise of the given variance that does not depend on the secret.
    pub fn free(variance: f64) -> Self {
        Self::part(0, variance.log2(), SQUARE_BOUND.log2())
    }

    /// A single part whose bound is `2^excess` times its variance.
    fn part(degree: usize, log2_variance: f64, excess: f64) -> Self {
        let mut parts = [0.0; DEGREES];
        parts[degree] = 1.0;
        let one = Self {
            parts,
            exponent: 0,
            bound: excess,
        };
        one.raised(log2_variance)
    }

    /// The noise whose variances are `parts` times `2^exponent`.
    fn normal(parts: [f64; DEGREES], exponent: i32, bound: f64) -> Self {
        let largest = parts.into_iter().fold(0.0, f64::max);
        if largest < f64::MIN_POSITIVE {
            return Self {
                bound,
                ..Self::ZERO
            };
        }
        let shift = (largest.to_bits() >> 52) as i32 - 1023;
        let scale = power_of_two(-shift);
        Self {
            parts: parts.map(|part| part * scale),
            exponent: exponent + shift,
            bound,
        }
    }

    /// The noise with variances multiplied by `factor` and the bound by `2^log2`.
    ///
    /// # Panics
    /// If the factor is not in `[0, 2^1000]`. Larger ones could leave the range of doubles, and a
    /// variance that is no number would pass for none.
    fn grown(self, factor: f64, log2: f64) -> Self {
        assert!(
            (0.0..=power_of_two(1000)).contains(&factor),
            "noise grows by {factor}, expected 0 to 2^1000"
        );
        let parts = self.parts.map(|part| part * factor);
        Self::normal(parts, self.exponent, self.bound + log2)
    }

    /// The noise with variances and bound multiplied by `2^log2`.
    fn raised(self, log2: f64) -> Self {
        if self.exponent == NONE || log2 == f64::NEG_INFINITY {
            return Self {
                bound: self.bound + log2,
                ..Self::ZERO
            };
        }
        let whole = log2.floor();
        let mut raised = self.grown((log2 - whole).exp2(), log2);
        raised.exponent += whole as i32;
        raised
    }

    /// log2 of the root mean square.
    pub fn bits(self) -> f64 {
        (f64::from(self.exponent) + self.parts.iter().sum::<f64>().log2()) / 2.0
    }

    /// log2 of a bound of the magnitude at any point of evaluation, divided by `sqrt(n)`.
    pub fn bound_bits(self) -> f64 {
        self.bound / 2.0
    }

    /// The noise with the smaller mean square: `self`, unless that of `other` is smaller.
    #[must_use]
    pub fn lesser(self, other: Self) -> Self {
        let exponent = self.exponent.max(other.exponent);
        let [own, others] = [self, other]
            .map(|noise| noise.parts.iter().sum::<f64>() * power_of_two(noise.exponent - exponent));
        if others < own { other } else { self }
    }

    /// Noise of a sum of two independent terms.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let bound = 2.0 * log_sum(self.bound / 2.0, other.bound / 2.0);
        self.plus_bounded(other, bound)
    }

    /// Noise of a sum of two terms, each of which was multiplied by a plaintext of its own. Their
    /// phases at a point are unrelated, so the bound is that of independent terms.
    #[must_use]
    pub fn plus_apart(self, other: Self) -> Self {
        self.plus_bounded(other, log_sum(self.bound, other.bound))
    }

    /// The sum of variances, with the given bound.
    fn plus_bounded(self, other: Self, bound: f64) -> Self {
        let exponent = self.exponent.max(other.exponent);
        let [a, b] = [self, other].map(|noise| power_of_two(noise.exponent - exponent));
        let parts = std::array::from_fn(|d| self.parts[d] * a + other.parts[d] * b);
        Self::normal(parts, exponent, bound)
    }

    /// Noise of the sum of `count` independent roundings. The sum is a rounding with the summed
    /// variance.
    #[must_use]
    pub fn times(self, count: f64) -> Self {
        self.grown(count, count.log2())
    }

    /// Noise after a product with a number whose square is `square` on average and at most
    /// `largest`.
    #[must_use]
    pub fn scaled(self, square: f64, largest: f64) -> Self {
        self.grown(square, largest.log2())
    }

    /// Noise divided by `2^bits`.
    #[must_use]
    pub fn divided(self, bits: f64) -> Self {
        self.raised(-2.0 * bits)
    }
}

/// `2^k`, or 0 for `k < -1022`.
///
/// # Panics
/// In debug builds, if `k > 1023`.
const fn power_of_two(k: i32) -> f64 {
    debug_assert!(k <= 1023);
    if k < -1022 {
        return 0.0;
    }
    f64::from_bits(((k + 1023) as u64) << 52)
}

/// log2(2^a + 2^b).
fn log_sum(a: f64, b: f64) -> f64 {
    let (high, low) = (a.max(b), a.min(b));
    // 1 + 2^-54 is 1 as a double.
    if low - high < -54.0 || low == f64::NEG_INFINITY {
        high
    } else {
        high + (1.0 + (low - high).exp2()).log2()
    }
}

/// Dependence of the two factors of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factors {
    /// The factors' residuals are independent, except that both contain the secret.
    Apart,
    /// Both factors were computed from one ciphertext, like its powers. Their parts of degree 2 and
    /// more come from the same residuals.
    Alike,
    /// Both factors are one ciphertext.
    Same,
}

impl Factors {
    /// Ratio of the product of parts of degrees `i` and `j` to the product of their variances,
    /// without the contribution of powers of the secret.
    ///
    /// A part of degree `d` is a product of `d` residuals of one size, which are Gaussian at each
    /// point of evaluation. If both parts contain the same residuals, the mean square of the
    /// product is `(i + j)! / (i! j!)` times that for independent ones, or the typical ratio. In a
    /// square, the two orders of different parts add up in amplitude.
    fn gain(self, moments: &Moments, i: usize, j: usize) -> f64 {
        match self {
            Self::Apart => 1.0,
            Self::Alike if i.min(j) < 2 => 1.0,
            Self::Alike => moments.rounding[i][j],
            Self::Same if i == j => moments.rounding[i][j].max(2.0),
            Self::Same => 2.0,
        }
    }
}

/// Least sum of `|c_i|^2` with which `r -> r^2 + c_i` leads from 0 to 1. A single step takes 1.
const ESCAPE: f64 = 0.636;

/// log2 of the probability, over all points, below which a value's powers are taken to return to
/// the size of a rounding in every run.
pub const SETTLED: f64 = -52.0;

/// Bits by which a bound may exceed that of a rounding if nothing of earlier products grows: two
/// roundings in phase.
const COLD_BITS: f64 = 1.5;

/// Noise formulas for one set of parameters.
#[derive(Clone, Debug)]
pub struct Model {
    n: f64,
    t: f64,
    /// Bound of energies. It is exceeded with the probability `2^RARE`.
    energy: f64,
    /// True if products bring their noise down to the size of a rounding, at all points of any run.
    settles: bool,
    moments: Arc<Moments>,
    /// By the degree `d` of a part: a power `z^(d - 1)` of its energy beyond which it escapes with
    /// a probability far below `2^SETTLED`.
    calm: [f64; DEGREES],
    rounding: Noise,
    /// Noise of key switching, by level.
    switches: Arc<[Noise]>,
}

impl Model {
    /// Formulas for `params`.
    ///
    /// If limbs are so large that products bring all points down in any run, moments are means over
    /// all energies. Otherwise such means are dominated by points that do not occur in a run. Then
    /// typical moments are used, and bounds describe single points.
    pub fn new(params: &Params) -> Self {
        let (rlwe, n, t) = (params.rlwe(), params.n() as f64, params.t().value() as f64);
        let energy = log2_energy_beyond(RARE).exp2();
        // All parts together escape with at most sixteen times the probability of one.
        let log2_calm = log2_energy_beyond(SETTLED - (n / 2.0).log2() - 4.0);
        let error = t * t / 12.0;
        let exact = Self {
            n,
            t,
            energy,
            settles: true,
            moments: Arc::new(Moments::exact()),
            calm: std::array::from_fn(|d| match d {
                2 => log2_calm.exp2() / ESCAPE,
                _ => (log2_calm * (d as f64 - 1.0)).exp2(),
            }),
            rounding: Noise::free(error).plus(keyed(error, n, energy)),
            switches: (0..=rlwe.max_level())
                .map(|level| key_switch(params, level))
                .collect(),
        };
        let limbs = rlwe.basis(rlwe.max_level()).moduli().skip(1);
        let Some(smallest) = limbs.map(|q| q.value()).min() else {
            return exact;
        };
        let square = exact.tensor(exact.rounding(), exact.rounding(), true);
        let settled = exact.switched(square, (smallest as f64).log2());
        if exact.log2_escape(settled) + n.log2() - 1.0 <= SETTLED {
            return exact;
        }
        Self {
            settles: false,
            moments: Arc::new(Moments::typical(n / 2.0)),
            ..exact
        }
    }

    /// Returns true if products bring their noise down to the size of a rounding at all points of
    /// any run. Limbs of 34 bits do so with the degree 2^15 and `t = 65537`.
    pub fn settles(&self) -> bool {
        self.settles
    }

    /// log2 of the probability, for one point of evaluation, that powers of a value with noise `a`
    /// do not return to the size of a rounding.
    ///
    /// A product of two residuals is divided by the dropped moduli `D` and gets a new rounding `u`.
    /// Repeated squaring gives `r -> r^2 / D + u`. Noise that is small on average need not be small
    /// everywhere. At a point where `|r|` reaches `D` it grows from product to product, until it
    /// exceeds the modulus.
    ///
    /// A part of degree `d` is a `d`-th power of such roundings. Its mean is `d!^2` times the power
    /// of the mean, so it reaches the size of a rounding at points of the energy
    /// `z = (d!^2 V_1 / V_d)^(1 / (d - 1))`. From the square alone, `D` is also reached in several
    /// steps, which take only `ESCAPE` of the energy of a single step. The variances of higher
    /// degrees already include such steps.
    ///
    /// If limbs are so small that [`settles`](Self::settles) is false, the bound at all points
    /// decides. If the bound is near that of a rounding, the probability is that of a larger
    /// energy. Otherwise nothing is known, and the result is 0.
    pub fn log2_escape(&self, a: Noise) -> f64 {
        if !self.settles {
            let cold = a.bound_bits() <= self.rounding().bound_bits() + COLD_BITS;
            return if cold { RARE } else { 0.0 };
        }
        let mut total = f64::NEG_INFINITY;
        for (d, power) in energies(a).into_iter().enumerate().skip(2) {
            // Most parts are so small that no logarithm is needed.
            if power > power_of_two(NEVER * (d as i32 - 1)) {
                continue;
            }
            let log2_z = power.log2() / (d - 1) as f64;
            let energy = if d == 2 { ESCAPE } else { 1.0 };
            total = log_sum(total, log2_tail(energy * log2_z.exp2()));
        }
        total.min(0.0)
    }

    /// Returns true if, at any of the `n / 2` points of evaluation, powers of a value with noise
    /// `a` do not return to the size of a rounding, with a probability above `2^SETTLED`.
    pub fn escapes(&self, a: Noise) -> bool {
        // The engine asks this of every factor, so the answer of most takes no logarithm.
        let calm = |(power, &calm)| power > calm;
        if self.settles && energies(a).into_iter().zip(&self.calm).skip(2).all(calm) {
            return false;
        }
        self.log2_escape(a) + (self.n / 2.0).log2() > SETTLED
    }

    /// log2 of the probability, for one point of evaluation, that a residual there exceeds
    /// `2^bits sqrt(n)`, the size of coefficients `2^bits` that are in phase. If products bring all
    /// points down in any run, this is [`log2_escape`](Self::log2_escape).
    pub fn log2_beyond(&self, a: Noise, bits: f64) -> f64 {
        match (self.settles, a.bound_bits() <= bits) {
            (true, _) => f64::NEG_INFINITY,
            (false, true) => RARE,
            (false, false) => 0.0,
        }
    }

    /// Mean square of a message part `[-Q mu m]_t`, which is uniform.
    fn message(&self) -> f64 {
        self.t * self.t / 12.0
    }

    /// Noise of a fresh ciphertext under the secret key: `t e + [-Q m]_t`.
    pub fn fresh(&self) -> Noise {
        Noise::free((self.t * SIGMA).powi(2) + self.message())
    }

    /// Noise of a fresh ciphertext under the public key: `t (u e + e_0 + e_1 s) + [-Q m]_t`.
    pub fn fresh_public(&self) -> Noise {
        let error = (self.t * SIGMA).powi(2);
        Noise::free(error * (1.0 + 2.0 * self.n / 3.0) + self.message()).plus(keyed(
            error,
            self.n,
            self.energy,
        ))
    }

    /// Noise after a product with an integer.
    pub fn mul_scalar(&self, a: Noise, c: i64) -> Noise {
        a.times((c as f64).powi(2))
    }

    /// Noise after a product with a plaintext polynomial whose coefficients have the given sum of
    /// squares.
    pub fn mul_plain(&self, a: Noise, sum_of_squares: f64) -> Noise {
        a.scaled(sum_of_squares, sum_of_squares * SQUARE_BOUND)
    }

    /// Sum of squares of a plaintext of `nonzero` uniform coefficients modulo `t`, centred.
    pub fn uniform_plaintext(&self, nonzero: f64) -> f64 {
        self.message() * nonzero
    }

    /// Noise after a product of residuals, before relinearisation. `same` if both are one
    /// ciphertext.
    pub fn tensor(&self, a: Noise, b: Noise, same: bool) -> Noise {
        let factors = if same { Factors::Same } else { Factors::Apart };
        self.product(a, b, factors)
    }

    /// As [`tensor`](Self::tensor), for factors that depend on each other as `factors` says.
    pub fn product(&self, a: Noise, b: Noise, factors: Factors) -> Noise {
        if [a, b].iter().any(|noise| noise.exponent == NONE) {
            return Noise::ZERO;
        }
        let moments = &*self.moments;
        let mut parts = [0.0; DEGREES];
        let kept = |noise: Noise| {
            let largest = noise.parts.into_iter().fold(0.0, f64::max);
            let parts = noise.parts.into_iter().enumerate();
            parts.filter(move |(_, part)| *part > NEGLIGIBLE * largest)
        };
        for (i, x) in kept(a) {
            for (j, y) in kept(b) {
                let factor = factors.gain(moments, i, j) * moments.secret[i][j];
                parts[(i + j).min(DEGREES - 1)] += x * y * factor * self.n;
            }
        }
        let bound = a.bound + b.bound + self.n.log2();
        Noise::normal(parts, a.exponent + b.exponent, bound)
    }

    /// Noise after a scale-invariant product, before relinearisation. `same` if both are one
    /// ciphertext.
    ///
    /// The residual is `K r' + K' r`, where `K = t (c_0 + c_1 s) / Q` is the message with its
    /// overflow. The components of `K` are `t` times uniform values of `[-1/2, 1/2]`, like those of
    /// a rounding. The rounding of the three components is added. `r r'/Q` is negligible beside
    /// these.
    pub fn scale_invariant(&self, a: Noise, b: Noise, same: bool) -> Noise {
        let overflow = self.rounding();
        let sum = self
            .tensor(overflow, a, false)
            .plus(self.tensor(overflow, b, false))
            .times(if same { 2.0 } else { 1.0 });
        let square = 2.0 * (self.n * 2.0 / 3.0).powi(2);
        let excess = 3.0 * SQUARE_BOUND.log2();
        let last = Noise::part(2, (self.message() * square).log2(), excess);
        sum.plus(overflow).plus(last)
    }

    /// Noise that a division adds: `t` times the rounding of both components.
    pub fn rounding(&self) -> Noise {
        self.rounding
    }

    /// Noise after dividing by `bits` bits of modulus.
    pub fn switched(&self, a: Noise, bits: f64) -> Noise {
        a.divided(bits).plus(self.rounding())
    }

    /// Noise that key switching at `level` adds, without rounding.
    ///
    /// # Panics
    /// If `level` is above the highest level.
    pub fn key_switch(&self, level: usize) -> Noise {
        self.switches[level]
    }
}

/// Powers `z^(d - 1)` of the energies at which the parts of degree `d` reach the size of a
/// rounding, or infinity for a part that is 0. The powers of degrees 0 and 1 have no meaning.
fn energies(a: Noise) -> [f64; DEGREES] {
    let base = a.parts[0] + a.parts[1];
    let mut factorial = 1.0;
    std::array::from_fn(|d| {
        factorial *= d.max(1) as f64;
        match a.parts[d] {
            0.0 => f64::INFINITY,
            variance => base * factorial * factorial / variance,
        }
    })
}

/// A part `w s` with `w` of the given variance and a uniform ternary `s`. Its bound is `energy`
/// times its variance.
fn keyed(variance: f64, n: f64, energy: f64) -> Noise {
    Noise::part(1, (variance * n * 2.0 / 3.0).log2(), energy.log2())
}

/// Noise of key switching: `t d_j e_j / P` for each digit `j`.
fn key_switch(params: &Params, level: usize) -> Noise {
    let (rlwe, n, t) = (params.rlwe(), params.n() as f64, params.t().value() as f64);
    let basis = rlwe.basis(level);
    let special = rlwe.special().log2();
    rlwe.digits(level)
        .map(|limbs| {
            let log_digit: f64 = basis.slice(limbs.clone()).log2();
            // Digits are centred: uniform in [-D_j/2, D_j/2].
            Noise::free((t * SIGMA).powi(2) * n / 12.0).divided(special - log_digit)
        })
        .fold(Noise::ZERO, Noise::plus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    /// A model of degree 2^10, with limbs of `limb_bits` bits.
    fn model_insecure(limb_bits: u32) -> Model {
        let n = 1 << 10;
        let spec = rlwe::ParamsSpec {
            n,
            q: ring::ntt_primes(limb_bits, n, 2).unwrap(),
            p: ring::ntt_primes(limb_bits + 1, n, 1).unwrap(),
            digit_limbs: 1,
        };
        Model::new(&Params::new_insecure(&spec, 65_537).unwrap())
    }

    /// Two Gaussian coordinates, of variance 1/2 each.
    fn normal(rng: &mut ChaCha20Rng) -> [f64; 2] {
        let [u, v]: [f64; 2] = [rng.random(), rng.random()];
        let (radius, angle) = ((-(1.0 - u).ln()).sqrt(), std::f64::consts::TAU * v);
        [radius * angle.cos(), radius * angle.sin()]
    }

    fn times([a, b]: [f64; 2], [c, d]: [f64; 2]) -> [f64; 2] {
        [a * c - b * d, a * d + b * c]
    }

    /// Share of points that escape under `r -> r^2 + u`, with `u` of variance `1/z` and as many
    /// steps as a table squares.
    fn escaped(log2_z: f64, steps: usize, points: usize) -> f64 {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let sigma = (-log2_z / 2.0).exp2();
        let escapes = |rng: &mut ChaCha20Rng| {
            let s = normal(rng);
            let mut r = [0.0, 0.0];
            for _ in 0..=steps {
                let (square, u) = (times(r, r), times(normal(rng), s));
                r = [square[0] + sigma * u[0], square[1] + sigma * u[1]];
                if r[0] * r[0] + r[1] * r[1] > 9.0 {
                    return true;
                }
            }
            false
        };
        (0..points).filter(|_| escapes(&mut rng)).count() as f64 / points as f64
    }

    #[test]
    fn roundings_escape_as_often_as_predicted() {
        let steps = 8;
        let model = model_insecure(40);
        for log2_z in [4.0, 4.5, 5.0] {
            let found = escaped(log2_z, steps, 400_000).log2();
            // The part of a square: 2!^2 times the square of the rounding's variance over D^2, with
            // D^2 = z V_1.
            let noise = Noise::free(1.0).plus(Noise::part(2, 2.0 - log2_z, 0.0));
            // Any product may start the growth. The last ones have no time to show it, so half are
            // counted.
            let expected = model.log2_escape(noise) + (steps as f64 / 2.0).log2();
            println!("z = 2^{log2_z}: 2^{found:.2}, expected 2^{expected:.2}");
            assert!(
                (found - expected).abs() < 0.7,
                "{found}, expected {expected}"
            );
        }
    }

    #[test]
    fn values_that_escape_are_those_of_the_probability() {
        let model = model_insecure(40);
        let mut rng = ChaCha20Rng::seed_from_u64(6);
        let mut both = [0; 2];
        for _ in 0..20_000 {
            // Parts whose energies are around those that are rare enough.
            let parts = std::array::from_fn(|d| match (d, rng.random_range(0..4)) {
                (0 | 1, _) => 1.0,
                (_, 0) => 0.0,
                _ => (-rng.random_range(4.0..14.0) * (d as f64 - 1.0)).exp2(),
            });
            let noise = Noise::normal(parts, rng.random_range(-40..900), 0.0);
            let escapes = model.log2_escape(noise) + (model.n / 2.0).log2() > SETTLED;
            assert_eq!(model.escapes(noise), escapes, "{noise:?}");
            both[usize::from(escapes)] += 1;
        }
        assert!(both.iter().all(|&count| count > 1000), "{both:?}");
        assert!(!model.escapes(Noise::ZERO));
    }

    #[test]
    fn the_lesser_of_two_has_fewer_bits() {
        let some = [-1e4, -3.0, 0.0, 0.5, 700.0, 1e4].map(|bits| Noise::part(1, bits, 0.0));
        let noises: Vec<Noise> = std::iter::once(Noise::ZERO).chain(some).collect();
        for (i, &a) in noises.iter().enumerate() {
            for (j, &b) in noises.iter().enumerate() {
                assert_eq!(a.lesser(b), noises[i.min(j)]);
            }
        }
    }

    #[test]
    fn factors_that_are_no_numbers_are_refused() {
        for factor in [f64::NAN, f64::INFINITY, -1.0] {
            let grown = std::panic::catch_unwind(|| Noise::free(1.0).times(factor));
            assert!(grown.is_err(), "{factor}");
        }
    }

    #[test]
    fn powers_of_one_residual_have_the_moments_of_a_power() {
        // (w s)^m for Gaussian w and s: m!^2 times the power of the mean square.
        let model = model_insecure(40);
        let one = Noise::part(1, 0.0, 0.0);
        let mut power = one;
        for m in [2usize, 4, 8] {
            power = model.product(power, power, Factors::Same);
            let factorial: f64 = (1..=m).map(|k| k as f64).product();
            let expected = 2.0 * factorial.log2() + (m - 1) as f64 * 10.0;
            assert!((2.0 * power.bits() - expected).abs() < 1e-9, "{m}");
        }
    }

    #[test]
    fn moments_are_typical_where_limbs_leave_points_large_and_exact_where_they_do_not() {
        let one = Noise::part(1, 0.0, 0.0);
        let eighth = |model: &Model| {
            let square = |a| model.product(a, a, Factors::Same);
            2.0 * square(square(square(one))).bits()
        };
        let (typical, exact) = (model_insecure(27), model_insecure(40));
        let exact_bits = eighth(&exact);
        let lower = exact_bits - eighth(&typical);
        println!(
            "an eighth power: 2^{exact_bits:.1} over all energies, 2^{lower:.1} more than typical"
        );
        assert!((4.0..8.0).contains(&lower), "{lower}");
    }
}
