//! Errors of the `network` layer.

use thiserror::Error;

/// Result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What is wrong with a network or with what it was given.
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

    /// A network without layers, or with more than any checked one has.
    #[error("the network has {found} layers, expected 1 to {max}")]
    LayerCount {
        /// Layers in the file.
        found: usize,
        /// Most layers allowed.
        max: usize,
    },

    /// A number of the network lies outside its range.
    #[error("{place}: {what} is {found}, expected {min} to {max}")]
    Range {
        /// `input`, or `layer NAME`.
        place: String,
        /// Which number.
        what: &'static str,
        /// Its value.
        found: i64,
        /// Smallest value allowed.
        min: i64,
        /// Largest value allowed.
        max: i64,
    },

    /// A list has the wrong number of entries.
    #[error("{place}: {what} has {found} entries, expected {expected}")]
    Length {
        /// `input`, or `layer NAME`.
        place: String,
        /// Which list.
        what: &'static str,
        /// Entries found.
        found: usize,
        /// Entries expected.
        expected: usize,
    },

    /// A layer takes another shape than the one before it gives.
    #[error("layer {layer}: takes {found}, but is given {expected}")]
    Shape {
        /// Layer that takes the shape.
        layer: String,
        /// Shape it declares.
        found: String,
        /// Shape it is given.
        expected: String,
    },

    /// A real number that must be positive and finite is not.
    #[error("{place}: {what} is {found}, expected a positive number")]
    NotPositive {
        /// `input`, or `noise of layer NAME`.
        place: String,
        /// Which number.
        what: &'static str,
        /// Its value.
        found: f64,
    },

    /// Every layer but the last ends in a table, and the last does not.
    #[error("layer {layer}: {}", if *.last { "the last layer has a table, expected none: its accumulators are the logits" } else { "no table, expected one: only the last layer has none" })]
    Table {
        /// Layer concerned.
        layer: String,
        /// Whether it is the last one.
        last: bool,
    },

    /// Evaluation was asked to continue from a layer that is not there.
    #[error("layer {found} does not exist, the network has {layers}")]
    NoSuchLayer {
        /// Index asked for.
        found: usize,
        /// Number of layers.
        layers: usize,
    },
}
