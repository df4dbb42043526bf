//! The text of a trace. It names the trace's program, so that only keys and queries of that program
//! are used with it.

use crate::error::Result;
use exchange::Exchange;
use executor::Error;
use trace::Trace;

/// Returns the text of a trace. A comment in it has the terms on which keys and queries of its
/// program are exchanged.
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

/// Prefix of the comment that has the terms of a trace's program.
const TERMS: &str = "# of ";
