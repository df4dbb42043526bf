//! Errors of the `exchange` layer.

use crate::needs::Need;
use rlwe::KeyId;
use rlwe::bytes::{BytesError, Fingerprint, short};
use thiserror::Error;

/// Result of the `exchange` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors in the files that client and server exchange.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The program breaks a rule.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// The parameters name no ring, or are not secure.
    #[error(transparent)]
    Bfv(#[from] bfv::Error),
    /// The bytes of a file are wrong.
    #[error(transparent)]
    Bytes(#[from] BytesError),
    /// Images were encrypted for another input layout.
    #[error(
        "these images were encrypted for other parameters or another input layout: {found}, expected {expected}; encrypt them again with the client's file of this program"
    )]
    Layout {
        /// First bytes of the layout found.
        found: String,
        /// First bytes of the layout expected.
        expected: String,
    },
    /// The program promises nothing of inputs under a public key.
    #[error(
        "this program does not promise its probability of failure for inputs under a public key: compile it again, where `palladion compile` says what they lack, and take its new client's file; or encrypt under the secret"
    )]
    PublicInputs,
    /// Images under a public key, where masks are expanded from seeds.
    #[error(
        "these images are encrypted under a public key, so their masks expand from no seed, as traces and machines other than the CPU need it: run them on the CPU, or encrypt under the secret"
    )]
    PublicMasks,
    /// An answer or a checkpoint belongs to another query than the query beside it.
    #[error("{what} belongs to another query: it names the hash {found}, expected {expected}")]
    OtherQuery {
        /// The file that came with the query, such as "this answer".
        what: &'static str,
        /// First bytes of the query's hash that the file names.
        found: String,
        /// First bytes of the hash of the query beside it.
        expected: String,
    },
    /// The evaluation keys lack a key.
    #[error("the evaluation keys hold no {what}")]
    MissingKey {
        /// Name of the missing key.
        what: &'static str,
    },
    /// The evaluation keys hold no packing key for a layout.
    #[error("no packing key for {values} values")]
    MissingPackingKey {
        /// Values of the layout.
        values: usize,
    },
    /// Keys or ciphertexts are of other parameters.
    #[error(
        "these keys are for other parameters: {what} is {found}, expected {expected}; make keys for this program, or compile it with --profile and these keys"
    )]
    Profile {
        /// The first parameter that differs.
        what: &'static str,
        /// Value of the keys.
        found: String,
        /// Value of the program.
        expected: String,
    },
    /// The evaluation keys lack some that the program needs.
    #[error(
        "the evaluation keys lack {count} of the keys that the program needs, such as {first}: `palladion keygen` makes the missing ones with --secret and --have"
    )]
    MissingKeys {
        /// How many are missing.
        count: usize,
        /// The first of them.
        first: Need,
    },
    /// The life of keys has ended.
    #[error(
        "{what} of key {key} ended their life {} before now: `palladion keys rotate` makes new ones",
        days(.now.saturating_sub(*.expires))
    )]
    Expired {
        /// The keys.
        what: &'static str,
        /// Identity of their secret.
        key: KeyId,
        /// Seconds since 1970 at which their life ended.
        expires: u64,
        /// Seconds since 1970 now.
        now: u64,
    },
    /// The input or the output failed.
    #[error("cannot read or write: {0}")]
    Io(#[from] std::io::Error),
    /// Parameters, terms or keys contradict each other.
    #[error("{what} is {found}, expected {expected}")]
    Shape {
        /// Name of the quantity that is wrong, such as "the number of results".
        what: &'static str,
        /// The value of the quantity, as text.
        found: String,
        /// The values that are allowed, as text.
        expected: String,
    },
}

/// A time in words: days, or hours below two days.
fn days(seconds: u64) -> String {
    let hours = seconds / 3600;
    match hours {
        0..48 => format!("{hours} hours"),
        _ => format!("{} days", hours / 24),
    }
}

impl Error {
    /// Returns the error for `what`, which names the query `found` but was given with the query
    /// `expected`.
    pub fn other_query(what: &'static str, found: &Fingerprint, expected: &Fingerprint) -> Self {
        Self::OtherQuery {
            what,
            found: short(found),
            expected: short(expected),
        }
    }

    /// Returns the error for images of the layout `found`, where `expected` is needed.
    pub(crate) fn other_layout(found: &Fingerprint, expected: &Fingerprint) -> Self {
        Self::Layout {
            found: short(found),
            expected: short(expected),
        }
    }
}

impl From<rlwe::Error> for Error {
    fn from(error: rlwe::Error) -> Self {
        match error {
            rlwe::Error::Bytes(error) => Self::Bytes(error),
            other => Self::Bfv(other.into()),
        }
    }
}
