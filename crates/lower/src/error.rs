//! Errors of the `lower` layer.

use thiserror::Error;

/// Result of the `lower` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a recording has no trace, or why a trace does not belong to it.
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
        /// What the trace has there.
        found: String,
        /// What the recording gives.
        expected: String,
    },
    /// An operation that cannot be lowered.
    #[error("step %{step} ({op}): {what} is {found}, expected {expected}")]
    Step {
        /// Number of the step.
        step: usize,
        /// Its operation.
        op: &'static str,
        /// Name of what is wrong.
        what: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
}
