//! Refusals of streams.

use thiserror::Error;

/// Streams that are malformed, or contradict the machine, the trace or each other.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{place}: {what} is {found}, expected {expected}")]
pub struct Fault {
    /// The stream and the entry, the line or the byte.
    pub place: String,
    /// The part that is wrong.
    pub what: &'static str,
    /// Its value.
    pub found: String,
    /// The values that it may have.
    pub expected: String,
}

impl Fault {
    pub(super) fn new(
        place: impl Into<String>,
        what: &'static str,
        found: impl ToString,
        expected: impl ToString,
    ) -> Self {
        Self {
            place: place.into(),
            what,
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }
}

/// The reason why an execution did not end. `E` is the error of its [`Words`](super::Words).
#[derive(Debug, Error)]
pub enum Failure<E> {
    /// The streams are wrong.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// An input is missing, or an instruction was refused.
    #[error("{0}")]
    Words(E),
    /// The caller asked to stop.
    #[error("the execution was stopped")]
    Stopped,
}
