//! Errors of the `exchange` layer.

use rlwe::bytes::{BytesError, Fingerprint};
use thiserror::Error;

/// Result of the `exchange` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// An error in what client and server exchange.
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
    /// An answer or a checkpoint belongs to another query than the one given with it.
    #[error("{what} belongs to another query: it names the hash {found}, expected {expected}")]
    OtherQuery {
        /// What was given with the query.
        what: &'static str,
        /// First bytes of the hash found.
        found: String,
        /// First bytes of the hash of the query.
        expected: String,
    },
    /// The evaluation keys lack a key.
    #[error("the evaluation keys hold no {what}")]
    MissingKey {
        /// Which key is missing.
        what: &'static str,
    },
    /// The evaluation keys hold no packing key for a layout.
    #[error("no packing key for {values} values")]
    MissingPackingKey {
        /// Values of the layout.
        values: usize,
    },
    /// An output could not be written.
    #[error("cannot write: {0}")]
    Io(#[from] std::io::Error),
    /// Parameters, terms or keys contradict each other.
    #[error("{what} is {found}, expected {expected}")]
    Shape {
        /// Name of what is wrong.
        what: &'static str,
        /// Value found.
        found: String,
        /// Value expected.
        expected: String,
    },
}

impl Error {
    /// Returns the error for `what`, which names the query `found` but was given with the query
    /// `expected`.
    pub fn other_query(what: &'static str, found: &Fingerprint, expected: &Fingerprint) -> Self {
        let words = |hash: &Fingerprint| hash[..6].iter().map(|b| format!("{b:02x}")).collect();
        Self::OtherQuery {
            what,
            found: words(found),
            expected: words(expected),
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
