//! Bounds on the size of a message. They tell whether a message fits its modulus.
//!
//! A message whose coefficients, times the scale, exceed half of the modulus decrypts to another
//! one. Therefore a ciphertext carries bounds on its message, from below and from above. The bounds
//! start from the values that were encrypted, and every operation computes the bounds of its
//! result. Only the last message has to fit. Sums, products and rescales are right modulo the
//! modulus, so a message that exceeds the modulus in between does no harm.
//!
//! The bounds stay in the process. Bytes and keys do not contain them, and they are not printed,
//! since they say something about the values. A ciphertext from outside has an unknown size until
//! [`Ciphertext::bounded`] states one.
//!
//! With `z` the slots and `c` the coefficients of a message: `c_0` is the real part of the mean of
//! `z`, and `c_(N/2)` the imaginary one; `sum_j c_j^2` is the mean of `|z|^2`; and each `|c_j|` is
//! at most the mean of `|z|`, and apart from these two at most the standard deviation of `z`.
//! Therefore means bound coefficients better than the largest slot does. A scalar product of 1,024
//! numbers between -1 and 1 is known to be at most 341, not 1,024, if the numbers are uniform.
//!
//! [`Ciphertext::bounded`]: crate::Ciphertext::bounded

use crate::error::{Error, Result};
use num_complex::Complex64;

/// Bounds on a message, in its own units.
#[derive(Clone, Copy, PartialEq)]
pub struct Size {
    /// A number near the mean of the slots.
    mean: Complex64,
    /// Largest distance of the mean of the slots from `mean`.
    mean_distance: f64,
    /// Bound from above on the standard deviation of the slots.
    deviation: f64,
    /// Bound from above on the mean of the absolute values of the slots.
    mean_absolute: f64,
    /// Root of the mean square of the slots, from below and from above.
    root_mean_square: [f64; 2],
    /// Bound from below on all absolute values of slots.
    smallest: f64,
    /// Largest absolute value of a slot, from below and from above.
    largest: [f64; 2],
    /// Largest absolute value of a coefficient, from below and from above.
    coefficients: [f64; 2],
    /// True if all slots are known to be real.
    real: bool,
}

/// The answer to the question if a message fits its modulus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fit {
    /// The message fits.
    Fits,
    /// The message does not fit: its largest coefficient is at least this number.
    Lost(f64),
    /// The bounds allow both. The largest coefficient is at most this number, which is infinite for
    /// an unknown size.
    Perhaps(f64),
}

impl Size {
    /// The size of a message of which nothing is known.
    pub const UNKNOWN: Self = Self::within(f64::INFINITY);

    const fn within(bound: f64) -> Self {
        Self {
            mean: Complex64::new(0.0, 0.0),
            mean_distance: bound,
            deviation: bound,
            mean_absolute: bound,
            root_mean_square: [0.0, bound],
            smallest: 0.0,
            largest: [0.0, bound],
            coefficients: [0.0, bound],
            real: false,
        }
    }

    /// The size of a message whose slots are at most `bound` in absolute value.
    pub fn at_most(bound: f64) -> Self {
        Self::within(bound)
    }

    /// The size of the message with these slots, which are filled up with zeros to a power of two.
    pub fn of_slots(slots: &[Complex64]) -> Self {
        let count = slots.len().next_power_of_two();
        let average = |sum: f64| sum / count as f64;
        let mut least = if slots.len() < count {
            0.0
        } else {
            f64::INFINITY
        };
        let (mut most, mut squares, mut norms, mut sum) = (0f64, 0.0, 0.0, Complex64::ZERO);
        let mut real = true;
        for slot in slots {
            let square = slot.norm_sqr();
            least = least.min(square);
            most = most.max(square);
            squares += square;
            norms += square.sqrt();
            sum += slot;
            real &= slot.im == 0.0;
        }
        if !squares.is_finite() {
            return Self::UNKNOWN;
        }
        let mean = sum / count as f64;
        let square = average(squares);
        // The difference loses digits of the squares, which counts as deviation.
        let variance = (square - mean.norm_sqr()).max(0.0) + 1e-14 * square;
        Self {
            mean,
            mean_distance: 0.0,
            deviation: variance.sqrt(),
            mean_absolute: average(norms),
            root_mean_square: [square.sqrt(); 2],
            smallest: least.sqrt(),
            largest: [most.sqrt(); 2],
            coefficients: [0.0, average(norms)],
            real,
        }
    }

