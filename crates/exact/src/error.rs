//! Errors of exact arithmetic, in BFV and in BGV.

use std::fmt::Debug;
use thiserror::Error;

/// Result of exact arithmetic.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors in parameters, plaintexts and operands.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// An error of the `rlwe` layer.
    #[error(transparent)]
    Rlwe(#[from] rlwe::Error),
    /// The plaintext modulus is no prime that splits the ring, or not below all moduli of the
    /// chain.
    #[error("plaintext modulus {t} is no prime with t = 1 mod 2N (N = {n}) below all of the chain")]
    PlaintextModulus {
        /// Modulus found.
        t: u64,
        /// Ring degree.
        n: usize,
    },
    /// A plaintext modulus without slots is even, or not below all moduli of the chain.
    #[error("plaintext modulus {t} is not odd, above 2 and below the least of the chain, {limit}")]
    CoefficientModulus {
        /// Modulus found.
        t: u64,
        /// Smallest modulus of the chain.
        limit: u64,
    },
    /// A plaintext has too many values.
    #[error("{found} values in a plaintext, at most {limit} fit")]
    TooManyValues {
        /// Values found.
        found: usize,
        /// Largest number of values.
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
    /// The noise has used up its budget, so that decryption may give another message.
    #[error(
        "the noise budget is {budget:.2} bits, expected at least {least}: the message may be lost. Use more levels or fewer products"
    )]
    NoiseBudget {
        /// Bits left.
        budget: f64,
        /// Bits that a right message has at least.
        least: f64,
    },
    /// An operand was made for other parameters.
    #[error("the {what} is of {found}, expected {expected}")]
    OtherParameters {
        /// The operand.
        what: &'static str,
        /// The operand's parameters.
        found: String,
        /// Parameters of the operation.
        expected: String,
    },
    /// Addition needs equal factors.
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
    /// The error [`Error::OtherParameters`], with both parameters in words.
    pub fn other(what: &'static str, found: impl Debug, expected: impl Debug) -> Self {
        Self::OtherParameters {
            what,
            found: format!("{found:?}"),
            expected: format!("{expected:?}"),
        }
    }
}
