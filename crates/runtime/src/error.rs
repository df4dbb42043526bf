//! Errors of the `runtime` layer.

use rlwe::bytes::BytesError;
use std::path::PathBuf;
use thiserror::Error;

/// Result of the `runtime` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of a run, from a query to its answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The program breaks a rule.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// A trace breaks a rule.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// An error of a circuit: a key is missing, or parameters do not fit.
    #[error(transparent)]
    Circuits(#[from] circuits::Error),
    /// A recording has no trace.
    #[error(transparent)]
    Lower(#[from] lower::Error),
    /// The bytes of a file are wrong, or it belongs to another program or query.
    #[error(transparent)]
    Exchange(exchange::Error),
    /// A query or evaluation keys do not fit the program.
    #[error("{what} is {found}, expected {expected}")]
    Query {
        /// Name of the part that does not fit, such as "the number of encrypted inputs".
        what: &'static str,
        /// The value of that part, as text.
        found: String,
        /// The values that fit the program, as text.
        expected: String,
    },
    /// A trace was not executed.
    #[error(transparent)]
    Executor(#[from] executor::Error),
    /// A file of evaluation keys could not be read.
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file of evaluation keys has other content than when it was opened.
    #[error(
        "{} has other evaluation keys than when it was opened: open them again", .path.display()
    )]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The observer stopped the run.
    #[error("stopped after {done} of {total} steps")]
    Stopped {
        /// Number of steps done.
        done: usize,
        /// Number of steps of the program.
        total: usize,
    },
}

/// An error of a program is always [`Error::Program`], wherever it was found.
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

impl From<rlwe::Error> for Error {
    fn from(error: rlwe::Error) -> Self {
        match error {
            rlwe::Error::Bytes(error) => error.into(),
            other => Self::Circuits(other.into()),
        }
    }
}
