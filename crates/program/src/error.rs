//! Errors of the `program` layer.

use thiserror::Error;

/// Result of the `program` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a program is rejected.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The text is no program.
    #[error("this is no program: {0}")]
    Json(String),
    /// Written by another version.
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
        /// Parameter.
        what: &'static str,
        /// Value found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A constant with a value that is no residue.
    #[error("constant @{id}: value {index} is {found}, expected -{bound} to {bound}")]
    Constant {
        /// Number of the constant.
        id: usize,
        /// Place of the value.
        index: usize,
        /// Value found.
        found: i64,
        /// Largest magnitude.
        bound: u64,
    },
    /// Numbers of a circuit's constant that cannot stand there.
    #[error("constant @{id}: {what} is {found}, expected {expected}")]
    CircuitConstant {
        /// Number of the constant.
        id: usize,
        /// What is wrong.
        what: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A builder of circuits got a shape it does not do.
    #[error("{what} is {found}, expected {expected}")]
    Shape {
        /// What has a shape.
        what: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A step that cannot be.
    #[error("step %{step} ({op}): {what} is {found}, expected {expected}")]
    Step {
        /// Number of the step.
        step: usize,
        /// Its operation.
        op: &'static str,
        /// What is wrong.
        what: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// An operation that takes a level, on a value that has none left.
    #[error(
        "{op} needs level 1 or above, the value is at level 0: use fewer products in a row or more levels"
    )]
    NoLevel {
        /// The operation.
        op: &'static str,
    },
    /// A trace that cannot be.
    #[error("{place}: {what} is {found}, expected {expected}")]
    Trace {
        /// Where.
        place: Box<crate::trace::Place>,
        /// What is wrong.
        what: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A circuit on messages of TFHE or on samples that cannot be.
    #[error("{place}: {what} is {found}, expected {expected}")]
    Torus {
        /// Where.
        place: String,
        /// What is wrong.
        what: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A line of a table that cannot be read.
    #[error("line {line}: {what} is {found}, expected {expected}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong.
        what: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A recording that cannot be, or a step of one that has no counterpart elsewhere.
    #[error("{place}: {what} is {found}, expected {expected}")]
    Recorded {
        /// Where.
        place: Box<crate::trace::Place>,
        /// What is wrong.
        what: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
}
