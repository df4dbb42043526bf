//! Errors of the `bfv` layer.

use thiserror::Error;

/// Result of the `bfv` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// What can be wrong with BFV parameters, plaintexts and operands.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// From the layer below.
    #[error(transparent)]
    Rlwe(#[from] rlwe::Error),
    /// The plaintext modulus does not split the ring, or divides the ciphertext modulus.
    #[error("plaintext modulus {t} is no prime with t = 1 mod 2N (N = {n}) outside the chain")]
    PlaintextModulus {
        /// Modulus found.
        t: u64,
        /// Ring degree.
        n: usize,
    },
    /// A plaintext has too many values.
    #[error("{found} values in a plaintext, at most {limit} fit")]
    TooManyValues {
        /// Values found.
        found: usize,
        /// Values that fit.
        limit: usize,
    },
    /// Adding needs equal factors.
    #[error("operands carry the factors {left} and {right}, expected one factor")]
    FactorMismatch {
        /// Factor of the left operand.
        left: u64,
        /// Factor of the right operand.
        right: u64,
    },
}

impl From<ring::Error> for Error {
    fn from(error: ring::Error) -> Self {
        Self::Rlwe(error.into())
    }
}
