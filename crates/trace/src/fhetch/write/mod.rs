//! Writes a trace as a text: constants, then a function for each sub-trace, then `main`.

mod body;
mod names;
mod operation;
mod plan;
mod statements;

use self::body::BodyWriter;
use self::names::Names;
use crate::error::Result;
use crate::ir::{Body, Domain, Trace};
use crate::location::Part;
use crate::modular::least_root;
use crate::reading::{Checked, Problem, check};
use std::fmt::Write;

/// Bound of moduli. Below it, products of two words fit the interpreter's words.
const MAX_MODULUS: u64 = 1 << 31;

/// See [`Trace::to_fhetch`].
pub(super) fn write(trace: &Trace) -> Result<String> {
    trace.verify()?;
    let ring = |problem: Problem| problem.at(None, Part::Ring);
    for (id, &q) in trace.moduli.iter().enumerate() {
        let expected = || "below 2^31, as polynomials of FHETCH are of words of 32 bits";
        check(q < MAX_MODULUS, format!("modulus {id}"), q, expected).map_err(ring)?;
    }
    if let Some(bits) = trace.powers.first() {
        let id = trace.moduli.len();
        let (what, found) = (format!("modulus {id}"), format!("2^{bits}"));
        return Err(ring(Problem::new(
            what,
            found,
            "an odd one, as those of FHETCH are",
        )));
    }
    let mut names = Names::new(trace);
    let mut functions = String::new();
    for (sub, name) in trace.subs.iter().zip(names.functions.clone()) {
        signature(sub).map_err(|problem| {
            let name = sub.name.clone();
            problem.at(None, Part::Body { name })
        })?;
        // Sub-traces without results are not called.
        if !sub.results.is_empty() {
            let statements = BodyWriter::new(trace, sub, &mut names).write()?;
            let parameters: Vec<String> = sub
                .parameters
                .iter()
                .enumerate()
                .map(|(value, ty)| {
                    let base = names.base(&ty.limbs);
                    format!("v{value}: MRP<u32, {}, {base}>", trace.n)
                })
                .collect();
            let parameters = parameters.join(", ");
            let _ = writeln!(functions, "def {name}({parameters}) {{\n{statements}}}\n");
        }
    }
    let main = BodyWriter::new(trace, &trace.main, &mut names).write()?;
    let roots = roots(trace).map_err(ring)?;
    let moduli: Vec<String> = trace.moduli.iter().map(u64::to_string).collect();
    Ok(format!(
        "primes table = [{}];\n{}const ring_dimension: u32 = {};\n\ndef initialize() {{\n{roots}}}\n\n\
         {functions}def main() {{\n    initialize();\n{main}}}\n",
        moduli.join(", "),
        names.definitions(),
        trace.n,
    ))
}

/// Refuses a sub-trace with coefficients as parameters or results.
fn signature(sub: &Body) -> Checked<()> {
    let made = sub.instructions.iter().flat_map(|i| &i.types);
    let types: Vec<_> = sub.parameters.iter().chain(made).collect();
    let results = sub.results.iter().map(|&value| types[value]);
    let mut all = sub.parameters.iter().chain(results);
    match all.find(|ty| ty.domain == Domain::Coeff) {
        None => Ok(()),
        Some(ty) => {
            let expected = "in the evaluation domain, as polynomials of FHETCH are";
            Err(Problem::new("a parameter or result", ty, expected))
        }
    }
}

/// Writes a statement for each modulus that has a root.
fn roots(trace: &Trace) -> Checked<String> {
    let mut text = String::new();
    for &q in &trace.moduli {
        if q % (2 * trace.n as u64) == 1 {
            let root = least_root(trace.n, q)?;
            let _ = writeln!(text, "    sr_set_rou(ring_dimension, {q}, {root});");
        }
    }
    Ok(text)
}
