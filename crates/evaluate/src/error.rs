//! Errors of the `evaluate` layer.

use thiserror::Error;

/// Result of the `evaluate` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of evaluating a circuit.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The circuit breaks a rule.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// A key is missing, or parameters do not fit.
    #[error(transparent)]
    Circuits(#[from] circuits::Error),
    /// An error of TFHE.
    #[error(transparent)]
    Tfhe(#[from] tfhe::Error),
    /// A recording has no trace.
    #[error(transparent)]
    Lower(#[from] lower::Error),
    /// A trace was not executed.
    #[error(transparent)]
    Executor(#[from] executor::Error),
    /// A circuit does not fit its parameters or inputs.
    #[error("{what} is {found}, expected {expected}")]
    Circuit {
        /// Name of the wrong item.
        what: String,
        /// The actual value.
        found: String,
        /// The expected value.
        expected: String,
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
