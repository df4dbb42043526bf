//! Plaintexts of steps, as factors and as terms.

use super::Walk;
use crate::chain::PlainModulus;
use crate::error::Result;
use crate::plaintext;
use program::recording::{Ciphertext, Message, Plain, Scalar, Type};
use rlwe::DimensionParams;
use trace::{self, Builder, ConstantId, Limbs};

impl<'a> Walk<'a> {
    /// A plaintext as a factor, for a result of type `ty`.
    pub(super) fn factor(
        &mut self,
        b: &mut Builder,
        index: usize,
        (plain, unit): (Plain, u64),
        ty: Ciphertext,
    ) -> Result<trace::ValueId> {
        if let Plain::Integers(constant, by) = plain {
            return Ok(self.integers(b, (constant, by), self.chain.limbs(ty)));
        }
        let (t, row) = self.row(b, index, plain)?;
        let row = plaintext::times(b, row, unit);
        Ok(plaintext::factor(self.chain, b, (t, row), ty.level))
    }

    /// A plaintext as a term, for a result of type `ty`.
    pub(super) fn term(
        &mut self,
        b: &mut Builder,
        index: usize,
        plain: Plain,
        ty: Ciphertext,
    ) -> Result<trace::ValueId> {
        if let Plain::Integers(constant, by) = plain {
            return Ok(self.integers(b, (constant, by), self.chain.limbs(ty)));
        }
        let (_, row) = self.row(b, index, plain)?;
        self.residual_term(b, index, row, ty)
    }

    pub(super) fn residual_term(
        &self,
        b: &mut Builder,
        index: usize,
        row: trace::ValueId,
        ty: Ciphertext,
    ) -> Result<trace::ValueId> {
        let t = self.modulus(index)?;
        let Message::Modulo { factor, .. } = ty.message else {
            unreachable!("a message with a plaintext modulus has a factor");
        };
        let at = (ty.level, factor);
        Ok(plaintext::term(self.chain, b, (t, row), at))
    }

    pub(super) fn integers(
        &mut self,
        b: &mut Builder,
        (constant, by): (ConstantId, Scalar),
        limbs: Limbs,
    ) -> trace::ValueId {
        let (chain, constants) = (self.chain, &self.constants);
        let made = self.integers.entry((constant, by, limbs));
        let make = |(constant, by, limbs): &(ConstantId, Scalar, Limbs)| {
            plaintext::integers(chain, b, (constants[*constant], *by), limbs)
        };
        *made.or_insert_with_key(make)
    }

    /// The coefficients of a plaintext modulo `t`.
    pub(super) fn row(
        &self,
        b: &mut Builder,
        index: usize,
        plain: Plain,
    ) -> Result<(PlainModulus, trace::ValueId)> {
        let t = self.modulus(index)?;
        let (constant, slots) = match plain {
            Plain::Coefficients(constant) | Plain::Integers(constant, _) => (constant, false),
            Plain::Slots(constant) => (constant, true),
            Plain::Rounded {
                value,
                component,
                unit,
            } => {
                let part = self.parts(index, value, 2)?[component.min(1)];
                let row = b.intt(part);
                let row = b.round(row, t.id);
                return Ok((t, plaintext::times(b, row, unit)));
            }
            Plain::Blocks { value, component } => {
                let row = self.samples_of(index, value)?[component.min(1)];
                let gap = b.n() / self.small(index)?.dimension();
                return Ok((t, plaintext::blocks(b, t, (row, gap))));
            }
        };
        let row = plaintext::coefficients(b, t, self.constants[constant]);
        let row = match slots {
            true => plaintext::from_slots(b, t, row),
            false => row,
        };
        Ok((t, row))
    }

    /// The plaintext modulus of a step's message.
    pub(super) fn modulus(&self, index: usize) -> Result<PlainModulus> {
        let found = match self.recording.steps[index].ty {
            Type::Ciphertext(ty) => self.chain.plain_modulus(ty),
            Type::Samples => None,
        };
        found.ok_or_else(|| {
            let expected = "one with a plaintext modulus of the parameters";
            self.wrong(index, "its message", "without one", expected)
        })
    }

    pub(super) fn small(&self, index: usize) -> Result<&'a DimensionParams> {
        self.chain.small().ok_or_else(|| {
            let expected = "those of samples";
            self.wrong(index, "the parameters", "without samples", expected)
        })
    }
}
