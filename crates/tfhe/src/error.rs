//! Errors of the scheme.

use crate::params::Layout;
use rlwe::bytes::{BytesError, Fingerprint};
use rlwe::security::{Security, TARGET_BITS};
use thiserror::Error;

/// Result of the scheme.
pub type Result<T> = std::result::Result<T, Error>;

/// What can be wrong with parameters, keys, ciphertexts, messages or bytes.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// Digits that no word can be cut into.
    #[error(transparent)]
    Ring(#[from] ring::Error),
    /// Bytes that are no valid object.
    #[error(transparent)]
    Bytes(#[from] BytesError),
    /// A parameter that cannot stand where it stands, or contradicts another.
    #[error("{what} is {found}, expected {expected}")]
    Parameter {
        /// Name of the parameter.
        what: &'static str,
        /// Value found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// Below the security level that every checked set has.
    #[error("{secret} has {security}, expected {TARGET_BITS} bits: sigma at least {sigma:.3e}")]
    Insecure {
        /// Which secret.
        secret: &'static str,
        /// Estimated security.
        security: Security,
        /// Smallest noise that is enough.
        sigma: f64,
    },
    /// Words of another size than the parameters'.
    #[error("words of {found} bits, the parameters have {expected}")]
    Word {
        /// Bits of the words used.
        found: u32,
        /// Bits of the parameters' words.
        expected: u32,
    },
    /// A multiplier of another ring.
    #[error("a multiplier for ring degree {found}, the parameters have {expected}")]
    Multiplier {
        /// Degree found.
        found: usize,
        /// Degree expected.
        expected: usize,
    },
    /// A message outside of its space.
    #[error("message {found}, expected at most {limit}")]
    Message {
        /// Message found.
        found: u64,
        /// Largest message.
        limit: u64,
    },
    /// A sum that could run over its carry bits.
    #[error("a value of up to {found}, at most {limit} fits below the padding bit")]
    Carry {
        /// Largest value of the result.
        found: u64,
        /// Largest value that fits.
        limit: u64,
    },
    /// A linear combination with more noise than parameters were chosen for.
    #[error("noise of {found} bootstrappings added up, the parameters allow {limit}")]
    Noise {
        /// Noise of the result.
        found: u64,
        /// Largest noise.
        limit: u64,
    },
    /// A table with too few or too many entries.
    #[error("a table of {found} entries, expected {expected}")]
    TableLength {
        /// Entries found.
        found: usize,
        /// Entries expected.
        expected: usize,
    },
    /// More tables than one bootstrapping has room for.
    #[error("{found} tables in one bootstrapping, expected 1 to {limit}")]
    Tables {
        /// Tables found.
        found: usize,
        /// Largest number.
        limit: usize,
    },
    /// A key or ciphertext of other parameters.
    #[error("{what} made for other parameters: fingerprint {found}, expected {expected}")]
    Fingerprint {
        /// What it is.
        what: &'static str,
        /// First bytes of the fingerprint found.
        found: String,
        /// First bytes of the fingerprint expected.
        expected: String,
    },
    /// Parameters of another message layout than the operation's.
    #[error("parameters for {found:?}, expected ones for {expected}")]
    Layout {
        /// Layout found.
        found: Layout,
        /// Layout expected.
        expected: &'static str,
    },
    /// Numbers of different lengths.
    #[error("numbers of {left} and {right} blocks, expected one length of at least 1")]
    Blocks {
        /// Blocks of the left operand.
        left: usize,
        /// Blocks of the right operand.
        right: usize,
    },
}

/// Checks that `what` was made for the parameters with the fingerprint `expected`.
pub(crate) fn same(what: &'static str, found: &Fingerprint, expected: &Fingerprint) -> Result<()> {
    let short = |f: &Fingerprint| f.iter().take(6).map(|b| format!("{b:02x}")).collect();
    if found == expected {
        Ok(())
    } else {
        Err(Error::Fingerprint {
            what,
            found: short(found),
            expected: short(expected),
        })
    }
}
