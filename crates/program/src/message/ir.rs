//! The types of a circuit on messages.

pub use super::ops::Op;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Format that is written. No other format is read.
pub(super) const FORMAT: &str = "palladion-messages/1";

/// A value, given by the number of the step that makes it.
pub type ValueId = usize;

/// The messages that ciphertexts hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Messages {
    /// A bit.
    Bits,
    /// An integer.
    Integers {
        /// Number of bits of a fresh integer: at least 1.
        message_bits: u32,
        /// Number of additional bits, for sums.
        carry_bits: u32,
    },
}

impl Messages {
    /// Number of messages.
    pub fn messages(self) -> i64 {
        match self {
            Self::Bits => 2,
            Self::Integers { message_bits, .. } => 1 << message_bits,
        }
    }

    /// Number of values that a table or an output can distinguish: messages with their carry bits.
    pub fn values(self) -> i64 {
        match self {
            Self::Bits => 2,
            Self::Integers {
                message_bits,
                carry_bits,
            } => 1 << (message_bits + carry_bits),
        }
    }
}

/// A gate of two bits that is false if both are false. All other gates are one of these and a
/// [`Op::Not`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Gate {
    /// `x and y`.
    And,
    /// `x and (not y)`.
    AndNot,
    /// `(not x) and y`.
    NotAnd,
    /// `x or y`.
    Or,
    /// `x != y`.
    Xor,
}

impl Gate {
    /// Every gate.
    pub const ALL: [Self; 5] = [Self::And, Self::AndNot, Self::NotAnd, Self::Or, Self::Xor];

    /// Applies the gate to plain bits.
    pub fn of(self, x: bool, y: bool) -> bool {
        match self {
            Self::And => x && y,
            Self::AndNot => x && !y,
            Self::NotAnd => !x && y,
            Self::Or => x || y,
            Self::Xor => x != y,
        }
    }

    /// Name of the gate in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::AndNot => "and_not",
            Self::NotAnd => "not_and",
            Self::Or => "or",
            Self::Xor => "xor",
        }
    }
}

/// An input: messages that the caller provides under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Name of the input.
    pub name: String,
    /// Number of messages. `None` for a single message without a dimension.
    pub count: Option<usize>,
    /// Number of bits of each message. Integers are from 0 to `2^bits - 1`.
    pub bits: u32,
}

/// An output: messages that the caller gets under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Name of the output.
    pub name: String,
    /// True if it is one message without a dimension.
    pub single: bool,
    /// The messages, at least one.
    pub values: Vec<ValueId>,
}

/// Operations on messages, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circuit {
    pub(super) format: String,
    /// Name of the circuit.
    pub name: String,
    /// The messages that ciphertexts hold.
    pub messages: Messages,
    /// Inputs.
    pub inputs: Vec<Input>,
    /// The operations. Operands are earlier steps.
    pub steps: Vec<Op>,
    /// Outputs.
    pub outputs: Vec<Output>,
}

impl Circuit {
    /// Reads the JSON form, and verifies the circuit.
    ///
    /// # Errors
    /// [`Error::Json`] and those of [`Circuit::verify`].
    pub fn from_json(text: &str) -> Result<Self> {
        let circuit: Self = serde_json::from_str(text).map_err(|e| Error::Json(e.to_string()))?;
        circuit.verify()?;
        Ok(circuit)
    }

    /// Returns the JSON form.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a circuit has no keys that are not strings")
    }

    /// Number of messages in all inputs.
    pub fn input_count(&self) -> usize {
        self.inputs.iter().map(Input::len).sum()
    }
}

impl Input {
    /// Number of messages.
    pub fn len(&self) -> usize {
        self.count.unwrap_or(1)
    }

    /// Returns true if there are none. A verified circuit has at least one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
