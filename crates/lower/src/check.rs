//! Checks that a trace belongs to a recording.
//!
//! A trace that was changed may still be well formed but compute something else, for example if two
//! operands of one type are swapped. The check therefore lowers the recording again and compares
//! the result with the trace. This takes seconds.

use crate::error::{Error, Result};
use crate::walk::lower;
use program::recording::Recording;
use trace::{Body, Trace};

/// Checks that a trace is the result of [`lower`] on a recording.
///
/// # Errors
/// [`Error::Differs`] with the first difference, and the errors of [`lower`].
pub fn check(recording: &Recording, trace: &Trace) -> Result<()> {
    compare(trace, &lower(recording)?)
}

/// Checks that a trace equals the expected one. Names of steps do not count.
///
/// # Errors
/// [`Error::Differs`] with the first difference.
pub(crate) fn compare(trace: &Trace, expected: &Trace) -> Result<()> {
    if trace == expected {
        return Ok(());
    }
    let differs = |part: String, found: String, expected: String| Error::Differs {
        part,
        found,
        expected,
    };
    let (found, own) = (trace, expected);
    if found.n != own.n {
        let numbers = [found.n, own.n].map(|n| n.to_string());
        let [found, own] = numbers;
        return Err(differs("the ring degree".into(), found, own));
    }
    if found.moduli != own.moduli {
        let [found, own] = [&found.moduli, &own.moduli].map(|q| format!("{q:?}"));
        return Err(differs("the table of moduli".into(), found, own));
    }
    if found.powers != own.powers {
        let [found, own] = [&found.powers, &own.powers].map(|bits| format!("{bits:?}"));
        return Err(differs("the powers of two".into(), found, own));
    }
    for (id, pair) in pairs(&found.constants, &own.constants).enumerate() {
        if let Some((found, own)) = pair {
            return Err(differs(format!("constant @{id}"), short(found), short(own)));
        }
    }
    let bodies = |trace: &Trace| -> Vec<Body> {
        let bodies = trace.subs.iter().chain([&trace.main]);
        bodies.cloned().collect()
    };
    for (id, pair) in pairs(&bodies(found), &bodies(own)).enumerate() {
        if let Some((found, own)) = pair {
            let (part, found, own) = body_difference(id, found.as_ref(), own.as_ref());
            return Err(differs(part, found, own));
        }
    }
    Ok(())
}

/// Compares two lists item by item: `None` where they agree, and both items where they differ.
fn pairs<'a, T: PartialEq + Clone + 'a>(
    left: &'a [T],
    right: &'a [T],
) -> impl Iterator<Item = Option<(Option<T>, Option<T>)>> + 'a {
    (0..left.len().max(right.len())).map(|i| {
        let (left, right) = (left.get(i), right.get(i));
        (left != right).then(|| (left.cloned(), right.cloned()))
    })
}

/// First difference of two bodies: the part, its text in `found`, and its text in the expected
/// body.
fn body_difference(
    id: usize,
    found: Option<&Body>,
    own: Option<&Body>,
) -> (String, String, String) {
    let (Some(found), Some(own)) = (found, own) else {
        let name = |body: Option<&Body>| body.map_or("none".into(), |body| body.name.clone());
        return (format!("body {id}"), name(found), name(own));
    };
    if found.name != own.name {
        return (format!("body {id}"), found.name.clone(), own.name.clone());
    }
    let mut differences = pairs(&found.instructions, &own.instructions).enumerate();
    let first = differences.find_map(|(index, pair)| pair.map(|pair| (index, pair)));
    match first {
        Some((index, (found, expected))) => {
            let part = format!("instruction {index} of {}", own.name);
            let op = |instruction: Option<trace::Instruction>| {
                short(instruction.map(|instruction| instruction.op))
            };
            (part, op(found), op(expected))
        }
        None => {
            let results = |body: &Body| format!("{:?}", body.results);
            let part = format!("the results of {}", own.name);
            (part, results(found), results(own))
        }
    }
}

/// The first 80 characters of an item as text.
fn short<T: std::fmt::Debug>(item: Option<T>) -> String {
    match item {
        None => "missing".into(),
        Some(item) => format!("{item:?}").chars().take(80).collect(),
    }
}
