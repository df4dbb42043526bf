//! Errors of the `timing` layer.

use thiserror::Error;

/// Result of the `timing` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no measurement.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// What is measured did not work out.
    #[error(transparent)]
    Circuits(#[from] circuits::Error),
    /// The keys could not be made.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// TFHE did not work out.
    #[error(transparent)]
    Tfhe(#[from] tfhe::Error),
    /// The caller asked to stop.
    #[error("stopped after {done} of {total} measurements")]
    Stopped {
        /// Measurements done.
        done: usize,
        /// Measurements that were begun.
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
