//! What a network takes: integers, and how pixels become integers.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Shape and range of a network's input, and what its integers mean.
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
    /// Mean of each channel, which is subtracted from pixels of 0 to 1; empty: 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mean: Vec<f64>,
    /// What each channel is then divided by; empty: 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub std: Vec<f64>,
}

impl Input {
    /// Numbers in one input: channels times height times width.
    pub fn values(&self) -> usize {
        self.shape.iter().product()
    }

    /// The integer of a real number, halves rounded to even.
    pub fn integer(&self, real: f64) -> i64 {
        let rounded = (real / self.scale).round_ties_even();
        rounded.clamp(self.min as f64, self.max as f64) as i64
    }

    /// The integers of whole images, each of pixels in the order channel, row, column.
    ///
    /// # Errors
    /// [`Error::Length`] if the last image is not whole.
    pub fn from_pixels(&self, pixels: &[u8]) -> Result<Vec<i16>> {
        self.check_whole(pixels.len())?;
        let [channels, height, width] = self.shape;
        let tables: Vec<[i16; 256]> = (0..channels).map(|c| self.table(c)).collect();
        let planes = pixels.chunks(height * width).zip(tables.iter().cycle());
        let integers = planes.flat_map(|(plane, table)| plane.iter().map(|&p| table[p as usize]));
        Ok(integers.collect())
    }

    /// The integer of every pixel of a channel.
    fn table(&self, channel: usize) -> [i16; 256] {
        let mean = self.mean.get(channel).copied().unwrap_or(0.0);
        let std = self.std.get(channel).copied().unwrap_or(1.0);
        std::array::from_fn(|pixel| {
            self.integer((pixel as f64 / 255.0 - mean) / std)
                .try_into()
                .expect("the range of a checked input lies in 16 bits")
        })
    }

    /// `found` numbers are whole images.
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

    /// Every number lies in the range.
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
