//! What can be wrong with a layer or a packing.

use thiserror::Error;

/// Result of the `packings` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// What can be wrong with a layer, a packing, or the parameters that they are asked for.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// From the scheme of approximate numbers.
    #[error(transparent)]
    Ckks(#[from] ckks::Error),
    /// From the scheme of exact numbers.
    #[error(transparent)]
    Exact(#[from] bgv::Error),
    /// A packing that there is not.
    #[error("the packing is {found:?}, expected one of {expected}")]
    Packing {
        /// Name that was asked for.
        found: String,
        /// Names that there are.
        expected: String,
    },
    /// From the circuit's builder.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// From the ring.
    #[error(transparent)]
    Ring(#[from] ring::Error),
    /// From the runtime.
    #[error(transparent)]
    Evaluate(#[from] evaluate::Error),
    /// A layer, or numbers for it, of a shape that no packing takes.
    #[error("{what} is {found}, expected {expected}")]
    Shape {
        /// What has a shape.
        what: String,
        /// Shape found.
        found: String,
        /// Shape expected.
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
