//! The predicted residual of a value: of all its coefficients, and of its largest ones.

use bfv::noise::{Factors, Model, Noise};

/// Mean square of a residual's coefficients, over all of them and over those where it is largest.
///
/// Sums of a value with its own automorphisms gather noise in few coefficients: the mean square over
/// all stays that of a sum of independent terms, but a decryption fails where the noise is largest.
/// `peak` bounds the mean square of every single coefficient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Residual {
    pub(crate) mean: Noise,
    pub(crate) peak: Noise,
}

/// Squares of a plaintext's centred coefficients, by which a product multiplies noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Squares {
    /// Their sum.
    pub sum: f64,
    /// The largest, times the ring degree.
    pub peak: f64,
}

impl Squares {
    /// Of given coefficients, of a ring of degree `n`.
    pub fn of(coefficients: impl Iterator<Item = i64>, n: usize) -> Self {
        let (sum, largest) = coefficients
            .map(|c| (c as f64).powi(2))
            .fold((0.0, 0.0f64), |(sum, most), c| (sum + c, most.max(c)));
        Self {
            sum,
            peak: largest * n as f64,
        }
    }

    /// Of `nonzero` coefficients of `n` that are uniform modulo `t`.
    pub fn uniform(model: &Model, nonzero: f64, n: usize) -> Self {
        Self {
            sum: model.uniform_plaintext(nonzero),
            peak: model.uniform_plaintext(n as f64),
        }
    }
}

impl Residual {
    pub(crate) const ZERO: Self = Self::even(Noise::ZERO);

    /// The same everywhere.
    pub(crate) const fn even(noise: Noise) -> Self {
        Self {
            mean: noise,
            peak: noise,
        }
    }

    /// Sum of two independent residuals.
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            mean: self.mean.plus(other.mean),
            peak: self.peak.plus(other.peak),
        }
    }

    /// Sum of two residuals after products with plaintexts of their own.
    #[must_use]
    pub(crate) fn plus_apart(self, other: Self) -> Self {
        Self {
            mean: self.mean.plus_apart(other.mean),
            peak: self.peak.plus_apart(other.peak),
        }
    }

    /// Sum with this residual itself, its coefficients in another order: squares add up over all of
    /// them, and amplitudes where the largest ones meet.
    #[must_use]
    pub(crate) fn plus_alike(self) -> Self {
        Self {
            mean: self.mean.scaled(2.0, 4.0),
            peak: self.peak.times(4.0),
        }
    }

    /// After a product with a number whose square is `square` on average and `largest` at most.
    #[must_use]
    pub(crate) fn scaled(self, square: f64, largest: f64) -> Self {
        Self {
            mean: self.mean.scaled(square, largest),
            peak: self.peak.scaled(square, largest),
        }
    }

    /// After dividing by `bits` bits of modulus.
    #[must_use]
    pub(crate) fn switched(self, model: &Model, bits: f64) -> Self {
        Self {
            mean: model.switched(self.mean, bits),
            peak: model.switched(self.peak, bits),
        }
    }

    /// After a product with a plaintext: a coefficient of it is a sum over all coefficients, of which
    /// either factor's largest square bounds each term.
    #[must_use]
    pub(crate) fn mul_plain(self, model: &Model, squares: Squares) -> Self {
        Self {
            mean: model.mul_plain(self.mean, squares.sum),
            peak: lesser(
                model.mul_plain(self.peak, squares.sum),
                model.mul_plain(self.mean, squares.peak),
            ),
        }
    }

    /// Of the product of two residuals.
    pub(crate) fn tensor(model: &Model, a: Self, b: Self, factors: Factors) -> Self {
        Self {
            mean: model.product(a.mean, b.mean, factors),
            peak: lesser(
                model.product(a.peak, b.mean, factors),
                model.product(a.mean, b.peak, factors),
            ),
        }
    }

    /// log2 of the probability that, at one of the `n / 2` points of evaluation, products carried on are so large
    /// that they move a coefficient by an eighth of half of a modulus of `log_q` bits: one point
    /// and its conjugate move it by `2 / n` of their size.
    pub(crate) fn log2_beyond(self, model: &Model, n: usize, log_q: f64) -> f64 {
        let log_n = (n as f64).log2();
        let bits = log_q - 1.0 - EIGHTH + log_n / 2.0 - 1.0;
        model.log2_beyond(self.mean, bits) + log_n - 1.0
    }

    /// log2 of the probability that, at one of the `n / 2` points of evaluation, powers of this residual
    /// do not come down to rounding size.
    pub(crate) fn log2_escape(self, model: &Model, n: usize) -> f64 {
        model.log2_escape(self.mean) + (n as f64 / 2.0).log2()
    }
}

/// Bits below half of the modulus that single points may take of a coefficient's room: the other seven eighths are the
/// sum's over all points.
const EIGHTH: f64 = 3.0;

fn lesser(a: Noise, b: Noise) -> Noise {
    if b.bits() < a.bits() { b } else { a }
}
