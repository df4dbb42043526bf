//! The location of an error in a trace or a recording.

use crate::ir::ConstantId;
use std::fmt::{Display, Formatter};

/// A location in a trace or a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Line of the text form, counted from 1, if it was read from text.
    pub line: Option<usize>,
    /// Part of the trace or recording.
    pub part: Part,
}

/// A part of a trace or a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text that cannot be read.
    Text,
    /// Ring degree and table of moduli.
    Ring,
    /// A constant.
    Constant(ConstantId),
    /// Name, parameters and results of a body.
    Body {
        /// Name of the body.
        name: String,
    },
    /// An instruction.
    Instruction {
        /// Name of the body.
        body: String,
        /// Index of the instruction in its body, counted from 0.
        index: usize,
        /// Name of the operation.
        op: &'static str,
    },
    /// Digits of key switching, plaintext moduli and samples of a recording.
    Parameters,
    /// The keys of a recording.
    Keys,
    /// A packing of a recording.
    Packing(usize),
    /// A step of a recording.
    Step {
        /// Index of the step, counted from 0.
        index: usize,
        /// Name of the operation.
        op: &'static str,
    },
}

impl Display for Location {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) if self.part == Part::Text => write!(f, "line {line}"),
            Some(line) => write!(f, "line {line}, {}", self.part),
            None => self.part.fmt(f),
        }
    }
}

impl Display for Part {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text => f.write_str("text"),
            Self::Ring => f.write_str("ring"),
            Self::Constant(id) => write!(f, "constant @{id}"),
            Self::Body { name } => write!(f, "body {name}"),
            Self::Instruction { body, index, op } => {
                write!(f, "body {body}, instruction {index} ({op})")
            }
            Self::Parameters => f.write_str("parameters"),
            Self::Keys => f.write_str("keys"),
            Self::Packing(id) => write!(f, "packing {id}"),
            Self::Step { index, op } => write!(f, "recorded step %{index} ({op})"),
        }
    }
}
