//! Errors of the `trace` layer.

use crate::location::Location;
use thiserror::Error;

/// Result of the `trace` layer.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a trace is rejected.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The text was written by another version.
    #[error("the format is {found}, expected {expected}")]
    Format {
        /// Format found.
        found: String,
        /// Format expected.
        expected: String,
    },
    /// A trace breaks a rule.
    #[error("{location}: {what} is {found}, expected {expected}")]
    Trace {
        /// Location of the error.
        location: Box<Location>,
        /// Name of the part that breaks the rule, such as "the ring degree".
        what: String,
        /// The value of that part, as text.
        found: String,
        /// The values that the rule allows, as text.
        expected: String,
    },
}
