//! Operands of steps: their components, over the limbs that a step needs.

use super::{Lowered, Walk};
use crate::error::{Error, Result};
use program::recording::{Ciphertext, Type, ValueId};
use trace::{self, Builder};

impl Walk<'_> {
    /// The two components of a value over the limbs of `ty`. Other limbs are left out.
    pub(super) fn pair(
        &self,
        b: &mut Builder,
        index: usize,
        value: ValueId,
        ty: Ciphertext,
    ) -> Result<[trace::ValueId; 2]> {
        self.parts(index, value, 2)?;
        let parts = self.components(b, index, value, ty)?;
        Ok([parts[0], parts[1]])
    }

    /// The components of a value over the limbs of `ty`. Other limbs are left out.
    pub(super) fn components(
        &self,
        b: &mut Builder,
        index: usize,
        value: ValueId,
        ty: Ciphertext,
    ) -> Result<Vec<trace::ValueId>> {
        let own = self.ty(index, value)?;
        if own.level < ty.level || own.extended != ty.extended {
            let of = |ty: Ciphertext| match ty.extended {
                true => format!("level {}, extended", ty.level),
                false => format!("level {}", ty.level),
            };
            let (found, expected) = (of(own), format!("at least {}", of(ty)));
            return Err(self.wrong(index, "the level of an operand", &found, &expected));
        }
        let parts = self.parts(index, value, own.components)?;
        let limbs = self.chain.limbs(ty);
        let parts = parts.iter().map(|&part| b.select(part, limbs.clone()));
        Ok(parts.collect())
    }

    pub(super) fn parts(
        &self,
        index: usize,
        value: ValueId,
        count: usize,
    ) -> Result<&[trace::ValueId]> {
        match self.made.get(value) {
            Some(Lowered::Ciphertext(parts)) if parts.len() == count => Ok(parts),
            _ => {
                let found = format!("%{value}");
                let expected = format!("an earlier ciphertext of {count} components");
                Err(self.wrong(index, "an operand", &found, &expected))
            }
        }
    }

    pub(super) fn ty(&self, index: usize, value: ValueId) -> Result<Ciphertext> {
        match self.recording.steps.get(value).map(|step| step.ty) {
            Some(Type::Ciphertext(ty)) if value < index => Ok(ty),
            _ => Err(self.wrong(
                index,
                "an operand",
                &format!("%{value}"),
                "an earlier ciphertext",
            )),
        }
    }

    pub(super) fn wrong(
        &self,
        step: usize,
        what: &'static str,
        found: &str,
        expected: &str,
    ) -> Error {
        Error::Step {
            step,
            op: self.recording.steps[step].op.name(),
            what,
            found: found.into(),
            expected: expected.into(),
        }
    }
}
