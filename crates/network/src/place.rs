//! Checks of single numbers and lists. Errors name the place.

use crate::error::{Error, Result};

/// Channels, height, width.
pub type Shape = [usize; 3];

/// Largest absolute weight, bound and value: below `t / 2` for `t = 65537`, and within 16
/// bits.
pub(crate) const MAX_VALUE: i64 = 32_767;
/// Largest absolute bias. It is reduced modulo `t` under encryption, so only the sum with the bias
/// has to be small: a channel whose sums are all large has a bias that is as large.
pub(crate) const MAX_BIAS: i64 = 1 << 20;
/// Largest side, channel or kernel count, stride, dilation and padding.
const MAX_SIDE: usize = 1 << 15;
/// Largest length of one list, and largest number of values of all layers.
pub(crate) const MAX_LEN: usize = 1 << 26;

/// Product of `sides`. It saturates instead of wrapping.
pub(crate) fn product(sides: &[usize]) -> usize {
    sides.iter().fold(1, |len, &side| len.saturating_mul(side))
}

/// A shape in words.
pub(crate) fn words([channels, height, width]: Shape) -> String {
    format!("{channels} channels of {height}x{width}")
}

/// The place that an error names.
pub(crate) struct Place(pub(crate) String);

impl Place {
    pub(crate) fn range(&self, what: &'static str, found: i64, min: i64, max: i64) -> Result<()> {
        if (min..=max).contains(&found) {
            return Ok(());
        }
        Err(Error::Range {
            place: self.0.clone(),
            what,
            found,
            min,
            max,
        })
    }

    pub(crate) fn count(
        &self,
        what: &'static str,
        found: usize,
        min: usize,
        max: usize,
    ) -> Result<()> {
        let found = i64::try_from(found).unwrap_or(i64::MAX);
        self.range(what, found, min as i64, max as i64)
    }

    /// Checks a side, or another number with the same limits.
    pub(crate) fn side(&self, what: &'static str, found: usize) -> Result<()> {
        self.count(what, found, 1, MAX_SIDE)
    }

    /// Checks a padding, which may be negative.
    pub(crate) fn pad(&self, found: i64) -> Result<()> {
        self.range("a padding", found, -(MAX_SIDE as i64), MAX_SIDE as i64)
    }

    /// Checks that `list` has as many entries as the product of `sides`.
    pub(crate) fn list(&self, what: &'static str, list: &[i64], sides: &[usize]) -> Result<()> {
        let expected = product(sides);
        if list.len() != expected {
            return Err(self.length(what, list.len(), expected));
        }
        self.count(what, expected, 1, MAX_LEN)
    }

    pub(crate) fn values(
        &self,
        what: &'static str,
        values: &[i64],
        min: i64,
        max: i64,
    ) -> Result<()> {
        values
            .iter()
            .try_for_each(|&value| self.range(what, value, min, max))
    }

    pub(crate) fn positive(&self, what: &'static str, found: f64) -> Result<()> {
        let good = found.is_finite() && found > 0.0;
        self.real(what, found, good, "a positive number")
    }

    pub(crate) fn real(
        &self,
        what: &'static str,
        found: f64,
        good: bool,
        expected: &'static str,
    ) -> Result<()> {
        if good {
            return Ok(());
        }
        Err(Error::Real {
            place: self.0.clone(),
            what,
            found,
            expected,
        })
    }

    pub(crate) fn length(&self, what: &'static str, found: usize, expected: usize) -> Error {
        Error::Length {
            place: self.0.clone(),
            what,
            found,
            expected,
        }
    }

    pub(crate) fn terms(&self, found: Shape, expected: Shape) -> Error {
        Error::Terms {
            place: self.0.clone(),
            found: words(found),
            expected: words(expected),
        }
    }

    pub(crate) fn shape(&self, found: String, given: Shape) -> Error {
        Error::Shape {
            place: self.0.clone(),
            found,
            expected: words(given),
        }
    }
}
