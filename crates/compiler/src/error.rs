//! Errors of the `compiler` layer.

use thiserror::Error;

/// Result of the `compiler` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a network does not compile.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The network itself is wrong.
    #[error(transparent)]
    Network(#[from] network::Error),
    /// A plan did not work out.
    #[error(transparent)]
    Circuits(#[from] circuits::Error),
    /// The verifier found a mistake of ours.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// A layer cannot be done.
    #[error("layer {layer}: {what} is {found}, expected {expected}")]
    Layer {
        /// Name of the layer.
        layer: String,
        /// What is wrong.
        what: &'static str,
        /// What was found.
        found: String,
        /// What can be done.
        expected: String,
    },
    /// There is nothing to run on.
    #[error("a batch of 0 images, expected at least 1")]
    EmptyBatch,
    /// The batch is larger than a program may have.
    #[error("a batch of {batch} images, expected at most {most}")]
    Batch {
        /// Images asked for.
        batch: usize,
        /// Largest batch.
        most: usize,
    },
    /// No parameters within 128-bit security evaluate the network.
    #[error("no parameters of 128-bit security hold this network: {last}")]
    NoParameters {
        /// What stopped the last attempt.
        last: Box<Error>,
    },
}

impl From<bfv::Error> for Error {
    fn from(error: bfv::Error) -> Self {
        Self::Circuits(error.into())
    }
}

impl From<rlwe::Error> for Error {
    fn from(error: rlwe::Error) -> Self {
        Self::Circuits(error.into())
    }
}

impl From<ring::Error> for Error {
    fn from(error: ring::Error) -> Self {
        Self::Circuits(rlwe::Error::from(error).into())
    }
}