    /// The size of a message whose coefficients have this largest absolute value, and whose slots
    /// are as `self` says.
    #[must_use]
    pub(crate) fn with_coefficients(self, coefficients: &[f64]) -> Self {
        Self {
            coefficients: [largest_of(coefficients); 2],
            ..self
        }
    }

    /// The size of the message with these coefficients.
    pub(crate) fn of_coefficients(coefficients: &[f64]) -> Self {
        let largest = largest_of(coefficients);
        let unit = if largest > 0.0 { largest } else { 1.0 };
        let squares: f64 = coefficients.iter().map(|c| (c / unit).powi(2)).sum();
        let root = squares.sqrt() * unit;
        Self {
            root_mean_square: [root; 2],
            largest: [root, coefficients.iter().map(|c| c.abs()).sum()],
            coefficients: [largest; 2],
            ..Self::within(root)
        }
    }

    /// The size of a sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let add = |a: [f64; 2], b: [f64; 2]| {
            let least = (a[0] - b[1]).max(b[0] - a[1]).max(0.0);
            [least, a[1] + b[1]]
        };
        let apart = (self.smallest - other.largest[1]).max(other.smallest - self.largest[1]);
        Self {
            mean: self.mean + other.mean,
            mean_distance: self.mean_distance + other.mean_distance,
            deviation: self.deviation + other.deviation,
            mean_absolute: self.mean_absolute + other.mean_absolute,
            root_mean_square: add(self.root_mean_square, other.root_mean_square),
            smallest: apart.max(0.0),
            largest: add(self.largest, other.largest),
            coefficients: add(self.coefficients, other.coefficients),
            real: self.real && other.real,
        }
        .tightened()
    }

    /// The size of a difference.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.plus(other.scaled(-1.0))
    }

    /// The size of a product of two messages, slot by slot.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        let (a, b) = (self, other);
        let [a_root, b_root] = [a.root_mean_square, b.root_mean_square];
        // The mean of the product is the product of the means plus the covariance.
        let mean_distance = times(a.mean.norm(), b.mean_distance)
            + times(b.mean.norm(), a.mean_distance)
            + times(a.mean_distance, b.mean_distance)
            + times(a.deviation, b.deviation);
        // From ab - E[a] E[b] = E[a] (b - E[b]) + (a - E[a]) b, and the same turned.
        let apart = |a: &Self, b: &Self| {
            times(a.most_mean(), b.deviation) + times(a.deviation, b.largest[1])
        };
        let deviation = apart(&a, &b).min(apart(&b, &a));
        let least = (a.smallest * b.least_largest()).max(a.least_largest() * b.smallest);
        let least_root = (a.smallest * b.least_root()).max(a.least_root() * b.smallest);
        let mean_absolute = times(a_root[1], b_root[1])
            .min(times(a.mean_absolute, b.largest[1]))
            .min(times(b.mean_absolute, a.largest[1]));
        let root = times(a_root[1], b.largest[1]).min(times(b_root[1], a.largest[1]));
        Self {
            mean: finite(a.mean * b.mean),
            mean_distance,
            deviation,
            mean_absolute,
            root_mean_square: [least_root, root],
            smallest: a.smallest * b.smallest,
            largest: [least, times(a.largest[1], b.largest[1])],
            coefficients: [0.0, mean_absolute],
            real: a.real && b.real,
        }
        .tightened()
    }

    /// The size of the square.
    #[must_use]
    pub fn squared(self) -> Self {
        let product = self.times(self);
        let [low, high] = [self.least_root(), self.root_mean_square[1]].map(|root| root * root);
        let mut square = Self {
            mean_absolute: product.mean_absolute.min(high),
            // The mean of fourth powers is at least the square of the mean of squares.
            root_mean_square: [
                product.root_mean_square[0].max(low),
                product.root_mean_square[1],
            ],
            largest: [self.least_largest().powi(2), product.largest[1]],
            ..product
        };
        if self.real && high.is_finite() {
            square.mean = ((low + high) / 2.0).into();
            square.mean_distance = (high - low) / 2.0;
        }
        square.tightened()
    }

    /// The size of the message times a number.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        let scale = |x: f64| times(x, factor.abs());
        Self {
            mean: finite(self.mean * factor),
            mean_distance: scale(self.mean_distance),
            deviation: scale(self.deviation),
            mean_absolute: scale(self.mean_absolute),
            root_mean_square: self.root_mean_square.map(scale),
            smallest: scale(self.smallest),
            largest: self.largest.map(scale),
            coefficients: self.coefficients.map(scale),
            real: self.real,
        }
    }

    /// The size of the message plus one number in every slot.
    #[must_use]
    pub fn shifted(self, number: Complex64) -> Self {
        let same = Self::of_slots(&[number]);
        self.plus(same.with_coefficients(&[number.re, number.im]))
    }

    /// The size of the message whose slots are the conjugates.
    #[must_use]
    pub fn conjugated(self) -> Self {
        Self {
            mean: self.mean.conj(),
            ..self
        }
    }

    /// The largest absolute value of a slot, from below.
    pub fn least_largest(&self) -> f64 {
        self.largest[0].max(self.least_root())
    }

    /// The largest absolute value of a slot, from above. It is infinite for an unknown size.
    pub fn largest(&self) -> f64 {
        self.largest[1]
    }

    /// The size of the message that a bootstrapping makes of one that must be below `room`, of `n`
    /// coefficients. If a message does not fit, it has wrapped around, and the bootstrapping
    /// refreshes the wrapped message. If the bounds allow this case, nothing is known of the
    /// result.
    ///
    /// # Errors
    /// [`Error::Lost`] if the message does not fit.
    pub fn refreshed(self, room: f64, n: usize) -> Result<Self> {
        match self.fit(room, n) {
            Fit::Fits => Ok(self),
            Fit::Perhaps(_) => Ok(Self::UNKNOWN),
            Fit::Lost(found) => Err(Error::lost(found, room)),
        }
    }

    /// Returns true if the slots have a finite bound from above.
    pub fn is_known(&self) -> bool {
        self.largest[1].is_finite()
    }

    /// Decides if the message fits: all of its `n` coefficients must be below `room`.
    pub(crate) fn fit(&self, room: f64, n: usize) -> Fit {
        let constant = self.mean.re.abs().max(self.mean.im.abs()) - self.mean_distance;
        let least = self.coefficients[0]
            .max(constant)
            .max(self.least_root() / (n as f64).sqrt());
        let most = self.coefficients[1];
        if least >= room {
            Fit::Lost(least)
        } else if most < room {
            Fit::Fits
        } else {
            Fit::Perhaps(most)
        }
    }

    /// The root of the mean square, from below.
    fn least_root(&self) -> f64 {
        let mean = self.mean.norm() - self.mean_distance;
        self.root_mean_square[0].max(mean).max(self.smallest)
    }

    /// The absolute value of the mean of the slots, from above.
    fn most_mean(&self) -> f64 {
        self.mean.norm() + self.mean_distance
    }

    /// This size, with each bound from above lowered to the bound that follows from the others.
    fn tightened(mut self) -> Self {
        let mean = self.most_mean();
        let root = self.root_mean_square[1].min(mean.hypot(self.deviation));
        self.deviation = self.deviation.min(root);
        self.mean_absolute = self.mean_absolute.min(root);
        self.root_mean_square[1] = root;
        let most = self.mean_absolute.min(mean.max(self.deviation));
        self.coefficients[1] = self.coefficients[1].min(most);
        self
    }
}

/// Shows nothing, since bounds say something about encrypted values.
impl std::fmt::Debug for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Size(..)")
    }
}

/// A product of bounds, where nothing times something unknown is nothing.
fn times(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

/// A mean that has exceeded doubles tells nothing: its distance is infinite, too.
fn finite(mean: Complex64) -> Complex64 {
    if mean.is_finite() {
        mean
    } else {
        Complex64::ZERO
    }
}

pub(crate) fn largest_of(coefficients: &[f64]) -> f64 {
    coefficients
        .iter()
        .fold(0.0, |most, c| f64::max(most, c.abs()))
}
