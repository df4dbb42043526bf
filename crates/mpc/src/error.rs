//! Errors of the two-party protocols.

use std::io;
use std::ops::RangeInclusive;

use thiserror::Error;

/// Result of the `mpc` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a protocol, of its connection or of its parameters.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection ended, or did not answer in time.
    #[error(
        "the connection to the other party failed while {doing}: {source}. Start again: material \
         that was sent or received is used up"
    )]
    Connection {
        /// This party's action at the time.
        doing: &'static str,
        /// The error of the operating system or of TLS.
        source: io::Error,
    },
    /// A message of the other party does not belong to the protocol.
    #[error(
        "the other party's message is malformed: {found}, expected {expected}. Both parties must \
         run the same version with the same program"
    )]
    Message {
        /// The message that was received.
        found: String,
        /// The message that belongs here.
        expected: String,
    },
    /// The library of oblivious transfers failed.
    #[error("the oblivious transfers failed: {reason}. Start again with fresh material")]
    Transfers {
        /// The library's error.
        reason: String,
    },
    /// TLS refused a certificate, a key or the handshake.
    #[error("TLS: {reason}")]
    Tls {
        /// The faulty item and its fault.
        reason: String,
    },
    /// The material is less than a call needs.
    #[error(
        "{what} are used up: {needed} needed, {left} left. Make material for every call beforehand, \
         by adding up the needs of the protocols"
    )]
    Exhausted {
        /// The kind of material.
        what: String,
        /// Number that the call needs.
        needed: usize,
        /// Number left in the material.
        left: usize,
    },
    /// A number of bits is outside its range.
    #[error("{what} has {found} bits, expected {min} to {max}")]
    Bits {
        /// Name of the item with these bits.
        what: &'static str,
        /// The actual number of bits.
        found: u32,
        /// Smallest number of bits.
        min: u32,
        /// Largest number of bits.
        max: u32,
    },
    /// A range is empty or reversed, or does not fit its modulus.
    #[error("{what} is {low}..={high}, expected {expected}")]
    Range {
        /// Name of the range.
        what: &'static str,
        /// Lower end of the range.
        low: i64,
        /// Upper end of the range.
        high: i64,
        /// Condition on the range.
        expected: String,
    },
    /// A number of values does not fit.
    #[error("{what}: {found} values, expected {expected}")]
    Length {
        /// Name of the list of values.
        what: &'static str,
        /// The actual length.
        found: usize,
        /// The expected length.
        expected: String,
    },
}

impl Error {
    pub(crate) fn range(
        what: &'static str,
        range: &RangeInclusive<i64>,
        expected: impl Into<String>,
    ) -> Self {
        let (low, high) = (*range.start(), *range.end());
        let expected = expected.into();
        Self::Range {
            what,
            low,
            high,
            expected,
        }
    }

    pub(crate) fn message(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Message {
            found: found.into(),
            expected: expected.into(),
        }
    }
}

/// Checks that a number of bits is in a range.
pub(crate) fn check_bits(
    what: &'static str,
    found: u32,
    expected: RangeInclusive<u32>,
) -> Result<()> {
    if expected.contains(&found) {
        Ok(())
    } else {
        Err(Error::Bits {
            what,
            found,
            min: *expected.start(),
            max: *expected.end(),
        })
    }
}
