//! The verifier. In a circuit that it accepts, all steps have types, and the parameters allow an
//! exact product.

use super::ir::{Circuit, Digits, Op, Parameters, ValueId};
use crate::error::{Error, Result};
use std::fmt::Display;
use trace::context::Context;
use trace::reading::{Checked, Problem, check};

/// Largest dimension of the small secret.
const MAX_DIMENSION: usize = 1 << 13;
/// Largest rank.
const MAX_RANK: usize = 64;
/// Largest number of bits of a digit.
const MAX_DIGIT: u32 = 30;

/// Place of an error in a circuit.
pub(super) enum Fault {
    /// A line of its text.
    Line(usize),
    /// The parameters.
    Parameters,
    /// A constant.
    Constant(usize),
    /// A step.
    Step(usize, &'static str),
}

impl Fault {
    pub(super) fn error(&self, problem: Problem) -> Error {
        let [what, found, expected] = problem.into_parts();
        let place = match self {
            Self::Line(line) => format!("line {line}"),
            Self::Parameters => "parameters".into(),
            Self::Constant(id) => format!("constant @{id}"),
            Self::Step(id, op) => format!("step %{id} ({op})"),
        };
        Error::Torus {
            place,
            what,
            found,
            expected,
        }
    }
}

impl Circuit {
    /// Checks parameters, constants and every step.
    ///
    /// - Words have 32 or 64 bits. The ring degree is a power of two from 16 to `2^17`. Digits keep
    ///   fewer bits than words have.
    /// - Constants have `N` words.
    /// - Every operand is an earlier step with a result that the operation takes.
    ///
    /// # Errors
    /// [`Error::Torus`] with the first place that breaks a rule.
    pub fn verify(&self) -> Result<()> {
        let fault = |fault: Fault| move |problem| fault.error(problem);
        let p = &self.parameters;
        let mut context = p.check().map_err(fault(Fault::Parameters))?;
        for (id, constant) in self.constants.iter().enumerate() {
            let added = context.add_constant(constant);
            let words = added.and_then(|()| context.words(id));
            words.map_err(fault(Fault::Constant(id)))?;
        }
        for (id, op) in self.steps.iter().enumerate() {
            let checked = self.check_step(&context, id, op);
            checked.map_err(fault(Fault::Step(id, op.name())))?;
        }
        Ok(())
    }

    fn check_step(&self, context: &Context, id: ValueId, op: &Op) -> Checked<()> {
        for value in op.operands() {
            let expected = || format!("an earlier step: below %{id}");
            let made = value < id;
            check(made, "an operand", format_args!("%{value}"), expected)?;
            let (found, own) = (self.steps[value].ty(), op.operand_ty());
            let what = format_args!("the type of %{value}");
            check(found == own, what, found, || own.to_string())?;
        }
        let p = &self.parameters;
        match op {
            Op::Combine { terms, .. } => {
                let found = terms.len();
                check(found > 0, "the number of terms", found, || "at least 1")
            }
            &Op::ModulusSwitch { drop, .. } => {
                below("the number of bits dropped", drop, p.exponent_bits())
            }
            Op::BlindRotation { test, .. } => context.words(*test).map(|_| ()),
            &Op::Extraction { place, .. } => below("the coefficient", place, p.n),
            Op::Input { .. } | Op::KeySwitch { .. } | Op::Output { .. } => Ok(()),
        }
    }
}

impl Parameters {
    fn check(&self) -> Checked<Context> {
        let context = Context::new(self.n)?;
        let bits = self.word_bits;
        let fits = bits == 32 || bits == 64;
        check(fits, "the size of a word", bits, || "32 or 64 bits")?;
        let sizes = [
            (
                "the dimension of the small secret",
                self.dimension,
                MAX_DIMENSION,
            ),
            ("the rank", self.rank, MAX_RANK),
        ];
        for (what, found, most) in sizes {
            let fits = (1..=most).contains(&found);
            check(fits, what, found, || format!("1 to {most}"))?;
        }
        self.bootstrap.check("an external product's", bits)?;
        self.key_switch.digits().check("the key switch's", bits)?;
        Ok(context)
    }
}

impl Digits {
    fn check(self, whose: &str, word_bits: u32) -> Checked<()> {
        let fits = (1..=MAX_DIGIT).contains(&self.bits);
        let what = format!("the bits of {whose} digits");
        let expected = || format!("1 to {MAX_DIGIT}");
        check(fits, what, self.bits, expected)?;
        let what = format!("the number of {whose} digits");
        check(self.count > 0, what, self.count, || "at least 1")?;
        below(
            &format!("the bits of all {whose} digits"),
            self.kept(),
            word_bits,
        )
    }
}

fn below<T: PartialOrd + Display>(what: &str, found: T, bound: T) -> Checked<()> {
    let fits = found < bound;
    check(fits, what, found, || format!("below {bound}"))
}
