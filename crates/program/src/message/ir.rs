//! The types of a circuit on messages.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Format written, and the only one read.
pub(super) const FORMAT: &str = "palladion-messages/1";

/// A value: the number of the step that makes it.
pub type ValueId = usize;

/// What ciphertexts hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Messages {
    /// A bit.
    Bits,
    /// An integer.
    Integers {
        /// Bits of a fresh one: at least 1.
        message_bits: u32,
        /// Bits above them, for sums.
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

    /// Number of values that a table or an output tells apart: messages with their carry.
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

/// A gate of two bits that is false where both are. The others are such a gate and a [`Op::Not`].
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

    /// The gate on plain bits.
    pub fn of(self, x: bool, y: bool) -> bool {
        match self {
            Self::And => x && y,
            Self::AndNot => x && !y,
            Self::NotAnd => !x && y,
            Self::Or => x || y,
            Self::Xor => x != y,
        }
    }

    /// Its name in the text form.
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

/// What a caller gives: messages under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Number of messages; `None` of a single one without a dimension.
    pub count: Option<usize>,
    /// Bits of each: integers of 0 to `2^bits - 1`.
    pub bits: u32,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Op {
    /// A fresh message.
    Input {
        /// Its place in [`Circuit::inputs`].
        input: usize,
        /// Which of its messages.
        place: usize,
    },
    /// A message that everyone knows.
    Constant {
        /// 0 or 1, or an integer.
        value: i64,
    },
    /// The other bit: no bootstrapping.
    Not {
        /// A bit.
        value: ValueId,
    },
    /// A gate: one bootstrapping.
    Gate {
        /// Which.
        gate: Gate,
        /// Left bit.
        left: ValueId,
        /// Right bit.
        right: ValueId,
    },
    /// `yes` where the condition is 1, else `no`: two bootstrappings.
    Choose {
        /// A bit.
        condition: ValueId,
        /// A bit.
        yes: ValueId,
        /// A bit.
        no: ValueId,
    },
    /// `constant + sum factor value`: no bootstrapping.
    Sum {
        /// Added.
        constant: i64,
        /// Factors and integers, at least one.
        terms: Vec<(i64, ValueId)>,
    },
    /// An integer looked up in tables: one bootstrapping for all of them.
    Lookup {
        /// An integer.
        value: ValueId,
        /// Entries, from the least value of its range to the largest. At least one table.
        tables: Vec<Vec<i64>>,
    },
    /// The integer that a table gave.
    Entry {
        /// A lookup.
        lookup: ValueId,
        /// Which of its tables.
        table: usize,
    },
}

/// What a caller gets: messages under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Whether it is one message without a dimension.
    pub single: bool,
    /// The messages, at least one.
    pub values: Vec<ValueId>,
}

/// Operations on messages, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circuit {
    pub(super) format: String,
    /// Its name.
    pub name: String,
    /// What ciphertexts hold.
    pub messages: Messages,
    /// Inputs.
    pub inputs: Vec<Input>,
    /// The operations. Operands are earlier ones.
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

    /// The JSON form.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a circuit has no keys that are not strings")
    }

    /// Number of messages of all inputs.
    pub fn input_count(&self) -> usize {
        self.inputs.iter().map(Input::len).sum()
    }
}

impl Input {
    /// Number of messages.
    pub fn len(&self) -> usize {
        self.count.unwrap_or(1)
    }

    /// Whether there are none, which no verified circuit has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Op {
    /// Name of the operation, as in the text form.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Input { .. } => "input",
            Self::Constant { .. } => "constant",
            Self::Not { .. } => "not",
            Self::Gate { gate, .. } => gate.name(),
            Self::Choose { .. } => "choose",
            Self::Sum { .. } => "sum",
            Self::Lookup { .. } => "lookup",
            Self::Entry { .. } => "entry",
        }
    }

    /// The operands, in order.
    pub fn operands(&self) -> Vec<ValueId> {
        match self {
            Self::Input { .. } | Self::Constant { .. } => Vec::new(),
            Self::Not { value } | Self::Lookup { value, .. } => vec![*value],
            Self::Entry { lookup, .. } => vec![*lookup],
            Self::Gate { left, right, .. } => vec![*left, *right],
            Self::Choose { condition, yes, no } => vec![*condition, *yes, *no],
            Self::Sum { terms, .. } => terms.iter().map(|&(_, value)| value).collect(),
        }
    }

    /// The same operation on other operands.
    pub(super) fn reading(mut self, of: impl Fn(ValueId) -> ValueId) -> Self {
        match &mut self {
            Self::Input { .. } | Self::Constant { .. } => {}
            Self::Not { value } | Self::Lookup { value, .. } => *value = of(*value),
            Self::Entry { lookup, .. } => *lookup = of(*lookup),
            Self::Gate { left, right, .. } => (*left, *right) = (of(*left), of(*right)),
            Self::Choose { condition, yes, no } => {
                (*condition, *yes, *no) = (of(*condition), of(*yes), of(*no));
            }
            Self::Sum { terms, .. } => terms.iter_mut().for_each(|(_, v)| *v = of(*v)),
        }
        self
    }

    /// Bootstrappings that the operation takes.
    pub fn bootstrappings(&self) -> usize {
        match self {
            Self::Gate { .. } | Self::Lookup { .. } => 1,
            Self::Choose { .. } => 2,
            _ => 0,
        }
    }
}
