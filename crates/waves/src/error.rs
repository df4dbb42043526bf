//! Errors of the `waves` layer.

use thiserror::Error;

/// Result of the `waves` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of planning a trace.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The trace breaks a rule.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// A modulus does not fit a word of a row.
    #[error(
        "modulus {index} is {found}, of {bits} bits, expected at most 32 bits: compile a program with \
         --words 32, give a circuit parameters of such moduli"
    )]
    Wide {
        /// Index of the modulus in the table of moduli.
        index: usize,
        /// The modulus.
        found: u64,
        /// Number of bits of the modulus.
        bits: u32,
    },
    /// A modulus is a power of two.
    #[error("modulus {index} is 2^{bits}, expected a prime: programs of TFHE run on the CPU only")]
    Power {
        /// Index of the modulus in the table of moduli.
        index: usize,
        /// Exponent of the modulus.
        bits: u32,
    },
    /// A modulus that must be a prime is not one.
    #[error("modulus {index} is {found}, expected a prime")]
    NotPrime {
        /// Index of the modulus in the table of moduli.
        index: usize,
        /// The modulus.
        found: u64,
    },
    /// The trace is too long to be written out.
    #[error("the trace has {found} {what}, expected at most {limit}: use a smaller program")]
    TooLong {
        /// Name of the quantity above its limit.
        what: &'static str,
        /// The number in the trace.
        found: u64,
        /// Largest number that a plan can have.
        limit: u64,
    },
}
