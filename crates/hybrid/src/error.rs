//! Errors of the hybrid mode.

use thiserror::Error;

/// Result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a network, program, message or session of the hybrid mode.
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
        /// Name of the layer.
        layer: String,
        /// Number of bits that the accumulators need.
        found: u32,
        /// Largest number of bits.
        most: u32,
    },

    /// No protocol computes the activation of a layer.
    #[error(
        "layer {layer}: {found}, for which the hybrid mode has no protocol, expected a line or a \
         quadratic with clips, such as ReLU or a square: compile with --mode fhe"
    )]
    Activation {
        /// Name of the layer.
        layer: String,
        /// The layer's activation.
        found: &'static str,
    },

    /// No parameters of 128-bit security hide a layer's weights.
    #[error(
        "layer {layer}: no ring of 128-bit security floods the noise of {bits}-bit shares to \
         2^-{statistical}: quantise with fewer bits, or compile with --mode fhe"
    )]
    NoParameters {
        /// Name of the layer.
        layer: String,
        /// Bits of the layer's shares.
        bits: u32,
        /// Required statistical security in bits.
        statistical: u32,
    },

    /// A term is too wide for every ring.
    #[error(
        "layer {layer}: a window of its convolution spans {found} coefficients, expected at most \
         {most}: use smaller images"
    )]
    Window {
        /// Name of the layer.
        layer: String,
        /// Number of coefficients of one band.
        found: usize,
        /// Number of coefficients of the largest ring.
        most: usize,
    },

    /// The other party, the connection to it, or the protocols on shares failed.
    #[error(transparent)]
    Protocol(#[from] mpc::Error),

    /// A file is damaged or of another kind.
    #[error(transparent)]
    File(#[from] rlwe::bytes::BytesError),

    /// A ring in a program from outside is invalid.
    #[error(transparent)]
    Ring(#[from] ring::Error),

    /// A program is invalid, or of another version.
    #[error("{what} is {found}, expected {expected}")]
    Program {
        /// The wrong part of the program.
        what: String,
        /// The actual value.
        found: String,
        /// The expected value.
        expected: String,
    },

    /// A message of the other party is malformed or unexpected.
    #[error("{what} from the other party is {found}, expected {expected}: the session ends")]
    Message {
        /// Name of the message or of its wrong part.
        what: &'static str,
        /// The actual value.
        found: String,
        /// The expected value.
        expected: String,
    },

    /// No server answers at an address.
    #[error("cannot connect to {address}: {reason}")]
    Unreachable {
        /// The address.
        address: String,
        /// The operating system's error.
        reason: String,
    },

    /// A session would take more memory than a party has for it.
    #[error(
        "{inputs} inputs need {needed} MB of material in one session, which has room for {most} \
         inputs: ask for fewer at a time"
    )]
    Memory {
        /// Number of inputs of the session.
        inputs: u32,
        /// Size of the material for these inputs in millions of bytes.
        needed: u64,
        /// Largest number of inputs of a session.
        most: u32,
    },

    /// The observer ended the session.
    #[error("the session was stopped")]
    Stopped,

    /// The input has the wrong number of values, or a value out of range.
    #[error("the input has {what} {found}, expected {expected}")]
    Input {
        /// The wrong quantity: a count, a number of values, or a value.
        what: &'static str,
        /// The actual value.
        found: i64,
        /// The expected values.
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

    /// The same error, with the name of the layer.
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

/// Text of the other party for a terminal. Control characters, which would move the cursor, change
/// colours or turn the direction of writing, become escapes.
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
