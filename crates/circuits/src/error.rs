//! Errors of the `circuits` layer.

use thiserror::Error;

/// Result of the `circuits` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// What can be wrong with a circuit's inputs or keys.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// From the scheme.
    #[error(transparent)]
    Bfv(#[from] bfv::Error),
    /// From the scheme of approximate numbers.
    #[error(transparent)]
    Ckks(#[from] ckks::Error),
    /// The chain is too short for the circuit.
    #[error("the modulus chain ends inside {circuit}: {need} more limbs needed")]
    OutOfLevels {
        /// Circuit that ran out.
        circuit: &'static str,
        /// Limbs missing, at least.
        need: usize,
    },
    /// The evaluation keys lack a key, or parameters and keys contradict each other.
    #[error(transparent)]
    Exchange(#[from] exchange::Error),
    /// A step of a program reads what no earlier step has made.
    #[error("a step {op} reads %{value}, which is missing or of another kind")]
    Operand {
        /// Operation of the step.
        op: &'static str,
        /// The value.
        value: usize,
    },
    /// A circuit got a shape it does not do.
    #[error("{what} is {found}, expected {expected}")]
    Shape {
        /// What has a shape.
        what: &'static str,
        /// Shape found.
        found: String,
        /// Shape expected.
        expected: String,
    },
}

impl From<rlwe::Error> for Error {
    fn from(error: rlwe::Error) -> Self {
        Self::Bfv(error.into())
    }
}
