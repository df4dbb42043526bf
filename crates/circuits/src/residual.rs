//! The predicted residual of a value: averaged over all coefficients, and of its largest ones.

use bfv::noise::{Factors, Model, Noise};

/// Mean square of a residual's coefficients: over all of them (`mean`), and where it is largest
/// (`peak`).
///
/// Sums of a value with its own automorphisms gather noise in few coefficients. The mean square
/// over all stays that of a sum of independent terms, but a decryption fails where the noise is
/// largest. `peak` bounds the mean square of every single coefficient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Residual {
    pub(crate) mean: Noise,
    pub(crate) peak: Noise,
}

/// Squares of a plaintext's centred coefficients. A product multiplies noise by them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Squares {
    /// Sum of the squares.
    pub sum: f64,
    /// Largest square, times the ring degree.
    pub peak: f64,
}

impl Squares {
    /// Squares of the given coefficients, in a ring of degree `n`.
    pub fn of(coefficients: impl Iterator<Item = i64>, n: usize) -> Self {
        let (sum, largest) = coefficients
            .map(|c| (c as f64).powi(2))
            .fold((0.0, 0.0f64), |(sum, most), c| (sum + c, most.max(c)));
        Self {
            sum,
            peak: largest * n as f64,
        }
    }

    /// Squares of `nonzero` coefficients that are uniform modulo `t`, in a ring of degree `n`.
    pub fn uniform(model: &Model, nonzero: f64, n: usize) -> Self {
        Self {
            sum: model.uniform_plaintext(nonzero),
            peak: model.uniform_plaintext(n as f64),
        }
    }
}

impl Residual {
    pub(crate) const ZERO: Self = Self::even(Noise::ZERO);

    /// A residual with the same noise in all coefficients.
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

    /// Sum of two residuals after products with independent plaintexts.
    #[must_use]
    pub(crate) fn plus_apart(self, other: Self) -> Self {
        Self {
            mean: self.mean.plus_apart(other.mean),
            peak: self.peak.plus_apart(other.peak),
        }
    }

    /// Sum with this residual itself, with its coefficients in another order. Over all coefficients
    /// squares add up. Where the largest coefficients meet, amplitudes add up.
    #[must_use]
    pub(crate) fn plus_alike(self) -> Self {
        Self {
            mean: self.mean.scaled(2.0, 4.0),
            peak: self.peak.times(4.0),
        }
    }

    /// Sum of this residual and another one, both doubled by an automorphism: each coefficient has
    /// either twice a coefficient of one of them or two coefficients of both.
    #[must_use]
    pub(crate) fn merged(self, other: Self) -> Self {
        let largest = match self.peak.lesser(other.peak) == self.peak {
            true => other.peak,
            false => self.peak,
        };
        Self {
            mean: self.mean.plus(other.mean).scaled(2.0, 4.0),
            peak: largest.times(4.0),
        }
    }

    /// Residual after a product with a number whose square is `square` on average and at most
    /// `largest`.
    #[must_use]
    pub(crate) fn scaled(self, square: f64, largest: f64) -> Self {
        Self {
            mean: self.mean.scaled(square, largest),
            peak: self.peak.scaled(square, largest),
        }
    }

    /// Residual after a division by `bits` bits of modulus.
    #[must_use]
    pub(crate) fn switched(self, model: &Model, bits: f64) -> Self {
        Self {
            mean: model.switched(self.mean, bits),
            peak: model.switched(self.peak, bits),
        }
    }

    /// Residual after a product with a plaintext. Each of its coefficients is a sum over all
    /// coefficients, where the largest square of either factor bounds each term.
    #[must_use]
    pub(crate) fn mul_plain(self, model: &Model, squares: Squares) -> Self {
        Self {
            mean: model.mul_plain(self.mean, squares.sum),
            peak: model
                .mul_plain(self.peak, squares.sum)
                .lesser(model.mul_plain(self.mean, squares.peak)),
        }
    }

    /// Residual of the product of two residuals.
    pub(crate) fn tensor(model: &Model, a: Self, b: Self, factors: Factors) -> Self {
        Self {
            mean: model.product(a.mean, b.mean, factors),
            peak: model
                .product(a.peak, b.mean, factors)
                .lesser(model.product(a.mean, b.peak, factors)),
        }
    }

    /// log2 of the probability that, at one of the `n / 2` points of evaluation, carried-on
    /// products are large enough to move a coefficient by an eighth of half of a modulus of `log_q`
    /// bits. One point and its conjugate move a coefficient by `2 / n` of their size.
    pub(crate) fn log2_beyond(self, model: &Model, n: usize, log_q: f64) -> f64 {
        let log_n = (n as f64).log2();
        let bits = log_q - 1.0 - EIGHTH + log_n / 2.0 - 1.0;
        model.log2_beyond(self.mean, bits) + log_n - 1.0
    }

    /// log2 of the probability that, at one of the `n / 2` points of evaluation, powers of this
    /// residual do not come down to rounding size.
    pub(crate) fn log2_escape(self, model: &Model, n: usize) -> f64 {
        model.log2_escape(self.mean) + (n as f64 / 2.0).log2()
    }
}

/// log2 of the share of half of the modulus that single points may take: one eighth. The other
/// seven eighths are left to the sum over all points.
const EIGHTH: f64 = 3.0;
