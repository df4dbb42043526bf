//! The data of a network, as it stands in a file.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::linear::Linear;

/// Format and version that this crate reads and writes.
pub const FORMAT: &str = "palladion-int-network/1";

/// A network of exact integers: linear groups, each followed by a table but for the last.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct IntNetwork {
    /// Always [`FORMAT`].
    pub format: String,
    /// Name for people.
    pub name: String,
    /// What the first layer takes.
    pub input: Input,
    /// The layers, first to last.
    pub layers: Vec<Layer>,
}

/// Shape and range of a network's input.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Channels, height, width.
    pub shape: [usize; 3],
    /// Inputs and activations lie in `0..=max`; 127 for 7 bits.
    pub max: i64,
    /// Real value of the integer 1.
    pub scale: f64,
}

/// A linear group and the table that follows it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Name for people, reports and errors.
    pub name: String,
    /// Convolution or dense layer.
    pub linear: Linear,
    /// Calibrated bound `B`: accumulators are expected in `-B..=B`, `B < 32768`.
    pub bound: i64,
    /// Activation and requantisation; `None` in the last layer, whose accumulators are the logits.
    pub lut: Option<Lut>,
}

/// A function of an accumulator, by its values on `-B..=B`.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Lut {
    /// The `2B + 1` values for accumulators `-B, ..., B`.
    pub values: Vec<i64>,
}

impl IntNetwork {
    /// Reads a network and checks all of it.
    ///
    /// # Errors
    /// [`Error::Json`] for text of another form, and every error of [`check`](Self::check).
    pub fn from_json(text: &str) -> Result<Self> {
        let network: Self = serde_json::from_str(text).map_err(|e| Error::Json {
            reason: e.to_string(),
        })?;
        network.check()?;
        Ok(network)
    }

    /// The network as one line of JSON, which [`from_json`](Self::from_json) reads back equal.
    pub fn to_json(&self) -> String {
        // Infinite scales would be written as null; `check` excludes them.
        serde_json::to_string(self).expect("strings, numbers and lists are always JSON")
    }

    /// Numbers in one input: channels times height times width.
    pub fn input_len(&self) -> usize {
        self.input.shape.iter().product()
    }
}

impl Layer {
    /// How many accumulators lie outside `-B..=B`, where an encrypted table gives no meaning.
    pub fn overflows(&self, accumulators: &[i64]) -> usize {
        accumulators
            .iter()
            .filter(|a| a.unsigned_abs() > self.bound.unsigned_abs())
            .count()
    }
}

impl Lut {
    /// The bound `B` of a table of `2B + 1` values.
    pub fn bound(&self) -> i64 {
        (self.values.len() / 2) as i64
    }

    /// Value at `accumulator`; beyond either end, the value at that end.
    ///
    /// # Panics
    /// If the number of values is even, which no checked network's is.
    pub fn apply(&self, accumulator: i64) -> i64 {
        let bound = self.bound();
        self.values[(accumulator.clamp(-bound, bound) + bound) as usize]
    }
}
