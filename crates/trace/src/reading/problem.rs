//! Problems that a check finds before it knows their location.

use crate::error::Error;
use crate::location::{Location, Part};
use std::fmt::Display;

/// A problem: the part named `what` has the value `found`, but should have one of `expected`.
#[derive(Debug)]
pub struct Problem {
    what: String,
    found: String,
    expected: String,
}

/// Result of a check that does not know its place.
pub type Checked<T> = Result<T, Problem>;

impl Problem {
    /// A problem: the part named `what` has the value `found`, but should have one of `expected`.
    pub fn new(what: impl Display, found: impl Display, expected: impl Into<String>) -> Self {
        Self {
            what: what.to_string(),
            found: found.to_string(),
            expected: expected.into(),
        }
    }

    /// Returns the name of the wrong part, its value, and the allowed values.
    pub fn into_parts(self) -> [String; 3] {
        [self.what, self.found, self.expected]
    }

    /// The error of this problem at a location in a trace.
    pub(crate) fn at(self, line: Option<usize>, part: Part) -> Error {
        Error::Trace {
            location: Box::new(Location { line, part }),
            what: self.what,
            found: self.found,
            expected: self.expected,
        }
    }
}

/// Returns a problem unless `ok`. The text of the allowed values is only made if it is needed.
pub fn check<E: Into<String>>(
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
