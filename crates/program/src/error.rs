//! Errors of the `program` layer.

use thiserror::Error;

/// Result of the `program` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a program, circuit, recording or trace is rejected.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The text is not the JSON form of a program or circuit.
    #[error("this is no program: {0}")]
    Json(String),
    /// The text was written by another version.
    #[error("the format is {found}, expected {expected}")]
    Format {
        /// Format found.
        found: String,
        /// Format expected.
        expected: String,
    },
    /// The parameters contradict each other.
    #[error("parameters: {what} is {found}, expected {expected}")]
    Parameters {
        /// Name of the parameter.
        what: &'static str,
        /// Value of the parameter, as text.
        found: String,
        /// The values that agree with the other parameters, as text.
        expected: String,
    },
    /// A value of a constant is no residue.
    #[error("constant @{id}: value {index} is {found}, expected -{bound} to {bound}")]
    Constant {
        /// Index of the constant.
        id: usize,
        /// Index of the value.
        index: usize,
        /// Value found.
        found: i64,
        /// Largest absolute value allowed.
        bound: u64,
    },
    /// The numbers of a circuit's constant are wrong.
    #[error("constant @{id}: {what} is {found}, expected {expected}")]
    CircuitConstant {
        /// Index of the constant.
        id: usize,
        /// Name of the number that is wrong, such as "the number of values" or "value 3".
        what: String,
        /// The number, as text.
        found: String,
        /// The numbers that are allowed, as text.
        expected: String,
    },
    /// A builder of circuits got an input of a shape that it cannot handle.
    #[error("{what} is {found}, expected {expected}")]
    Shape {
        /// Name of the quantity of the input that is wrong, such as "the number of baby steps".
        what: &'static str,
        /// The value of the quantity, as text.
        found: String,
        /// The values that the builder can handle, as text.
        expected: String,
    },
    /// A step breaks a rule.
    #[error("step %{step} ({op}): {what} is {found}, expected {expected}")]
    Step {
        /// Number of the step.
        step: usize,
        /// Operation of the step.
        op: &'static str,
        /// Name of the part of the step that breaks the rule, such as "an operand".
        what: &'static str,
        /// The value of that part, as text.
        found: String,
        /// The values that the rule allows, as text.
        expected: String,
    },
    /// An operation that takes a level was applied to a value that has none left.
    #[error(
        "{op} needs level 1 or above, the value is at level 0: use fewer products in a row or more levels"
    )]
    NoLevel {
        /// Name of the operation.
        op: &'static str,
    },
    /// A trace breaks a rule.
    #[error(transparent)]
    Trace(trace::Error),
    /// A circuit on messages of TFHE or on samples breaks a rule.
    #[error("{place}: {what} is {found}, expected {expected}")]
    Torus {
        /// Place of the error.
        place: String,
        /// Name of the part of that place that breaks the rule.
        what: String,
        /// The value of that part, as text.
        found: String,
        /// The values that the rule allows, as text.
        expected: String,
    },
    /// A line of a table cannot be read.
    #[error("line {line}: {what} is {found}, expected {expected}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// Name of the part of the line that cannot be read.
        what: &'static str,
        /// The text of that part.
        found: String,
        /// The texts that can be read, in words.
        expected: String,
    },
    /// A recording breaks a rule, or a step of a recording has no counterpart in another format.
    #[error("{location}: {what} is {found}, expected {expected}")]
    Recorded {
        /// Place of the error.
        location: Box<trace::Location>,
        /// Name of the part of that place that breaks the rule or has no counterpart.
        what: String,
        /// The value of that part, as text.
        found: String,
        /// The values that are allowed, as text.
        expected: String,
    },
}

/// The text of another version is always [`Error::Format`], whatever the text describes.
impl From<trace::Error> for Error {
    fn from(error: trace::Error) -> Self {
        match error {
            trace::Error::Format { found, expected } => Self::Format { found, expected },
            other => Self::Trace(other),
        }
    }
}
