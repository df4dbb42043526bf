//! Errors of exact arithmetic, BFV's and BGV's.

use std::fmt::Debug;
use thiserror::Error;

/// Result of exact arithmetic.
pub type Result<T> = std::result::Result<T, Error>;

/// What can be wrong with parameters, plaintexts and operands.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// From the layer below.
    #[error(transparent)]
    Rlwe(#[from] rlwe::Error),
    /// The plaintext modulus does not split the ring, or is no residue modulo all of the chain.
    #[error("plaintext modulus {t} is no prime with t = 1 mod 2N (N = {n}) below all of the chain")]
    PlaintextModulus {
        /// Modulus found.
        t: u64,
        /// Ring degree.
        n: usize,
    },
    /// A plaintext modulus without slots is even, or no residue modulo all of the chain.
    #[error("plaintext modulus {t} is not odd, above 2 and below the least of the chain, {limit}")]
    CoefficientModulus {
        /// Modulus found.
        t: u64,
        /// Least modulus of the chain.
        limit: u64,
    },
    /// A plaintext has too many values.
    #[error("{found} values in a plaintext, at most {limit} fit")]
    TooManyValues {
        /// Values found.
        found: usize,
        /// Values that fit.
        limit: usize,
    },
    /// A value is no residue modulo `t`.
    #[error("value {index} of a plaintext is {found}, expected less than t = {t}")]
    Message {
        /// Slot or coefficient.
        index: usize,
        /// Value found.
        found: u64,
        /// Plaintext modulus.
        t: u64,
    },
    /// An operand was made for other parameters.
    #[error("the {what} is of {found}, expected {expected}")]
    OtherParameters {
        /// Operand.
        what: &'static str,
        /// Its parameters.
        found: String,
        /// Parameters of the operation.
        expected: String,
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

impl Error {
    /// [`Error::OtherParameters`] in words.
    pub fn other(what: &'static str, found: impl Debug, expected: impl Debug) -> Self {
        Self::OtherParameters {
            what,
            found: format!("{found:?}"),
            expected: format!("{expected:?}"),
        }
    }
}
