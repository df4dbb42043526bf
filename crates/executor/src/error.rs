//! Errors of the `executor` layer.

use std::error::Error as StdError;
use thiserror::Error;

/// Result of the `executor` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a trace was not executed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The trace breaks a rule.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// The trace has no plan for a machine with a store of rows.
    #[error(transparent)]
    Waves(#[from] waves::Error),
    /// A trace cannot be executed, or was given other values than it asks for.
    #[error("{what} is {found}, expected {expected}")]
    Replay {
        /// Name of the part or value that is wrong, such as "modulus 3".
        what: String,
        /// The value of that part, as text.
        found: String,
        /// The values that it may have, as text.
        expected: String,
    },
    /// The observer stopped the run.
    #[error("stopped after {done} of {total} steps")]
    Stopped {
        /// Number of steps done.
        done: usize,
        /// Number of steps of the program.
        total: usize,
    },
    /// A machine failed, or an [outside](crate::Outside) did: a device out of memory, a value of a
    /// checkpoint that is missing.
    #[error(transparent)]
    Other(Box<dyn StdError + Send + Sync>),
}
