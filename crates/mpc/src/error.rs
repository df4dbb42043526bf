//! Errors of the two-party protocols.

use std::io;

use thiserror::Error;

/// A result whose error is of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong between two parties.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection ended, or did not answer in time.
    #[error(
        "the connection to the other party failed while {doing}: {source}. Start again: material \
         that was sent or received is used up"
    )]
    Connection {
        /// What this party was doing.
        doing: &'static str,
        /// What the operating system or TLS says.
        source: io::Error,
    },
    /// The other party sent something that does not belong to the protocol.
    #[error(
        "the other party's message is malformed: {found}, expected {expected}. Both parties must \
         run the same version with the same program"
    )]
    Message {
        /// What was received.
        found: String,
        /// What belongs here.
        expected: String,
    },
    /// The library of oblivious transfers failed.
    #[error("the oblivious transfers failed: {reason}. Start again with fresh material")]
    Transfers {
        /// What the library says.
        reason: String,
    },
    /// TLS refused a certificate, a key or the handshake.
    #[error("TLS: {reason}")]
    Tls {
        /// What is wrong, and with what.
        reason: String,
    },
    /// The material does not suffice.
    #[error(
        "{what} are used up: {needed} needed, {left} left. Make material for every call beforehand, \
         by adding up the needs of the protocols"
    )]
    Exhausted {
        /// The kind of material.
        what: String,
        /// How many a call needs.
        needed: usize,
        /// How many are left.
        left: usize,
    },
    /// A number of bits outside its range.
    #[error("{what} has {found} bits, expected {min} to {max}")]
    Bits {
        /// What has the bits.
        what: &'static str,
        /// How many it has.
        found: u32,
        /// The fewest.
        min: u32,
        /// The most.
        max: u32,
    },
    /// An empty or reversed range, or one that does not fit its modulus.
    #[error("{what} is {low}..={high}, expected {expected}")]
    Range {
        /// What the range is of.
        what: &'static str,
        /// Its lower end.
        low: i64,
        /// Its upper end.
        high: i64,
        /// What a range must be.
        expected: String,
    },
    /// A number of values that does not fit.
    #[error("{what}: {found} values, expected {expected}")]
    Length {
        /// What has the values.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: String,
    },
}

impl Error {
    pub(crate) fn range(
        what: &'static str,
        range: (i64, i64),
        expected: impl Into<String>,
    ) -> Self {
        let (low, high) = range;
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

/// Checks that a number of bits is between `min` and `max`.
pub(crate) fn check_bits(what: &'static str, found: u32, (min, max): (u32, u32)) -> Result<()> {
    if (min..=max).contains(&found) {
        Ok(())
    } else {
        Err(Error::Bits {
            what,
            found,
            min,
            max,
        })
    }
}
