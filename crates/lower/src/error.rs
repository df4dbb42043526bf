//! Errors of the `lower` layer.

use thiserror::Error;

/// Result of the `lower` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a recording has no trace.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The trace breaks a rule.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// The parameters are none.
    #[error(transparent)]
    Rlwe(#[from] rlwe::Error),
    /// A trace is not that of a recording.
    #[error(
        "the trace is another program's or was changed: {part} is {found}, expected {expected}"
    )]
    Differs {
        /// The first part that differs.
        part: String,
        /// What stands there.
        found: String,
        /// What the recording gives.
        expected: String,
    },
    /// An operation that cannot be.
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
}
