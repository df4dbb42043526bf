//! Errors of TFHE.

use crate::params::Encoding;
use rlwe::bytes::{BytesError, Fingerprint};
use rlwe::security::{Security, TARGET_BITS};
use thiserror::Error;

/// Result of TFHE.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors in parameters, keys, ciphertexts, messages or bytes.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A word cannot be cut into such digits.
    #[error(transparent)]
    Ring(#[from] ring::Error),
    /// The bytes are not a valid object.
    #[error(transparent)]
    Bytes(#[from] BytesError),
    /// Keys or ciphertexts of different secrets.
    #[error(transparent)]
    KeyMismatch(#[from] rlwe::KeyMismatch),
    /// A parameter is out of range, or contradicts another.
    #[error("{what} is {found}, expected {expected}")]
    Parameter {
        /// Name of the parameter.
        what: &'static str,
        /// Value found.
        found: String,
        /// The values allowed, in words.
        expected: String,
    },
    /// The parameters are below the security level that every checked set has.
    #[error("{secret} has {security}, expected {TARGET_BITS} bits: sigma at least {sigma:.3e}")]
    Insecure {
        /// The secret that is too weak.
        secret: &'static str,
        /// Estimated security of the secret.
        security: Security,
        /// The smallest sufficient noise.
        sigma: f64,
    },
    /// The words have another size than those of the parameters.
    #[error("words of {found} bits, the parameters have {expected}")]
    Word {
        /// Bits of the words used.
        found: u32,
        /// Bits of the parameters' words.
        expected: u32,
    },
    /// The multiplier is made for another ring degree.
    #[error("a multiplier for ring degree {found}, the parameters have {expected}")]
    Multiplier {
        /// Degree found.
        found: usize,
        /// Degree expected.
        expected: usize,
    },
    /// A message is outside its space.
    #[error("message {found}, expected at most {limit}")]
    Message {
        /// Message found.
        found: u64,
        /// Largest message.
        limit: u64,
    },
    /// A sum could overflow its carry bits.
    #[error("a value of up to {found}, at most {limit} fits below the padding bit")]
    Carry {
        /// Largest value of the result.
        found: u64,
        /// Largest value that fits.
        limit: u64,
    },
    /// A linear combination has more noise than the parameters were chosen for.
    #[error("noise of {found} bootstrappings added up, the parameters allow {limit}")]
    Noise {
        /// Noise of the result.
        found: u64,
        /// Largest noise.
        limit: u64,
    },
    /// A table has too few or too many entries.
    #[error("a table of {found} entries, expected {expected}")]
    TableLength {
        /// Entries found.
        found: usize,
        /// Entries expected.
        expected: usize,
    },
    /// There are more tables than fit into one bootstrapping.
    #[error("{found} tables in one bootstrapping, expected 1 to {limit}")]
    Tables {
        /// Tables found.
        found: usize,
        /// Largest number.
        limit: usize,
    },
    /// A key or ciphertext was made for other parameters.
    #[error("{what} made for other parameters: fingerprint {found}, expected {expected}")]
    Fingerprint {
        /// The kind of object.
        what: &'static str,
        /// First bytes of the fingerprint found.
        found: String,
        /// First bytes of the fingerprint expected.
        expected: String,
    },
    /// The parameters have another message encoding than the operation needs.
    #[error("parameters for {found:?}, expected ones for {expected}")]
    Encoding {
        /// Encoding found.
        found: Encoding,
        /// Encoding expected.
        expected: &'static str,
    },
    /// The numbers have different lengths.
    #[error("numbers of {left} and {right} blocks, expected one length of at least 1")]
    Blocks {
        /// Blocks of the left operand.
        left: usize,
        /// Blocks of the right operand.
        right: usize,
    },
}

/// Checks that the object named `what` was made for the parameters with the fingerprint `expected`.
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
