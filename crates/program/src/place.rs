//! Problems of a trace or a recording, and their places.

use crate::error::Error;
use crate::trace::ConstantId;
use std::fmt::{Display, Formatter};

/// A place in a trace or a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
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

impl Display for Place {
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

/// A problem: `what` is `found`, but should be `expected`.
#[derive(Debug)]
pub(crate) struct Problem {
    what: String,
    found: String,
    expected: String,
}

/// Result of a check that does not know its place.
pub(crate) type Checked<T> = Result<T, Problem>;

impl Problem {
    pub(crate) fn new(
        what: impl Display,
        found: impl Display,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            what: what.to_string(),
            found: found.to_string(),
            expected: expected.into(),
        }
    }

    /// Returns what is wrong, what was found, and what was expected.
    pub(crate) fn into_parts(self) -> [String; 3] {
        [self.what, self.found, self.expected]
    }

    /// The error of this problem at a place of a recording.
    pub(crate) fn recorded(self, line: Option<usize>, part: Part) -> Error {
        Error::Recorded {
            place: Box::new(Place { line, part }),
            what: self.what,
            found: self.found,
            expected: self.expected,
        }
    }

    /// The error of this problem at a place of a trace.
    pub(crate) fn at(self, line: Option<usize>, part: Part) -> Error {
        Error::Trace {
            place: Box::new(Place { line, part }),
            what: self.what,
            found: self.found,
            expected: self.expected,
        }
    }
}

/// Refuses unless `ok`. The text of what was expected is only made if it is needed.
pub(crate) fn check<E: Into<String>>(
    ok: bool,
    what: impl Display,
    found: impl Display,
    expected: impl FnOnce() -> E,
) -> Checked<()> {
    if ok {
        return Ok(());
    }
    Err(Problem::new(what, found, expected()))
}
