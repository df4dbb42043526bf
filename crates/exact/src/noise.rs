//! Predicted noise: the root mean square of the residual `r`, in bits.
//!
//! A residual is a polynomial in the secret: `r = sum_d w_d s^d` with independent `w_d`. The variance
//! of each part is kept apart, because powers of one secret are not independent: the
//! coefficients of `s^d` have `d!` times the variance that a product of `d` independent keys would
//! have, so a product of parts of degrees `i` and `j` has `(i+j)! / (i! j!)` times the plain
//! `N v_i v_j`. Coefficients of sums add in variance. These are averages over keys and messages; the
//! tests hold measured values to them from both sides.
//!
//! Source of the key's part: Costache, Nürnberger, Player, "Optimisations and Tradeoffs for
//! HElib", CT-RSA 2023; Biasioli, Marcolla, Calderini, Mono, "Improving and Automating BFV
//! Parameters Selection: An Average-Case Approach", 2023, section 4.

use crate::params::Params;
use ring::sample::SIGMA;

/// Highest power of the secret kept apart; higher ones count as this one.
const DEGREES: usize = 5;

/// Variance of a residual's coefficients, by the power of the secret: log2 of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise([f64; DEGREES]);

impl Noise {
    /// No noise.
    pub const ZERO: Self = Self([f64::NEG_INFINITY; DEGREES]);

    /// Noise of the given variance, free of the secret.
    pub fn free(variance: f64) -> Self {
        Self::ZERO.with(0, variance.log2())
    }

    fn with(mut self, degree: usize, log_variance: f64) -> Self {
        let degree = degree.min(DEGREES - 1);
        self.0[degree] = log_sum(self.0[degree], log_variance);
        self
    }

    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self(self.0.map(f))
    }

    /// log2 of the root mean square.
    pub fn bits(self) -> f64 {
        self.0.into_iter().fold(f64::NEG_INFINITY, log_sum) / 2.0
    }

    /// Noise of a sum of two independent terms.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        (0..DEGREES).fold(self, |sum, d| sum.with(d, other.0[d]))
    }

    /// Noise of the sum of `count` independent terms.
    #[must_use]
    pub fn times(self, count: f64) -> Self {
        self.map(|v| v + count.log2())
    }

    /// Noise divided by `2^bits`.
    #[must_use]
    pub fn divided(self, bits: f64) -> Self {
        self.map(|v| v - 2.0 * bits)
    }
}

/// log2(2^a + 2^b).
fn log_sum(a: f64, b: f64) -> f64 {
    let (high, low) = (a.max(b), a.min(b));
    if low == f64::NEG_INFINITY {
        high
    } else {
        high + (1.0 + (low - high).exp2()).log2()
    }
}

/// `(i + j)! / (i! j!)`.
fn binomial(i: usize, j: usize) -> f64 {
    (1..=j).map(|k| (i + k) as f64 / k as f64).product()
}

/// Noise formulas for one set of parameters.
#[derive(Clone, Debug)]
pub struct Model {
    n: f64,
    t: f64,
    params: Params,
}

impl Model {
    /// Formulas for `params`.
    pub fn new(params: &Params) -> Self {
        Self {
            n: params.n() as f64,
            t: params.t().value() as f64,
            params: params.clone(),
        }
    }

    /// A message part `[-Q mu m]_t`, uniform.
    fn message(&self) -> f64 {
        self.t * self.t / 12.0
    }

    /// A part `w s` with `w` of the given variance and `s` uniform ternary.
    fn keyed(&self, variance: f64) -> Noise {
        Noise::ZERO.with(1, (variance * self.n * 2.0 / 3.0).log2())
    }

    /// Fresh, under the secret key: `t e + [-Q m]_t`.
    pub fn fresh(&self) -> Noise {
        Noise::free((self.t * SIGMA).powi(2) + self.message())
    }

    /// Fresh, under the public key: `t (u e + e_0 + e_1 s) + [-Q m]_t`.
    pub fn fresh_public(&self) -> Noise {
        let error = (self.t * SIGMA).powi(2);
        Noise::free(error * (1.0 + 2.0 * self.n / 3.0) + self.message()).plus(self.keyed(error))
    }

    /// After a product with an integer.
    pub fn mul_scalar(&self, a: Noise, c: i64) -> Noise {
        a.times((c as f64).powi(2))
    }

    /// After a product with a plaintext polynomial whose coefficients have the given sum of
    /// squares.
    pub fn mul_plain(&self, a: Noise, sum_of_squares: f64) -> Noise {
        a.times(sum_of_squares)
    }

    /// Sum of squares of a plaintext of `nonzero` uniform coefficients modulo `t`, centred.
    pub fn uniform_plaintext(&self, nonzero: f64) -> f64 {
        self.message() * nonzero
    }

    /// After a product of residuals, before relinearisation; `same` if both are one ciphertext.
    pub fn tensor(&self, a: Noise, b: Noise, same: bool) -> Noise {
        let cross = if same { 2.0 } else { 1.0 };
        let mut product = Noise::ZERO;
        for i in 0..DEGREES {
            for j in 0..DEGREES {
                let factor = (self.n * cross * binomial(i, j)).log2();
                product = product.with(i + j, a.0[i] + b.0[j] + factor);
            }
        }
        product
    }

    /// After a scale-invariant product, before relinearisation; `same` if both are one ciphertext.
    ///
    /// The residual is `K r' + K' r`, with `K = t (c_0 + c_1 s) / Q` the message with its overflow: its
    /// components are `t` times uniform values of `[-1/2, 1/2]`, which is what a rounding adds too.
    /// The rounding of the three components comes to it; `r r'/Q` is nothing beside these.
    pub fn scale_invariant(&self, a: Noise, b: Noise, same: bool) -> Noise {
        let overflow = self.rounding();
        let sum = self
            .tensor(overflow, a, false)
            .plus(self.tensor(overflow, b, false))
            .times(if same { 2.0 } else { 1.0 });
        let square = 2.0 * (self.n * 2.0 / 3.0).powi(2);
        let last = Noise::ZERO.with(2, (self.message() * square).log2());
        sum.plus(overflow).plus(last)
    }

    /// What a division adds: `t` times the rounding of both components.
    pub fn rounding(&self) -> Noise {
        let error = self.t * self.t / 12.0;
        Noise::free(error).plus(self.keyed(error))
    }

    /// After dividing by `bits` bits of modulus.
    pub fn switched(&self, a: Noise, bits: f64) -> Noise {
        a.divided(bits).plus(self.rounding())
    }

    /// What key switching at `level` adds, rounding apart: per digit `j`, `t d_j e_j / P`.
    pub fn key_switch(&self, level: usize) -> Noise {
        let rlwe = self.params.rlwe();
        let basis = rlwe.basis(level);
        let special = rlwe.special().log2();
        rlwe.digits(level)
            .map(|limbs| {
                let log_digit: f64 = basis.slice(limbs.clone()).log2();
                // Digits are centred: uniform in [-D_j/2, D_j/2].
                Noise::free((self.t * SIGMA).powi(2) * self.n / 12.0).divided(special - log_digit)
            })
            .fold(Noise::ZERO, Noise::plus)
    }
}
