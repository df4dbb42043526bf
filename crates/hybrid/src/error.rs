//! Errors of the hybrid mode.

use thiserror::Error;

/// Result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of networks, programs, messages and sessions of the hybrid mode.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The network is not well formed.
    #[error(transparent)]
    Network(#[from] network::Error),

    /// A layer's accumulators need more bits than shares can have.
    #[error(
        "layer {layer}: its accumulators need shares of {found} bits, expected at most {most}: \
         quantise with fewer bits, or compile with --mode fhe"
    )]
    Bits {
        /// The layer.
        layer: String,
        /// Bits needed.
        found: u32,
        /// Largest number of bits.
        most: u32,
    },

    /// A layer has an activation that no protocol computes.
    #[error(
        "layer {layer}: {found}, for which the hybrid mode has no protocol, expected a line or a \
         quadratic with clips, such as ReLU or a square: compile with --mode fhe"
    )]
    Activation {
        /// The layer.
        layer: String,
        /// What it has.
        found: &'static str,
    },

    /// No parameters of 128 bits hide a layer's weights.
    #[error(
        "layer {layer}: no ring of 128-bit security floods the noise of {bits}-bit shares to \
         2^-{statistical}: quantise with fewer bits, or compile with --mode fhe"
    )]
    NoParameters {
        /// The layer.
        layer: String,
        /// Bits of its shares.
        bits: u32,
        /// Statistical security asked for.
        statistical: u32,
    },

    /// A term is too wide for every ring.
    #[error(
        "layer {layer}: a window of its convolution spans {found} coefficients, expected at most \
         {most}: use smaller images"
    )]
    Window {
        /// The layer.
        layer: String,
        /// Coefficients of one band.
        found: usize,
        /// Coefficients of the largest ring.
        most: usize,
    },

    /// The other party, the connection to it, or the protocols on shares failed.
    #[error(transparent)]
    Protocol(#[from] mpc::Error),

    /// A file is damaged or of another kind.
    #[error(transparent)]
    File(#[from] rlwe::bytes::BytesError),

    /// A ring that is not as it must be, in a program from outside.
    #[error(transparent)]
    Ring(#[from] ring::Error),

    /// A program is not what this version reads.
    #[error("{what} is {found}, expected {expected}")]
    Program {
        /// Which part.
        what: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },

    /// A message of the other party is not what it must be.
    #[error("{what} from the other party is {found}, expected {expected}: the session ends")]
    Message {
        /// Which message.
        what: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },

    /// Nothing answers at an address.
    #[error("cannot connect to {address}: {reason}")]
    Unreachable {
        /// The address.
        address: String,
        /// What the operating system says.
        reason: String,
    },

    /// A session would take more memory than a party gives it.
    #[error(
        "{inputs} inputs need {needed} MB of material in one session, which has room for {most} \
         inputs: ask for fewer at a time"
    )]
    Memory {
        /// Inputs asked for.
        inputs: u32,
        /// Their material in millions of bytes.
        needed: u64,
        /// Inputs for which there is room.
        most: u32,
    },

    /// The observer ended the session.
    #[error("the session was stopped")]
    Stopped,

    /// The input has the wrong number of values, or a value out of range.
    #[error("the input has {what} {found}, expected {expected}")]
    Input {
        /// Which number.
        what: &'static str,
        /// What was found.
        found: i64,
        /// What was expected.
        expected: String,
    },
}

impl Error {
    pub(crate) fn program(
        what: impl Into<String>,
        found: impl ToString,
        expected: impl ToString,
    ) -> Self {
        Self::Program {
            what: printable(&what.into()),
            found: printable(&found.to_string()),
            expected: expected.to_string(),
        }
    }

    /// The same error, naming the layer.
    pub(crate) fn within(self, layer: &str) -> Self {
        match self {
            Self::Program {
                what,
                found,
                expected,
            } => Self::program(format!("layer {layer}: {what}"), found, expected),
            other => other,
        }
    }

    pub(crate) fn message(
        what: &'static str,
        found: impl ToString,
        expected: impl ToString,
    ) -> Self {
        Self::Message {
            what,
            found: printable(&found.to_string()),
            expected: expected.to_string(),
        }
    }
}

/// Text of the other party for a terminal: what would move the cursor, change colours or turn the
/// direction of writing is written as an escape.
pub fn printable(text: &str) -> String {
    let acts = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match acts(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out
}
