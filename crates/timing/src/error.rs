//! Errors of the `timing` layer.

use thiserror::Error;

/// Result of the `timing` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Reasons for a missing measurement.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The measured operation failed.
    #[error(transparent)]
    Circuits(#[from] circuits::Error),
    /// The keys could not be generated.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// An operation of TFHE failed.
    #[error(transparent)]
    Tfhe(#[from] tfhe::Error),
    /// The caller asked to stop.
    #[error("stopped after {done} of {total} measurements")]
    Stopped {
        /// Number of measurements done.
        done: usize,
        /// Number of measurements begun.
        total: usize,
    },
}

impl From<bfv::Error> for Error {
    fn from(error: bfv::Error) -> Self {
        Self::Circuits(error.into())
    }
}

impl From<ckks::Error> for Error {
    fn from(error: ckks::Error) -> Self {
        Self::Circuits(error.into())
    }
}

impl From<rlwe::Error> for Error {
    fn from(error: rlwe::Error) -> Self {
        Self::Circuits(error.into())
    }
}

impl From<exchange::Error> for Error {
    fn from(error: exchange::Error) -> Self {
        Self::Circuits(error.into())
    }
}
