//! The parser of the text form.

use super::text::ARGUMENTS;
use super::{Header, Operation, ProgramTrace, Register, Row, Scheme};
use crate::error::{Error, Result};
use std::fmt::Display;
use std::str::FromStr;

/// Number of fields before the arguments of a line.
const FIXED: usize = 4;

/// A problem of a line, as the fields `what`, `found` and `expected` of [`Error::Line`].
type Problem = (&'static str, String, String);

impl ProgramTrace {
    /// Reads the text form.
    ///
    /// # Errors
    /// [`Error::Line`] with the line that cannot be read.
    pub fn parse(text: &str) -> Result<Self> {
        let mut lines = text.split_terminator('\n');
        let first = lines.next().unwrap_or("");
        let mut headers = Header::ALL.into_iter();
        let header = headers.find(|header| header.to_string() == first);
        let header = header.ok_or_else(|| {
            let expected = Header::ALL.map(|header| format!("`{header}`")).join(" or ");
            at(1)(("the header", shown(first), expected))
        })?;
        let mut rows = Vec::new();
        for line in lines {
            rows.push(row(line).map_err(at(rows.len() + 2))?);
        }
        if !text.ends_with('\n') {
            let found = "cut off".into();
            let expected = "a line break after it".into();
            return Err(at(rows.len() + 1)(("the last line", found, expected)));
        }
        Ok(Self { header, rows })
    }
}

/// Makes the error for a problem on a line.
fn at(line: usize) -> impl Fn(Problem) -> Error {
    move |(what, found, expected)| Error::Line {
        line,
        what,
        found,
        expected,
    }
}

fn row(line: &str) -> std::result::Result<Row, Problem> {
    let fields: Vec<&str> = line.split(',').collect();
    let found = fields.len();
    if found < FIXED {
        let expected = "instruction, scheme, ring degree, limbs of keys, then arguments";
        return Err(("the line", shown(line), expected.into()));
    }
    let (fixed, arguments) = fields.split_at(FIXED);
    let operations = Operation::ALL.map(|operation| (operation.name(), operation));
    let operation = named("the instruction", fixed[0], operations)?;
    let scheme = named(
        "the scheme",
        fixed[1],
        Scheme::ALL.map(|s| (s.to_string(), s)),
    )?;
    let (n, key_limbs) = (
        number("the ring degree", fixed[2])?,
        number("the number of limbs of keys", fixed[3])?,
    );
    let [least, most] = operation
        .numbers()
        .map(|count| operation.registers() + count);
    if !(least..=most.min(ARGUMENTS)).contains(&arguments.len()) {
        let found = arguments.len().to_string();
        let expected = match least == most {
            true => format!("{least}, as {} has", operation.name()),
            false => format!("{least} to {most}, as {} has", operation.name()),
        };
        return Err(("the number of arguments", found, expected));
    }
    let (registers, numbers) = arguments.split_at(operation.registers());
    let registers = registers.iter().map(|&word| register(word));
    let numbers = numbers.iter().map(|&word| number("an argument", word));
    Ok(Row {
        operation,
        scheme,
        n,
        key_limbs,
        registers: registers.collect::<std::result::Result<_, _>>()?,
        numbers: numbers.collect::<std::result::Result<_, _>>()?,
    })
}

fn named<N: AsRef<str> + Display, T, const L: usize>(
    what: &'static str,
    word: &str,
    all: [(N, T); L],
) -> std::result::Result<T, Problem> {
    let mut names = Vec::with_capacity(L);
    for (name, value) in all {
        if name.as_ref() == word {
            return Ok(value);
        }
        names.push(name.to_string());
    }
    Err((what, shown(word), names.join(", ")))
}

/// Reads a number in its normal form: without sign and leading zeros.
fn number<T: FromStr + ToString>(
    what: &'static str,
    word: &str,
) -> std::result::Result<T, Problem> {
    let number = word
        .parse()
        .ok()
        .filter(|number: &T| number.to_string() == word);
    number.ok_or_else(|| (what, shown(word), "an integer in decimal digits".into()))
}

fn register(word: &str) -> std::result::Result<Register, Problem> {
    let refused = || {
        let expected = "a register as ct0-2-13: name, polynomials, limbs";
        ("an argument", shown(word), expected.to_owned())
    };
    let mut fields = word.split('-');
    let fields = (fields.next(), fields.next(), fields.next(), fields.next());
    let (Some(name), Some(parts), Some(limbs), None) = fields else {
        return Err(refused());
    };
    let known = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(known) {
        return Err(refused());
    }
    Ok(Register {
        name: name.into(),
        parts: number("the number of polynomials", parts)?,
        limbs: number("the number of limbs", limbs)?,
    })
}

/// The beginning of a word, for errors.
fn shown(word: &str) -> String {
    match word.char_indices().nth(60) {
        None => format!("`{word}`"),
        Some((end, _)) => format!("`{}..`", &word[..end]),
    }
}
