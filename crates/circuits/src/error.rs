//! Errors of the `circuits` layer.

use thiserror::Error;

/// Result of the `circuits` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors in a circuit's inputs or keys.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the scheme.
    #[error(transparent)]
    Bfv(#[from] bfv::Error),
    /// The caller stopped the computation.
    #[error("stopped by the caller")]
    Stopped,
    /// An error of CKKS.
    #[error(transparent)]
    Ckks(#[from] ckks::Error),
    /// The chain is too short for the circuit.
    #[error("the modulus chain ends inside {circuit}: {need} more limbs needed")]
    OutOfLevels {
        /// Circuit in which the chain ends.
        circuit: &'static str,
        /// Smallest number of limbs missing.
        need: usize,
    },
    /// The evaluation keys lack a key, or parameters and keys contradict each other.
    #[error(transparent)]
    Exchange(#[from] exchange::Error),
    /// A step of a program reads a value that no earlier step has made, or one of another kind.
    #[error("a step {op} reads %{value}, which is missing or of another kind")]
    Operand {
        /// Operation of the step.
        op: &'static str,
        /// The value.
        value: usize,
    },
    /// A circuit got an input of a shape that it cannot handle.
    #[error("{what} is {found}, expected {expected}")]
    Shape {
        /// Name of the quantity of the input that is wrong.
        what: &'static str,
        /// The value of the quantity, as text.
        found: String,
        /// The values that the circuit can handle, as text.
        expected: String,
    },
}

impl From<rlwe::Error> for Error {
    fn from(error: rlwe::Error) -> Self {
        Self::Bfv(error.into())
    }
}
