//! Reads a text as a trace: first its constants, ring and moduli, then its functions, starting with
//! `main`.

mod builtins;
mod calls;
mod convert;
mod eval;
mod expr;
mod lex;
mod limbs;
mod parse;
mod syntax;
mod value;

use self::eval::Reader;
use self::lex::tokens;
use self::parse::source;
use self::syntax::{ExprKind, Source, Statement};
use self::value::{Value, constant};
use crate::TraceBuilder;
use crate::error::{Error, Result};
use crate::ir::Trace;
use crate::location::Part;
use crate::reading::Problem;
use std::collections::HashMap;

type Globals<'a> = HashMap<&'a str, Value>;

/// See [`Trace::from_fhetch`].
pub(super) fn read(text: &str) -> Result<Trace> {
    let tokens = tokens(text).map_err(place)?;
    let source = source(&tokens).map_err(place)?;
    let (globals, mut primes) = globals(&source)?;
    let roots = roots(&source, &globals);
    primes.extend(roots.iter().map(|&(line, _, q)| (line, q)));
    let (line, n) = ring(&source, &roots)?;
    let degree = usize::try_from(n).unwrap_or(0);
    let mut builder = TraceBuilder::new(degree, &[]).map_err(|error| at(line, error))?;
    for (line, q) in primes {
        // A number that does not fit in a word becomes 0, which the table does not accept either.
        let q = u64::try_from(q).unwrap_or(0);
        builder.modulus(q).map_err(|error| at(line, error))?;
    }
    let mut functions = HashMap::new();
    for function in &source.functions {
        if functions.insert(function.name, function).is_some() {
            let found = format!("`{}`", function.name);
            let expected = "one that no function before it has";
            let problem = Problem::new("the name of a function", found, expected);
            return Err(place((function.line, problem)));
        }
    }
    let last = tokens.last().map_or(1, |token| token.line);
    Reader::new(globals, functions).main(&mut builder.main(), last)?;
    builder.finish().map_err(|error| at(last, error))
}

/// Constants by name, and all moduli among them with their lines.
fn globals<'a>(source: &Source<'a>) -> Result<(Globals<'a>, Vec<(usize, i128)>)> {
    let (mut globals, mut primes) = (Globals::new(), Vec::new());
    for global in &source.globals {
        let value = constant(&global.value, &globals).map_err(place)?;
        match &value {
            Value::Number(q) if global.primes => primes.push((global.line, *q)),
            Value::Numbers(all) if global.primes => {
                primes.extend(all.iter().map(|&q| (global.line, q)));
            }
            other if global.primes => {
                let problem = other.wrong("a constant of primes", "numbers");
                return Err(place((global.line, problem)));
            }
            _ => {}
        }
        if globals.insert(global.name, value).is_some() {
            let found = format!("`{}`", global.name);
            let expected = "one that no constant before it has";
            let problem = Problem::new("the name of a constant", found, expected);
            return Err(place((global.line, problem)));
        }
    }
    Ok((globals, primes))
}

/// Lines, ring degrees and moduli of the roots that the text sets with constants.
fn roots(source: &Source, globals: &Globals) -> Vec<(usize, i128, i128)> {
    let statements = source.functions.iter().flat_map(|function| &function.body);
    let root = |statement: &Statement| match &statement.value.kind {
        ExprKind::Call("sr_set_rou", arguments) => {
            let mut numbers = arguments.iter().map(|e| constant(e, globals));
            match (numbers.next()?.ok()?, numbers.next()?.ok()?) {
                (Value::Number(n), Value::Number(q)) => Some((statement.line, n, q)),
                _ => None,
            }
        }
        _ => None,
    };
    statements.filter_map(root).collect()
}

/// The ring degree and the line that states it: from the roots if there are any, otherwise from the
/// types.
fn ring(source: &Source, roots: &[(usize, i128, i128)]) -> Result<(usize, i128)> {
    if let Some(&(line, n, _)) = roots.first() {
        return Ok((line, n));
    }
    let Some(&(line, n)) = source.lengths.first() else {
        let found = "not stated";
        let expected = "a call of sr_set_rou, or a type MRP<u32, N, Q>";
        return Err(place((1, Problem::new("the ring degree", found, expected))));
    };
    match source.lengths.iter().find(|length| length.1 != n) {
        None => Ok((line, n)),
        Some(&(line, other)) => {
            let expected = format!("{n}, as in the first type");
            Err(place((
                line,
                Problem::new("the length of a polynomial", other, expected),
            )))
        }
    }
}

/// Makes the error for a problem on a line.
fn place((line, problem): (usize, Problem)) -> Error {
    problem.at(Some(line), Part::Text)
}

/// Adds the line from which it comes to an error of the trace.
fn at(line: usize, error: Error) -> Error {
    match error {
        Error::Trace {
            mut location,
            what,
            found,
            expected,
        } => {
            location.line = location.line.or(Some(line));
            Error::Trace {
                location,
                what,
                found,
                expected,
            }
        }
        other => other,
    }
}
