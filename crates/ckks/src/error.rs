//! Errors of the `ckks` layer.

use thiserror::Error;

/// Result of the `ckks` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors in CKKS parameters, messages and operands.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// An error of the `rlwe` layer.
    #[error(transparent)]
    Rlwe(#[from] rlwe::Error),
    /// A level has no moduli, or there is no level.
    #[error("level {level} has no moduli, expected at least one")]
    EmptyLevel {
        /// The level.
        level: usize,
    },
    /// The scale is no finite number above 1.
    #[error("the scale is {found}, expected a finite number above 1")]
    Scale {
        /// Scale found.
        found: f64,
    },
    /// A value that is NaN or infinite.
    #[error("value {index} is {found}, expected a finite number")]
    NotFinite {
        /// Index of the value.
        index: usize,
        /// Value found.
        found: String,
    },
    /// The number of slots is no power of two up to `N/2`.
    #[error("{found} slots, expected a power of two up to {limit}")]
    Slots {
        /// Slots found.
        found: usize,
        /// `N/2`.
        limit: usize,
    },
    /// More values than slots.
    #[error("{found} values in a plaintext, at most {limit} fit")]
    TooManyValues {
        /// Values found.
        found: usize,
        /// Largest number of values.
        limit: usize,
    },
    /// The message times the scale does not fit the modulus.
    #[error("the message takes {found:.1} bits at its scale, level {level} holds {limit:.1}")]
    Overflow {
        /// Bits of the largest coefficient, sign included.
        found: f64,
        /// Bits of the modulus.
        limit: f64,
        /// Level encoded for.
        level: usize,
    },
    /// A message exceeded half of its modulus and wrapped around, so the decrypted message is
    /// another one.
    #[error(
        "the message does not fit its modulus: its largest coefficient takes {found:.1} bits, and {room:.1} fit. Encrypt smaller values, or take parameters whose first modulus is larger"
    )]
    Lost {
        /// log2 of the largest coefficient, from below.
        found: f64,
        /// log2 of the first one that does not fit.
        room: f64,
    },
    /// A message that looks as if it did not fit its modulus.
    #[error(
        "the message does not seem to fit its modulus: what is left of it takes {found:.1} bits, {room:.1} fit, and the sizes of the operands do not show that it is right. Encrypt smaller values, take parameters whose first modulus is larger, or state the size of the result (bounded)"
    )]
    Doubtful {
        /// log2 of the largest coefficient found.
        found: f64,
        /// log2 of the first one that does not fit.
        room: f64,
    },
    /// A bound on a message that is no size, or that does not fit the modulus.
    #[error(
        "the bound on the message is {found}, expected 0 up to {room:.4}, which the modulus holds"
    )]
    Bound {
        /// Bound found.
        found: f64,
        /// The first size that does not fit.
        room: f64,
    },
    /// Addition needs equal scales.
    #[error("operands have the scales 2^{left:.4} and 2^{right:.4}, expected one scale")]
    ScaleMismatch {
        /// log2 of the scale of the left operand.
        left: f64,
        /// log2 of the scale of the right operand.
        right: f64,
    },
    /// No level is left to rescale to.
    #[error(
        "{need} levels needed, the ciphertext has {have} left: use fewer products or bootstrap"
    )]
    LevelExhausted {
        /// Levels needed.
        need: usize,
        /// Levels left.
        have: usize,
    },
    /// An operand is over other moduli.
    #[error(
        "an operand has {found} limbs of N = {n} and moduli of its own, expected the first moduli of these parameters, {expected}"
    )]
    OtherParameters {
        /// Limbs found.
        found: usize,
        /// Degree found.
        n: usize,
        /// Limbs of the levels, and degree.
        expected: String,
    },
    /// A key was made for other parameters.
    #[error("the {what} is of {found}, expected {expected}")]
    OtherKey {
        /// The kind of key.
        what: &'static str,
        /// The key's parameters.
        found: String,
        /// Parameters of the operation.
        expected: String,
    },
    /// A constant at its scale is larger than the modulus.
    #[error(
        "a constant takes {found:.1} bits at its scale, at most {limit:.1} fit below the modulus"
    )]
    Constant {
        /// Bits found.
        found: f64,
        /// Bits that fit.
        limit: f64,
    },
}

impl From<ring::Error> for Error {
    fn from(error: ring::Error) -> Self {
        Self::Rlwe(error.into())
    }
}

impl Error {
    /// The error for a message whose largest coefficient is at least `found`, where those below
    /// `room` fit.
    pub(crate) fn lost(found: f64, room: f64) -> Self {
        Self::Lost {
            found: found.log2(),
            room: room.log2(),
        }
    }
}
