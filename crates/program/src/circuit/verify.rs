//! The verifier: rejects circuits that break a rule or whose results would not decrypt.

use super::build::refused;
use super::infer::{Problem, agrees};
use super::ir::{Arithmetic, Circuit, FORMAT};
use super::op::Op;
use crate::error::{Error, Result};
use std::collections::BTreeSet;

/// Largest number of slots: half of the largest ring degree with a security bound.
pub(super) const MAX_SLOTS: usize = 1 << 16;
/// Largest number of levels.
const MAX_LEVELS: usize = 1 << 8;
/// Bound of plaintext moduli: doubles represent all integers below it exactly.
const MAX_T: u64 = 1 << 53;

impl Circuit {
    /// Checks that every step has the type that it states, that it reads earlier steps only, and
    /// that every value has a use.
    ///
    /// # Errors
    /// [`Error::Format`] for the text of another version. [`Error::Parameters`],
    /// [`Error::CircuitConstant`] or [`Error::Step`] with the first place that breaks a rule.
    pub fn verify(&self) -> Result<()> {
        if self.format != FORMAT {
            return Err(Error::Format {
                found: self.format.clone(),
                expected: FORMAT.into(),
            });
        }
        self.verify_parameters()?;
        self.verify_bodies()?;
        for (id, constant) in self.constants.iter().enumerate() {
            self.verify_constant(id, constant)?;
        }
        let mut names = BTreeSet::new();
        for (index, step) in self.steps.iter().enumerate() {
            let found = self.infer(index, &step.op, step.ty);
            let agreed = found.and_then(|found| agrees(step.ty, found));
            agreed.map_err(|problem| refused(index, &step.op, problem))?;
            if let Op::Input { name } | Op::Output { name, .. } = &step.op
                && !names.insert((step.op.name(), name))
                && !self.is_plain_again(index, name)
            {
                let problem = Problem::new(
                    "the name",
                    format!("{name:?} again"),
                    "a name that is not taken".into(),
                );
                return Err(refused(index, &step.op, problem));
            }
        }
        self.verify_uses()
    }

    pub(super) fn verify_parameters(&self) -> Result<()> {
        let refuse = |what, found: String, expected: String| {
            Err(Error::Parameters {
                what,
                found,
                expected,
            })
        };
        if !self.slots.is_power_of_two() || self.slots > MAX_SLOTS {
            let expected = format!("a power of two up to {MAX_SLOTS}");
            return refuse("the number of slots", self.slots.to_string(), expected);
        }
        if let Arithmetic::Exact { t, .. } = self.arithmetic {
            if !(3..MAX_T).contains(&t) || t.is_multiple_of(2) {
                let expected = format!("an odd number from 3 to {}", MAX_T - 1);
                return refuse("the plaintext modulus", t.to_string(), expected);
            }
            if self.slots < 2 {
                let (found, expected) = (self.slots.to_string(), "two rows of them".into());
                return refuse("the number of slots", found, expected);
            }
        }
        let levels = self.arithmetic.levels();
        if !(1..=MAX_LEVELS).contains(&levels) {
            let expected = format!("1 to {MAX_LEVELS}");
            return refuse("the number of levels", levels.to_string(), expected);
        }
        let mut moduli = (0..levels).map(|level| self.arithmetic.divisor(level));
        if let Some(q) = moduli.find(|q| !(q.is_finite() && *q > 1.0)) {
            let expected = "a finite number above 1".into();
            return refuse("the modulus of a level", q.to_string(), expected);
        }
        match &self.bootstrapping {
            Some(bootstrapping) => bootstrapping.verify(self),
            None => Ok(()),
        }
    }

    /// Returns true if the input at `index` is a plaintext, and so is every other input with its
    /// name.
    fn is_plain_again(&self, index: usize, name: &str) -> bool {
        let mut all = self.inputs().filter(|(other, _)| *other == name);
        matches!(self.steps[index].op, Op::Input { .. }) && all.all(|(_, ty)| !ty.encrypted)
    }

    /// Checks that every computed value has a use. Inputs may be unused, so that a circuit can
    /// follow an interface, and so may results of a repeated part.
    fn verify_uses(&self) -> Result<()> {
        let mut used = vec![false; self.steps.len()];
        for step in &self.steps {
            step.op.operands().into_iter().for_each(|v| used[v] = true);
        }
        let idle = self.steps.iter().zip(used).position(|(step, used)| {
            let may = matches!(
                step.op,
                Op::Input { .. } | Op::Result { .. } | Op::Output { .. }
            );
            !used && !may
        });
        if let Some(index) = idle {
            let problem = Problem::new("the number of uses", "0".into(), "at least 1".into());
            return Err(refused(index, &self.steps[index].op, problem));
        }
        match self.outputs().next() {
            Some(_) => Ok(()),
            None => Err(Error::Parameters {
                what: "the number of outputs",
                found: "0".into(),
                expected: "at least 1".into(),
            }),
        }
    }
}
