//! Errors of the `runtime` layer.

use rlwe::bytes::BytesError;
use thiserror::Error;

/// Result of the `runtime` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong between a query and its answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The program is wrong.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// A circuit did not work out: a key is missing, or parameters do not fit.
    #[error(transparent)]
    Circuits(#[from] circuits::Error),
    /// TFHE did not work out.
    #[error(transparent)]
    Tfhe(#[from] tfhe::Error),
    /// A recording has no trace.
    #[error(transparent)]
    Lower(#[from] lower::Error),
    /// A file is wrong, or belongs to another program or query.
    #[error(transparent)]
    Exchange(exchange::Error),
    /// A query or evaluation keys do not fit the program.
    #[error("{what} is {found}, expected {expected}")]
    Query {
        /// What is wrong.
        what: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A circuit of homomorphic operations does not fit its parameters or inputs.
    #[error("{what} is {found}, expected {expected}")]
    Circuit {
        /// What is wrong.
        what: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A trace cannot be executed, or was given other values than it asks for.
    #[error("{what} is {found}, expected {expected}")]
    Replay {
        /// What is wrong.
        what: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// The observer asked to stop.
    #[error("stopped after {done} of {total} steps")]
    Stopped {
        /// Steps done.
        done: usize,
        /// Steps of the program.
        total: usize,
    },
}

/// A wrong program is one error, wherever it was found to be wrong.
impl From<exchange::Error> for Error {
    fn from(error: exchange::Error) -> Self {
        match error {
            exchange::Error::Program(error) => Self::Program(error),
            other => Self::Exchange(other),
        }
    }
}

impl From<BytesError> for Error {
    fn from(error: BytesError) -> Self {
        Self::Exchange(error.into())
    }
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
        match error {
            rlwe::Error::Bytes(error) => error.into(),
            other => Self::Circuits(other.into()),
        }
    }
}
