//! Errors of the `packings` layer.

use thiserror::Error;

/// Result of the `packings` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors in a layer or a packing, or in the parameters for which it is asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the scheme of approximate numbers.
    #[error(transparent)]
    Ckks(#[from] ckks::Error),
    /// An error of the scheme of exact numbers.
    #[error(transparent)]
    Exact(#[from] bgv::Error),
    /// No packing has this name.
    #[error("the packing is {found:?}, expected one of {expected}")]
    Packing {
        /// Name that was asked for.
        found: String,
        /// Names of all packings.
        expected: String,
    },
    /// An error of the circuit's builder.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// An error of the ring.
    #[error(transparent)]
    Ring(#[from] ring::Error),
    /// An error of the runtime.
    #[error(transparent)]
    Evaluate(#[from] evaluate::Error),
    /// A layer, or numbers for it, of a shape that no packing takes.
    #[error("{what} is {found}, expected {expected}")]
    Shape {
        /// Name of the quantity or shape that is wrong, such as "the padding of a convolution".
        what: String,
        /// The value of that quantity, as text.
        found: String,
        /// The values that packings take, as text.
        expected: String,
    },
}

/// Returns the error of a wrong shape.
pub(crate) fn shape(
    what: impl Into<String>,
    found: impl ToString,
    expected: impl ToString,
) -> Error {
    Error::Shape {
        what: what.into(),
        found: found.to_string(),
        expected: expected.to_string(),
    }
}
