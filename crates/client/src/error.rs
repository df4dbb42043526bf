//! Errors of the `client` layer.

use thiserror::Error;

/// Result of the `client` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong at the client.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or the parameters are wrong, an answer is of another query, or keys could not be
    /// written.
    #[error(transparent)]
    Exchange(#[from] exchange::Error),
    /// From the scheme.
    #[error(transparent)]
    Bfv(#[from] bfv::Error),
    /// Images or results do not fit the program.
    #[error("{what} is {found}, expected {expected}")]
    Image {
        /// What is wrong.
        what: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// An evaluation key is asked for that the secret cannot make.
    #[error("{what} is {found}, expected {expected}")]
    Key {
        /// What is wrong.
        what: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// The noise left no room: the result is not to be trusted.
    #[error(
        "a result has {margin_bits:.1} bits of margin, expected at least half a bit: its noise reached the modulus, or it is under another key"
    )]
    NoMargin {
        /// Bits of margin.
        margin_bits: f64,
    },
}

impl From<rlwe::bytes::BytesError> for Error {
    fn from(error: rlwe::bytes::BytesError) -> Self {
        Self::Exchange(error.into())
    }
}
