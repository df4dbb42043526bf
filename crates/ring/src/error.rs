//! Errors of the `ring` layer.

use thiserror::Error;

/// Result of the `ring` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors in a ring or in the data of a polynomial.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The ring degree is out of range.
    #[error("ring degree is {n}, expected a power of two from {min} to {max}")]
    Degree {
        /// Degree found.
        n: usize,
        /// Smallest degree.
        min: usize,
        /// Largest degree.
        max: usize,
    },
    /// A basis needs at least one modulus.
    #[error("the basis is empty")]
    EmptyBasis,
    /// A modulus is no prime that splits `X^N + 1`, or is too large for the kernels.
    #[error(
        "modulus {index} of the basis, {q}, is no prime below 2^60 with q = 1 mod 2N (N = {n})"
    )]
    NotNttFriendly {
        /// Place in the basis.
        index: usize,
        /// The modulus.
        q: u64,
        /// Ring degree.
        n: usize,
    },
    /// Moduli must be pairwise coprime.
    #[error("moduli {i} and {j} of the basis are equal ({q})")]
    RepeatedModulus {
        /// First place.
        i: usize,
        /// Second place.
        j: usize,
        /// The modulus.
        q: u64,
    },
    /// Not enough primes of the wanted size exist.
    #[error("only {found} NTT-friendly primes of {bits} bits exist for N = {n}, {wanted} wanted")]
    TooFewPrimes {
        /// Size wanted.
        bits: u32,
        /// Ring degree.
        n: usize,
        /// Number found.
        found: usize,
        /// Number wanted.
        wanted: usize,
    },
    /// Residues that came from outside do not fit their basis.
    #[error("limb {limb} holds the residue {found}, expected less than {q}")]
    Residue {
        /// Limb of the residue.
        limb: usize,
        /// Residue found.
        found: u64,
        /// Modulus of the limb.
        q: u64,
    },
    /// A count of words that came from outside does not fit its basis.
    #[error("{found} words for a polynomial, expected {expected}")]
    Words {
        /// Words found.
        found: usize,
        /// Words expected.
        expected: usize,
    },
    /// A word of the torus cannot be cut into such digits.
    #[error(
        "{levels} digits of {base_log} bits, expected 1 to 30 bits, at least 1 digit and at most 63 bits in all"
    )]
    Decomposition {
        /// Bits of a digit.
        base_log: u32,
        /// Number of digits.
        levels: u32,
    },
    /// No complex transform has this length.
    #[error("polynomials of {n} coefficients, expected a power of two from {min} to {max}")]
    TransformLength {
        /// Coefficients found.
        n: usize,
        /// Smallest number.
        min: usize,
        /// Largest number.
        max: usize,
    },
    /// The blocks of an array's elements would not be whole vectors.
    #[error(
        "{elements} elements for {n} coefficients, expected blocks of a multiple of {lanes} for each"
    )]
    Elements {
        /// Number of coefficients.
        n: usize,
        /// Number of elements.
        elements: usize,
        /// Lanes of a vector.
        lanes: usize,
    },
}
