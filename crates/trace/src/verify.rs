//! The verifier. In a trace that it accepts, all values have types.

use super::context::Context;
use super::infer::check_name;
use super::ir::{Body, Op, Trace, Type};
use super::steps::check_step;
use crate::error::Result;
use crate::location::Part;
use crate::reading::{Checked, Problem, check};
use std::collections::HashSet;

/// Name of the main body.
pub(super) const MAIN: &str = "main";

/// A problem and its place. Bodies are numbered, the main body last.
pub(super) struct Fault {
    pub(super) site: Site,
    pub(super) problem: Problem,
}

/// A place, given by indices. The parser knows its line.
#[derive(Clone, Copy)]
pub(super) enum Site {
    Ring,
    Moduli,
    Constant(usize),
    Body(usize),
    Results(usize),
    Instruction(usize, usize),
    Step(usize),
}

impl Trace {
    /// Checks ring, constants and every instruction.
    ///
    /// - The ring degree is a power of two from 16 to `2^17`. Moduli are odd, above 1, below `2^60`
    ///   and different. Moduli of limbs in the evaluation domain are 1 modulo `2N`. The crates that
    ///   compute check that moduli are prime. Powers of two are different, from `2^1` to `2^64`.
    /// - Every value is made before its use, and has the type that the operation gives it.
    /// - Names are well formed. Sub-traces have different names, and none is named `main`.
    /// - The main body has no parameters and no results. Only the main body loads, stores, samples
    ///   and expands. It stores no name twice, and loads no name that it stores.
    /// - Steps begin at different instructions, in order, and have names that fit on a line.
    ///
    /// # Errors
    /// [`Error::Trace`](crate::Error::Trace) with the first place that breaks a rule.
    pub fn verify(&self) -> Result<()> {
        self.check()
            .map_err(|fault| fault.problem.at(None, self.part(fault.site)))
    }

    /// The body with an index. The main body is the last.
    fn body(&self, number: usize) -> &Body {
        self.subs.get(number).unwrap_or(&self.main)
    }

    pub(super) fn part(&self, site: Site) -> Part {
        match site {
            Site::Ring | Site::Moduli => Part::Ring,
            Site::Constant(id) => Part::Constant(id),
            Site::Body(body) | Site::Results(body) => Part::Body {
                name: self.body(body).name.clone(),
            },
            Site::Step(_) => Part::Body { name: MAIN.into() },
            Site::Instruction(body, index) => Part::Instruction {
                body: self.body(body).name.clone(),
                index,
                op: self.body(body).instructions[index].op.name(),
            },
        }
    }

    pub(super) fn check(&self) -> std::result::Result<(), Fault> {
        let at = |site| move |problem| Fault { site, problem };
        let mut context = Context::new(self.n).map_err(at(Site::Ring))?;
        for &q in &self.moduli {
            context.add_modulus(q).map_err(at(Site::Moduli))?;
        }
        for &bits in &self.powers {
            context.add_power(bits).map_err(at(Site::Moduli))?;
        }
        for (id, constant) in self.constants.iter().enumerate() {
            let added = context.add_constant(constant);
            added.map_err(at(Site::Constant(id)))?;
        }
        let mut names = HashSet::new();
        for (number, sub) in self.subs.iter().enumerate() {
            check_sub_name(&sub.name)
                .and_then(|()| {
                    let new = names.insert(sub.name.as_str());
                    let expected = || "a name that no sub-trace before it has";
                    check(new, "the name", &sub.name, expected)
                })
                .map_err(at(Site::Body(number)))?;
            let results = check_body(&context, number, sub)?;
            context.add_sub(sub, results);
        }
        let number = self.subs.len();
        check_main(&self.main).map_err(at(Site::Body(number)))?;
        check_body(&context, number, &self.main)?;
        let mut names = Names::default();
        for (index, instruction) in self.main.instructions.iter().enumerate() {
            let named = names.add(&instruction.op);
            named.map_err(at(Site::Instruction(number, index)))?;
        }
        let mut before = None;
        for (place, step) in self.steps.iter().enumerate() {
            let length = self.main.instructions.len();
            check_step(step, before, length).map_err(at(Site::Step(place)))?;
            before = Some(step);
        }
        Ok(())
    }
}

