//! Errors of the schemes.

use thiserror::Error;

/// Result of the schemes.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors in parameters, keys, values and operands. [`Error::kind`] tells what to do about an
/// error.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the ring: insecure parameters, levels, identities of keys, damaged bytes.
    #[error(transparent)]
    Rlwe(#[from] rlwe::Error),
    /// An error of CKKS.
    #[error(transparent)]
    Ckks(#[from] ::ckks::Error),
    /// An error of BFV or BGV.
    #[error(transparent)]
    Exact(#[from] ::exact::Error),
    /// An error of a circuit: of a polynomial, a matrix or a table.
    #[error(transparent)]
    Circuits(circuits::Error),
    /// An argument of a call.
    #[error("{what} is {found}, expected {expected}")]
    Argument {
        /// Name of the argument.
        what: &'static str,
        /// Value of the argument, as text.
        found: String,
        /// The values that are possible.
        expected: String,
    },
    /// A value to encrypt, or a plain operand, outside the plaintext space.
    #[error("value {index} is {found}, expected {least} to {most}")]
    Value {
        /// Index of the value.
        index: usize,
        /// The value.
        found: i64,
        /// Smallest value.
        least: i64,
        /// Largest value.
        most: i64,
    },
    /// No parameter set has this name.
    #[error("no parameter set {found:?}, expected one of {expected}")]
    UnknownSet {
        /// The name.
        found: String,
        /// Names of all parameter sets.
        expected: String,
    },
    /// A parameter set of another scheme.
    #[error("{name} is a set of {found}, expected one of {expected}")]
    OtherSet {
        /// Name of the set.
        name: String,
        /// Schemes of the set.
        found: String,
        /// The scheme asked for.
        expected: &'static str,
    },
    /// Too many or too few moduli.
    #[error("{found} moduli, special ones counted, expected 2 to {most} at N = {n}")]
    Moduli {
        /// Number of moduli.
        found: usize,
        /// Largest number.
        most: usize,
        /// Ring degree.
        n: usize,
    },
    /// Parameters of another scheme.
    #[error("parameters of {found}, expected {expected}")]
    OtherScheme {
        /// The parameters.
        found: String,
        /// The scheme expected.
        expected: &'static str,
    },
    /// A ciphertext or keys of other parameters.
    #[error("the {what} is of other parameters: {found}, expected {expected}")]
    OtherParameters {
        /// The object.
        what: &'static str,
        /// Parameters of the object.
        found: String,
        /// The parameters expected.
        expected: String,
    },
    /// Two ciphertexts that hold their messages in different forms.
    #[error("the ciphertext holds {found}, expected {expected} as on the left")]
    OtherPacking {
        /// Form of the right operand.
        found: &'static str,
        /// Form of the left operand.
        expected: &'static str,
    },
    /// A ciphertext without keys.
    #[error("the ciphertext has no keys, expected with_keys(keys) before")]
    NoKeys,
    /// Evaluation keys without the one that is needed.
    #[error("no {what}: found keys of the rotations [{rotations}]{}", if *.conjugation { " and of the conjugation" } else { "" })]
    MissingKey {
        /// The key needed.
        what: String,
        /// The rotations for which there are keys, separated by commas.
        rotations: String,
        /// True if there is a key of the conjugation.
        conjugation: bool,
    },
    /// Evaluation keys without those of bootstrapping.
    #[error(
        "no keys of bootstrapping: found those of products and rotations, expected those of Bootstrapper.keys, or of a circuit that bootstraps"
    )]
    NoBootstrapKeys,
    /// No level is left.
    #[error("{need} levels needed, the ciphertext has {have} left")]
    Level {
        /// Levels needed.
        need: usize,
        /// Levels left.
        have: usize,
    },
}

/// The kind of an error, from which the way out follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument does not fit: another value, or another object.
    Usage,
    /// The parameters are below 128-bit security.
    Security,
    /// No level is left: use longer parameters, fewer products, or bootstrapping.
    Level,
    /// An evaluation key is missing: make keys with it.
    MissingKey,
    /// Keys or ciphertexts belong to different secrets.
    KeyMismatch,
    /// The message is lost in noise, or does not fit its modulus.
    Noise,
    /// Bytes are damaged, or were made for something else.
    Format,
}

impl Error {
    /// The kind of this error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Rlwe(error) => of_rlwe(error),
            Self::Ckks(error) => of_ckks(error),
            Self::Exact(error) => of_exact(error),
            Self::Circuits(circuits::Error::OutOfLevels { .. }) | Self::Level { .. } => {
                ErrorKind::Level
            }
            Self::Circuits(circuits::Error::Exchange(_))
            | Self::NoKeys
            | Self::MissingKey { .. }
            | Self::NoBootstrapKeys => ErrorKind::MissingKey,
            Self::Circuits(_)
            | Self::Argument { .. }
            | Self::Value { .. }
            | Self::UnknownSet { .. }
            | Self::OtherSet { .. }
            | Self::Moduli { .. }
            | Self::OtherScheme { .. }
            | Self::OtherParameters { .. }
            | Self::OtherPacking { .. } => ErrorKind::Usage,
        }
    }

    pub(crate) fn argument(
        what: &'static str,
        found: impl ToString,
        expected: impl ToString,
    ) -> Self {
        Self::Argument {
            what,
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }
}

fn of_rlwe(error: &rlwe::Error) -> ErrorKind {
    use rlwe::Error::{
        Bytes, Insecure, InsecureSparse, KeyMismatch, LevelTooLow, MissingGaloisKey,
    };
    match error {
        Insecure { .. } | InsecureSparse { .. } => ErrorKind::Security,
        LevelTooLow { .. } => ErrorKind::Level,
        MissingGaloisKey { .. } => ErrorKind::MissingKey,
        KeyMismatch(_) => ErrorKind::KeyMismatch,
        Bytes(_) => ErrorKind::Format,
        _ => ErrorKind::Usage,
    }
}

fn of_ckks(error: &::ckks::Error) -> ErrorKind {
    use ::ckks::Error::{Doubtful, LevelExhausted, Lost, Rlwe};
    match error {
        Rlwe(error) => of_rlwe(error),
        LevelExhausted { .. } => ErrorKind::Level,
        Lost { .. } | Doubtful { .. } => ErrorKind::Noise,
        _ => ErrorKind::Usage,
    }
}

fn of_exact(error: &::exact::Error) -> ErrorKind {
    match error {
        ::exact::Error::Rlwe(error) => of_rlwe(error),
        ::exact::Error::NoiseBudget { .. } => ErrorKind::Noise,
        _ => ErrorKind::Usage,
    }
}

/// Errors of a scheme inside a circuit stay those of the scheme.
impl From<circuits::Error> for Error {
    fn from(error: circuits::Error) -> Self {
        match error {
            circuits::Error::Ckks(error) => Self::Ckks(error),
            circuits::Error::Bfv(error) => Self::Exact(error),
            other => Self::Circuits(other),
        }
    }
}

impl From<ring::Error> for Error {
    fn from(error: ring::Error) -> Self {
        Self::Rlwe(error.into())
    }
}

impl From<rlwe::bytes::BytesError> for Error {
    fn from(error: rlwe::bytes::BytesError) -> Self {
        Self::Rlwe(error.into())
    }
}
