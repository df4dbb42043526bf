//! The input of a network: integers, and how real numbers become integers.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Shape and range of a network's input, and the meaning of its integers.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Channels, height, width.
    pub shape: [usize; 3],
    /// Smallest integer.
    pub min: i64,
    /// Largest integer.
    pub max: i64,
    /// Real value of the integer 1.
    pub scale: f64,
    /// Mean that is subtracted from the numbers of each channel. If empty, 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mean: Vec<f64>,
    /// Deviation that the numbers of each channel are then divided by, not 0. If empty, 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub std: Vec<f64>,
}

impl Input {
    /// Numbers in one input: channels times height times width.
    pub fn values(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the integer of a real number that is already normalised. Halves are rounded to even.
    pub fn integer(&self, real: f64) -> i64 {
        let rounded = (real / self.scale).round_ties_even();
        rounded.clamp(self.min as f64, self.max as f64) as i64
    }

    /// Returns the integers of whole inputs. The numbers of each input are in the order channel,
    /// row, column and in the model's own unit: a number `x` of channel `c` stands for
    /// `(x - mean[c]) / std[c]`.
    ///
    /// # Errors
    /// [`Error::Length`] if the last input is not complete, [`Error::Real`] for a number that is
    /// not finite.
    pub fn integers(&self, numbers: &[f64]) -> Result<Vec<i64>> {
        self.check_whole(numbers.len())?;
        if let Some(&found) = numbers.iter().find(|x| !x.is_finite()) {
            return Err(Error::Real {
                place: "input".to_owned(),
                what: "a number",
                found,
                expected: "a finite number",
            });
        }
        let [channels, height, width] = self.shape;
        let planes = numbers.chunks(height * width).zip((0..channels).cycle());
        let integers = planes.flat_map(|(plane, channel)| {
            let mean = self.mean.get(channel).copied().unwrap_or(0.0);
            let std = self.std.get(channel).copied().unwrap_or(1.0);
            plane.iter().map(move |&x| self.integer((x - mean) / std))
        });
        Ok(integers.collect())
    }

    /// Checks that `found` numbers are a whole number of images.
    pub(crate) fn check_whole(&self, found: usize) -> Result<()> {
        let expected = self.values();
        match found % expected.max(1) {
            0 => Ok(()),
            found => Err(Error::Length {
                place: "input".to_owned(),
                what: "the last image",
                found,
                expected,
            }),
        }
    }

    /// Checks that every number lies in the range.
    pub(crate) fn check_range(&self, numbers: impl IntoIterator<Item = i64>) -> Result<()> {
        let (min, max) = (self.min, self.max);
        match numbers.into_iter().find(|x| !(min..=max).contains(x)) {
            None => Ok(()),
            Some(found) => Err(Error::Range {
                place: "input".to_owned(),
                what: "a value of the image",
                found,
                min,
                max,
            }),
        }
    }
}
