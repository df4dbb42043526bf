//! Bootstrapping, and parts that repeat.

use super::{AutoBuilder, OperandId};
use crate::circuit::bootstrapping::Bootstrapping;
use crate::circuit::infer::same_scale;
use crate::circuit::ir::{Circuit, Type};
use crate::circuit::linear::shape;
use crate::error::Result;
use std::collections::BTreeMap;

impl AutoBuilder {
    /// States the bootstrapping of the circuit, as
    /// [`CircuitBuilder::set_bootstrapping`](crate::circuit::CircuitBuilder::set_bootstrapping)
    /// does. The bootstrapping must lead from the scale of level 0 to the scale of the level of its
    /// results.
    ///
    /// # Errors
    /// The errors of `CircuitBuilder::set_bootstrapping`, and [`Error::Shape`](crate::Error::Shape)
    /// for a bootstrapping between other scales.
    pub fn set_bootstrapping(&mut self, bootstrapping: Bootstrapping) -> Result<()> {
        let scales = [0, bootstrapping.level].map(|level| self.scales.get(level));
        let own = [bootstrapping.from_scale, bootstrapping.to_scale];
        for (scale, own) in scales.into_iter().zip(own) {
            if !scale.is_some_and(|&scale| same_scale(own, scale)) {
                let found = format!("2^{:.6}", own.log2());
                return Err(shape(
                    "a scale of bootstrapping",
                    found,
                    "that of its level",
                ));
            }
        }
        self.b.set_bootstrapping(bootstrapping)
    }

    /// Bootstraps `x` to the level of the circuit's
    /// [bootstrapping](AutoBuilder::set_bootstrapping). Slots must be below 1.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for a plaintext, [`Error::Step`](crate::Error::Step)
    /// if no bootstrapping was stated.
    pub fn bootstrap(&mut self, x: OperandId) -> Result<OperandId> {
        let value = self.ciphertext("a bootstrapped operand", x)?;
        let value = self.settled_at(value, 0)?;
        let made = self.b.bootstrap(value)?;
        Ok(self.result(made, false))
    }

    /// Repeats `body`, once for each entry of `each`, and returns the `carried` values after the
    /// last iteration: one for each output of the body. The first encrypted inputs of the body are
    /// the carried values. Its other inputs are the operands of an iteration's entry, in the order
    /// in which their names first occur in the body.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for a wrong number of operands, and for a plaintext in
    /// place of a ciphertext or the reverse. The errors of
    /// [`CircuitBuilder::repeat`](crate::circuit::CircuitBuilder::repeat), and an error if an
    /// operand is below the level of its input.
    pub fn repeat(
        &mut self,
        body: &Circuit,
        carried: &[OperandId],
        each: &[Vec<OperandId>],
    ) -> Result<Vec<OperandId>> {
        let count = body.outputs().count();
        if carried.len() != count {
            return Err(shape("the number of carried values", carried.len(), count));
        }
        let mut inputs: Vec<(&str, Type)> = body.inputs().collect();
        let mut taken = Vec::new();
        for _ in 0..count {
            let first = inputs.iter().position(|(_, ty)| ty.encrypted);
            let first = first.ok_or_else(|| {
                shape(
                    "the number of encrypted inputs of a body",
                    taken.len(),
                    count,
                )
            })?;
            taken.push(inputs.remove(first).1);
        }
        let mut numbers = BTreeMap::new();
        for (name, _) in &inputs {
            let next = numbers.len();
            numbers.entry(*name).or_insert(next);
        }
        let mut placed = Vec::new();
        for (&x, ty) in carried.iter().zip(&taken) {
            placed.push(self.of_type(x, *ty)?);
        }
        let mut given = Vec::new();
        for operands in each {
            if operands.len() != numbers.len() {
                let (what, expected) = ("the number of operands of an iteration", numbers.len());
                return Err(shape(what, operands.len(), expected));
            }
            let one = |(name, ty): &(&str, Type)| self.of_type(operands[numbers[name]], *ty);
            given.push(inputs.iter().map(one).collect::<Result<_>>()?);
        }
        let made = self.b.repeat(body, &placed, &given)?;
        Ok(made
            .into_iter()
            .map(|value| self.result(value, false))
            .collect())
    }

    /// Returns an operand as a value of a given type.
    fn of_type(&mut self, x: OperandId, ty: Type) -> Result<usize> {
        match (self.value(x)?, ty.encrypted) {
            (Some(value), true) => self.settled_at(value, ty.level),
            (None, false) => self.place(x, (ty.level, ty.scale)),
            (found, _) => {
                let words = |encrypted| {
                    if encrypted {
                        "a ciphertext"
                    } else {
                        "a plaintext"
                    }
                };
                let (found, expected) = (words(found.is_some()), words(ty.encrypted));
                Err(shape("an operand of a repeated part", found, expected))
            }
        }
    }
}
