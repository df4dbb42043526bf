//! Errors of the `network` layer.

use thiserror::Error;

/// Result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Errors in a network, or in the inputs and the noise that it evaluates.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The text is not JSON of the expected form.
    #[error("not an integer network: {reason}")]
    Json {
        /// The parser's words, with line and column.
        reason: String,
    },

    /// The file was written in another format or version.
    #[error("the network's format is {found:?}, expected {expected:?}")]
    Format {
        /// Format named in the file.
        found: String,
        /// Format this version reads.
        expected: &'static str,
    },

    /// A number lies outside its range.
    #[error("{place}: {what} is {found}, expected {}", range(*min, *max))]
    Range {
        /// `network`, `input`, `layer NAME` or `layer NAME, term NUMBER`.
        place: String,
        /// Name of the number.
        what: &'static str,
        /// Value of the number.
        found: i64,
        /// Smallest value allowed.
        min: i64,
        /// Largest value allowed.
        max: i64,
    },

    /// A list has the wrong number of entries.
    #[error("{place}: {what} has {found} entries, expected {expected}")]
    Length {
        /// As in [`Error::Range`].
        place: String,
        /// Name of the list.
        what: &'static str,
        /// Number of entries of the list.
        found: usize,
        /// Number of entries that the list must have.
        expected: usize,
    },

    /// A real number breaks the rule for it.
    #[error("{place}: {what} is {found}, expected {expected}")]
    Real {
        /// As in [`Error::Range`], or `noise of layer NAME`.
        place: String,
        /// Name of the number.
        what: &'static str,
        /// Value of the number.
        found: f64,
        /// The rule for the number, as text.
        expected: &'static str,
    },

    /// A term takes another shape than its source has.
    #[error("{place}: takes {found}, but is given {expected}")]
    Shape {
        /// As in [`Error::Range`].
        place: String,
        /// Shape that the term takes.
        found: String,
        /// Shape of the term's source.
        expected: String,
    },

    /// The terms and the product of a layer have different shapes.
    #[error("{place}: gives {found}, but the others give {expected}")]
    Terms {
        /// As in [`Error::Range`].
        place: String,
        /// Shape of this term.
        found: String,
        /// Shape of the layer's product, or else of its first term.
        expected: String,
    },

    /// The number of groups does not divide the numbers of channels and kernels.
    #[error(
        "{place}: has {found} groups, expected a divisor of {channels} channels and {kernels} kernels"
    )]
    Groups {
        /// As in [`Error::Range`].
        place: String,
        /// Groups found.
        found: usize,
        /// Channels of the source.
        channels: usize,
        /// Kernels.
        kernels: usize,
    },

    /// Two layers have one name.
    #[error("layers {first} and {second} are both named {name:?}, expected a name for each")]
    Name {
        /// The name.
        name: String,
        /// Number of the first one, counted from 1.
        first: usize,
        /// Number of the second one.
        second: usize,
    },

    /// No layer reads this layer, and it is not the last one.
    #[error(
        "layer {layer}: read by no layer, expected at least 1: only the last layer is a result"
    )]
    Unread {
        /// The layer.
        layer: String,
    },

    /// The last layer has a table, or another layer has none.
    #[error("layer {layer}: {}", if *.last { "the last layer has a table, expected none: its accumulators are the logits" } else { "no table, expected one: only the last layer has none" })]
    Table {
        /// Name of the layer.
        layer: String,
        /// True if it is the last layer.
        last: bool,
    },

    /// A layer was asked for that does not exist.
    #[error("layer {found} does not exist, the network has {layers}")]
    NoSuchLayer {
        /// Index asked for, counted from 0.
        found: usize,
        /// Number of layers.
        layers: usize,
    },

    /// The caller ended the evaluation.
    #[error("the evaluation was stopped after {done} of {images} images")]
    Stopped {
        /// Images done.
        done: usize,
        /// Images in all.
        images: usize,
    },
}

fn range(min: i64, max: i64) -> String {
    if min == max {
        return min.to_string();
    }
    format!("{min} to {max}")
}
