//! Errors of the `exchange` layer.

use rlwe::bytes::{BytesError, Fingerprint};
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
    /// An output could not be written.
    #[error("cannot write: {0}")]
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
