//! Errors of the `rlwe` layer.

use thiserror::Error;

/// Result of the `rlwe` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors in parameters, keys, ciphertexts or their bytes.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The moduli do not define a ring.
    #[error(transparent)]
    Ring(#[from] ring::Error),
    /// The parameters are below the security level that every checked set has.
    #[error("log2(QP) is {log_qp}, at most {limit} gives {lambda}-bit security at N = {n}")]
    Insecure {
        /// log2(QP), rounded up.
        log_qp: u32,
        /// Largest log2(QP). 0 if the table has no entry for N.
        limit: u32,
        /// Security level asked for.
        lambda: u32,
        /// Ring degree.
        n: usize,
    },
    /// A sparse secret that is not known to have the security of every checked set.
    #[error(
        "a secret of weight {weight} over {log_q} bits of moduli at N = {n}, \
         expected a weight of {least} or more over at most {limit} bits"
    )]
    InsecureSparse {
        /// Nonzero coefficients found.
        weight: usize,
        /// Least number of nonzero coefficients.
        least: usize,
        /// log2 of the product of all moduli used with it, rounded up.
        log_q: u32,
        /// Largest log2 of the moduli. 0 if nothing is known for N.
        limit: u32,
        /// Ring degree.
        n: usize,
    },
    /// Key switching needs at least one limb per digit.
    #[error("a digit has {found} limbs, expected 1 to {limbs}")]
    DigitLimbs {
        /// Limbs per digit found.
        found: usize,
        /// Limbs of the whole chain.
        limbs: usize,
    },
    /// Digits of the dimension switch have 1 to 30 bits.
    #[error("a digit of the dimension switch has {found} bits, expected 1 to 30")]
    DigitBits {
        /// Bits per digit found.
        found: u32,
    },
    /// An operation needs more limbs than are left.
    #[error("level {need} needed, the ciphertext is at level {have}")]
    LevelTooLow {
        /// Level needed.
        need: usize,
        /// Level found.
        have: usize,
    },
    /// Two operands are at different levels.
    #[error("operands are at levels {left} and {right}, expected one level")]
    LevelMismatch {
        /// Level of the left operand.
        left: usize,
        /// Level of the right operand.
        right: usize,
    },
    /// A ciphertext has the wrong number of components.
    #[error("the ciphertext has {found} components, expected {expected}")]
    Components {
        /// Components found.
        found: usize,
        /// Components expected.
        expected: usize,
    },
    /// The evaluation keys hold no key for an automorphism.
    #[error("no Galois key for the Galois element {element}")]
    MissingGaloisKey {
        /// The Galois element `g` of `X -> X^g`.
        element: usize,
    },
    /// A key was made for lower levels only.
    #[error("the key switches up to level {have}, level {need} needed")]
    KeyLevel {
        /// Level needed.
        need: usize,
        /// Largest level of the key.
        have: usize,
    },
    /// The LWE dimension does not divide the ring degree.
    #[error("LWE dimension {found} does not divide the ring degree {n}")]
    LweDimension {
        /// Dimension found.
        found: usize,
        /// Ring degree.
        n: usize,
    },
    /// An index of a coefficient or slot is out of range.
    #[error("index {found} of a {what}, expected less than {limit}")]
    Index {
        /// The indexed object.
        what: &'static str,
        /// Index found.
        found: usize,
        /// First index out of range.
        limit: usize,
    },
    /// Keys or ciphertexts of different secrets.
    #[error(transparent)]
    KeyMismatch(#[from] crate::key_id::KeyMismatch),
    /// The bytes are not a valid object.
    #[error(transparent)]
    Bytes(#[from] crate::bytes::BytesError),
}