/// Checks everything of a body except its name. Returns the types of its results.
fn check_body(
    context: &Context,
    number: usize,
    body: &Body,
) -> std::result::Result<Vec<Type>, Fault> {
    let at = |site| move |problem| Fault { site, problem };
    let is_main = body.name == MAIN;
    for ty in &body.parameters {
        context.ty(ty).map_err(at(Site::Body(number)))?;
    }
    let mut values: Vec<&Type> = body.parameters.iter().collect();
    for (index, instruction) in body.instructions.iter().enumerate() {
        let found = check_place(is_main, &instruction.op)
            .and_then(|()| context.infer(&values, &instruction.op))
            .and_then(|types| agrees(&instruction.types, &types, values.len()));
        found.map_err(at(Site::Instruction(number, index)))?;
        values.extend(&instruction.types);
    }
    check_results(body, &values).map_err(at(Site::Results(number)))?;
    let results = body.results.iter();
    Ok(results.map(|&value| values[value].clone()).collect())
}

/// Refuses operations that a sub-trace cannot have.
pub(super) fn check_place(is_main: bool, op: &Op) -> Checked<()> {
    let outside = matches!(
        op,
        Op::Load { .. } | Op::Store { .. } | Op::Sample { .. } | Op::Expand { .. }
    );
    check(
        is_main || !outside,
        "the operation",
        op.name(),
        || "one that the main body need not do: sub-traces do not load, store, sample or expand",
    )
}

fn check_results<T>(body: &Body, values: &[T]) -> Checked<()> {
    match body.results.iter().find(|&&value| value >= values.len()) {
        None => Ok(()),
        Some(value) => {
            let expected = format!("a value of the body: a number below %{}", values.len());
            Err(Problem::new("a result", format!("%{value}"), expected))
        }
    }
}

fn check_main(main: &Body) -> Checked<()> {
    let name = format!("{:?}", main.name);
    check(main.name == MAIN, "the name", name, || "main")?;
    let [parameters, results] = [main.parameters.len(), main.results.len()];
    check(
        parameters == 0,
        "the number of parameters",
        parameters,
        || "0 in the main body, which loads",
    )?;
    check(
        results == 0,
        "the number of results",
        results,
        || "0 in the main body, which stores",
    )
}

pub(super) fn check_sub_name(name: &str) -> Checked<()> {
    check_name("the name", name)?;
    check(name != MAIN, "the name", name, || "one other than `main`")
}

/// Checks that an instruction states the types of its results. `first` is the index of its first
/// result.
fn agrees(stated: &[Type], found: &[Type], first: usize) -> Checked<()> {
    let same = stated.len() == found.len();
    check(same, "the number of results", stated.len(), || {
        found.len().to_string()
    })?;
    let mut both = stated.iter().zip(found).enumerate();
    match both.find(|(_, (stated, found))| stated != found) {
        None => Ok(()),
        Some((index, (stated, found))) => {
            let what = format!("the type stated of %{}", first + index);
            Err(Problem::new(what, stated, found.to_string()))
        }
    }
}

/// Names that the main body has loaded and stored so far.
#[derive(Default)]
struct Names<'a> {
    loaded: HashSet<&'a str>,
    stored: HashSet<&'a str>,
}

impl<'a> Names<'a> {
    fn add(&mut self, op: &'a Op) -> Checked<()> {
        match op {
            Op::Load { name, .. } => {
                let expected = || "a name that is not stored before";
                let new = !self.stored.contains(name.as_str());
                check(new, "the name", name, expected)?;
                self.loaded.insert(name);
            }
            Op::Store { name, .. } => {
                let new = !self.loaded.contains(name.as_str()) && self.stored.insert(name);
                let expected = || "a name that is neither loaded nor stored before";
                check(new, "the name", name, expected)?;
            }
            _ => {}
        }
        Ok(())
    }
}
