//! Errors of the `lower` layer.

use thiserror::Error;

/// Result of the `lower` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a recording has no trace, or why a trace does not belong to a recording.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The recording or the trace breaks a rule.
    #[error(transparent)]
    Program(#[from] program::Error),
    /// A trace breaks a rule.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// The parameters of the scheme are wrong.
    #[error(transparent)]
    Rlwe(#[from] rlwe::Error),
    /// A trace differs from that of the recording.
    #[error(
        "the trace is another program's or was changed: {part} is {found}, expected {expected}"
    )]
    Differs {
        /// The first part that differs.
        part: String,
        /// The text of that part in the trace.
        found: String,
        /// The text of that part in the trace that the recording gives.
        expected: String,
    },
    /// An operation that cannot be lowered.
    #[error("step %{step} ({op}): {what} is {found}, expected {expected}")]
    Step {
        /// Number of the step.
        step: usize,
        /// Operation of the step.
        op: &'static str,
        /// Name of the part of the step that is wrong, such as "the level of an operand".
        what: &'static str,
        /// The value of that part, as text.
        found: String,
        /// The values that can be lowered, as text.
        expected: String,
    },
}
