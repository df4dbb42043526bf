//! Predicted error: the deviation of a slot from the exact result, relative to the message.
//!
//! An error polynomial with independent coefficients of variance `v` has slots of mean square
//! `N v`. Errors are kept as this mean square, divided by the square of the scale:
//! `E|error of a slot|^2`, in the units of the message. Messages enter by their mean square. The
//! formulas are averages over keys and messages. The tests compare measured values with them from
//! both sides.
//!
//! Source of the formulas: Cheon et al., ASIACRYPT 2017, section 3.4, in mean squares instead of
//! bounds. Key switching is in its hybrid form (Han, Ki, CT-RSA 2020).

use crate::params::Params;
use ring::sample::SIGMA;
use rlwe::noise::switch_variance;

/// Mean square of the error of a slot, in the units of the message.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Noise(pub f64);

impl Noise {
    /// No error.
    pub const ZERO: Self = Self(0.0);

    /// The negated log2 of the root mean square: the average number of correct bits after the
    /// binary point.
    pub fn precision(self) -> f64 {
        -self.0.log2() / 2.0
    }

    /// Error of the sum of two values.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    /// Error after a product with an exact number of mean square `square`.
    #[must_use]
    pub fn times(self, square: f64) -> Self {
        Self(self.0 * square)
    }
}

/// Noise formulas for one set of parameters.
#[derive(Clone, Debug)]
pub struct Model {
    params: Params,
    n: f64,
    /// Mean square of a coefficient of the secret, times `N`.
    secret: f64,
}

impl Model {
    /// Formulas for `params` with a uniform ternary secret.
    pub fn new(params: &Params) -> Self {
        Self::with_weight(params, params.n() as f64 * 2.0 / 3.0)
    }

    /// As [`Model::new`], for a secret with `weight` nonzero coefficients.
    pub fn with_weight(params: &Params, weight: f64) -> Self {
        Self {
            params: params.clone(),
            n: params.n() as f64,
            secret: weight,
        }
    }

    /// Error of a slot, for error polynomials of coefficient variance `v` at a scale.
    fn slots(&self, v: f64, scale: f64) -> Noise {
        Noise(self.n * v / (scale * scale))
    }

    /// Error of encoding: the rounding of coefficients.
    pub fn encoding(&self, scale: f64) -> Noise {
        self.slots(1.0 / 12.0, scale)
    }

    /// Error of a fresh ciphertext under the secret key, encoding included.
    pub fn fresh(&self, scale: f64) -> Noise {
        self.slots(SIGMA * SIGMA, scale).plus(self.encoding(scale))
    }

    /// Error of a fresh ciphertext under the public key, from `u e + e_0 + e_1 s`.
    pub fn fresh_public(&self, scale: f64) -> Noise {
        let terms = 1.0 + 2.0 * self.n / 3.0 + self.secret;
        self.slots(SIGMA * SIGMA * terms, scale)
            .plus(self.encoding(scale))
    }

    /// Error of a rescale to the given scale, and of the division that ends a key switch: the
    /// rounding of both components.
    pub fn rounding(&self, scale: f64) -> Noise {
        self.slots((1.0 + self.secret) / 12.0, scale)
    }

    /// Error of a product of messages of mean squares `x` and `y` with errors `a` and `b`, before
    /// relinearisation.
    pub fn product(&self, (x, a): (f64, Noise), (y, b): (f64, Noise)) -> Noise {
        Noise(x * b.0 + y * a.0 + a.0 * b.0)
    }

    /// Error `sum_j d_j e_j / P` that key switching at a level adds to a ciphertext of that scale,
    /// before the final rounding.
    pub fn key_switch(&self, level: usize, scale: f64) -> Noise {
        let ring_level = self.params.ring_level(level);
        self.slots(switch_variance(self.params.rlwe(), ring_level), scale)
    }
}
