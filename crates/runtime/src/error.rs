//! Errors of the `runtime` layer.

use rlwe::bytes::Fingerprint;
use thiserror::Error;

/// Result of the `runtime` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong between a program and its answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The program is wrong.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// A circuit did not work out: a key is missing, or parameters do not fit.
    #[error(transparent)]
    Circuits(#[from] circuits::Error),
    /// TFHE did not work out.
    #[error(transparent)]
    Tfhe(#[from] tfhe::Error),
    /// A recording has no trace.
    #[error(transparent)]
    Lower(#[from] lower::Error),
    /// A file is wrong.
    #[error(transparent)]
    Bytes(#[from] rlwe::bytes::BytesError),
    /// An answer or a checkpoint belongs to another query than the one given with it.
    #[error("{what} belongs to another query: it names the hash {found}, expected {expected}")]
    OtherQuery {
        /// What was given beside the query.
        what: &'static str,
        /// First bytes of the hash found.
        found: String,
        /// First bytes of the hash of the query.
        expected: String,
    },
    /// Images do not fit the program.
    #[error("{what} is {found}, expected {expected}")]
    Image {
        /// What is wrong.
        what: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A circuit of homomorphic operations does not fit its parameters or inputs.
    #[error("{what} is {found}, expected {expected}")]
    Circuit {
        /// What is wrong.
        what: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A trace cannot be executed, or was given other values than it asks for.
    #[error("{what} is {found}, expected {expected}")]
    Replay {
        /// What is wrong.
        what: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// An output could not be written.
    #[error("cannot write: {0}")]
    Io(#[from] std::io::Error),
    /// The observer asked to stop.
    #[error("stopped after {done} of {total} steps")]
    Stopped {
        /// Steps done.
        done: usize,
        /// Steps of the program.
        total: usize,
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

impl Error {
    /// The error for `what`, which names the query `found`, beside the query `expected`.
    pub(crate) fn other_query(
        what: &'static str,
        found: &Fingerprint,
        expected: &Fingerprint,
    ) -> Self {
        let words = |hash: &Fingerprint| hash[..6].iter().map(|b| format!("{b:02x}")).collect();
        Self::OtherQuery {
            what,
            found: words(found),
            expected: words(expected),
        }
    }
}

impl From<bfv::Error> for Error {
    fn from(error: bfv::Error) -> Self {
        Self::Circuits(error.into())
    }
}

impl From<ckks::Error> for Error {
    fn from(error: ckks::Error) -> Self {
        Self::Circuits(error.into())
    }
}

impl From<rlwe::Error> for Error {
    fn from(error: rlwe::Error) -> Self {
        match error {
            rlwe::Error::Bytes(error) => Self::Bytes(error),
            other => Self::Circuits(other.into()),
        }
    }
}
