//! The text of a trace that names its program, so that keys and queries of that program are taken
//! for no other.

use crate::error::{Error, Result};
use exchange::Exchange;
use program::trace::Trace;

/// The text of a trace, with the terms on which its program's keys and queries are exchanged as a
/// comment.
pub fn trace_to_text(exchange: &Exchange, trace: &Trace) -> String {
    let text = trace.to_string();
    let (header, rest) = text.split_once('\n').unwrap_or((&text, ""));
    format!("{header}\n{TERMS}{}\n{rest}", exchange.to_json())
}

/// Reads the text of a trace.
///
/// # Errors
/// If the terms are missing or wrong, and those of [`Trace::parse`].
pub fn trace_from_text(text: &str) -> Result<(Exchange, Trace)> {
    let trace = Trace::parse(text)?;
    let terms = text.lines().find_map(|line| line.strip_prefix(TERMS));
    let terms = terms.ok_or_else(|| Error::Replay {
        what: "the trace's program".into(),
        found: "missing".into(),
        expected: format!(
            "a line that begins with `{}`, as `palladion lower` writes",
            TERMS.trim_end()
        ),
    })?;
    Ok((Exchange::from_json(terms)?, trace))
}

/// Begins the comment of a trace that has its program's terms.
const TERMS: &str = "# of ";
