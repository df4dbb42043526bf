//! Errors of the `client` layer.

use thiserror::Error;

/// Result of the `client` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of encryption, decryption and key generation at the client.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or the parameters are wrong, an answer belongs to another query, or keys could not be
    /// written.
    #[error(transparent)]
    Exchange(#[from] exchange::Error),
    /// An error of the scheme.
    #[error(transparent)]
    Bfv(#[from] bfv::Error),
    /// Images or results do not fit the program.
    #[error("{what} is {found}, expected {expected}")]
    Image {
        /// Name of the quantity that does not fit, such as "the number of images".
        what: &'static str,
        /// The value of the quantity, as text.
        found: String,
        /// The values that fit, as text.
        expected: String,
    },
    /// The secret cannot make an evaluation key that was asked for.
    #[error("{what} is {found}, expected {expected}")]
    Key {
        /// Name of the part of the request that is wrong, such as "the level of a key".
        what: &'static str,
        /// The value of that part, as text.
        found: String,
        /// The values that the secret allows, as text.
        expected: String,
    },
    /// The noise left too little margin: the result cannot be trusted.
    #[error(
        "a result has {margin_bits:.1} bits of margin, expected at least {expected_bits:.1}: its noise is larger than the program's can be, or it is under another key"
    )]
    NoMargin {
        /// Bits of margin.
        margin_bits: f64,
        /// Least bits of margin of the program's results.
        expected_bits: f64,
    },
}

impl From<rlwe::Error> for Error {
    fn from(error: rlwe::Error) -> Self {
        Self::Exchange(error.into())
    }
}

impl From<rlwe::bytes::BytesError> for Error {
    fn from(error: rlwe::bytes::BytesError) -> Self {
        Self::Exchange(error.into())
    }
}
