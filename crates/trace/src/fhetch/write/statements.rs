//! Operations that take several statements.

use super::body::{BodyWriter, Limbwise, Place, Variable};
use crate::ir::{Domain, ModulusId, Type, ValueId};
use crate::limbs::Limbs;
use crate::reading::{Checked, Problem};
use std::collections::BTreeMap;

/// Largest number of terms of a sum in one statement. A reader nests them.
const TERMS: usize = 32;

impl BodyWriter<'_, '_> {
    pub(super) fn binary(
        &mut self,
        ty: &Type,
        values: [ValueId; 2],
        (operator, function): (&str, &str),
    ) -> Place {
        if ty.domain == Domain::Eval {
            let [left, right] = values.map(|value| self.operand(value));
            return self.define(&format!("{left} {operator} {right}"), &ty.limbs);
        }
        let right = self.vectors(values[1]);
        self.limbwise(ty, values[0], |left, limb, q| {
            format!("{function}({left}, {}, {q})", right[&limb])
        })
    }

    pub(super) fn dot(&mut self, left: &[ValueId], right: &[ValueId], limbs: &Limbs) -> Place {
        let mut terms = Vec::with_capacity(left.len());
        for (&left, &right) in left.iter().zip(right) {
            terms.push(format!("{} * {}", self.operand(left), self.operand(right)));
        }
        let variable = self.variable();
        for (index, terms) in terms.chunks(TERMS).enumerate() {
            let before = match index {
                0 => String::new(),
                _ => format!("v{variable} + "),
            };
            self.line(&format!("var v{variable} = {before}{};", terms.join(" + ")));
        }
        self.limbs_of(variable, limbs)
    }

    /// Writes a value whose limbs are `statement(vector, limb, q)` of the operand's limbs.
    pub(super) fn limbwise(
        &mut self,
        ty: &Type,
        value: ValueId,
        statement: impl Fn(&str, ModulusId, u64) -> String,
    ) -> Place {
        match self.place(value).clone() {
            Place::Eval(limbs) => {
                let vectors = limbs.into_iter().map(|(limb, of)| {
                    let vector = self.get(limb, of);
                    (limb, statement(&vector, limb, self.q(limb)))
                });
                let vectors: Vec<_> = vectors.collect();
                let variable = self.collect(vectors.into_iter());
                self.limbs_of(variable, &ty.limbs)
            }
            Place::Coeff(vectors) => {
                let variable = self.variable();
                let new = vectors.into_iter().map(|(limb, vector)| {
                    let (name, q) = (format!("v{variable}_{limb}"), self.q(limb));
                    let statement = statement(&vector, limb, q);
                    self.line(&format!("var {name} = {statement};"));
                    (limb, name)
                });
                Place::Coeff(new.collect())
            }
        }
    }

    /// Makes a new variable from transformed vectors.
    pub(super) fn transformed(&mut self, vectors: &BTreeMap<ModulusId, String>) -> Variable {
        let values = vectors.iter().map(|(&limb, vector)| {
            let q = self.q(limb);
            (limb, format!("sr_NTT({vector}, {q})"))
        });
        let values: Vec<_> = values.collect();
        self.collect(values.into_iter())
    }

    /// Writes the vectors of coefficients.
    pub(super) fn coefficients(&mut self, limbs: &Limbwise) -> Place {
        let variable = self.variable();
        let vectors = limbs.iter().map(|(&limb, &of)| {
            let (name, q) = (format!("v{variable}_{limb}"), self.q(limb));
            let vector = self.get(limb, of);
            self.line(&format!("var {name} = sr_iNTT({vector}, {q});"));
            (limb, name)
        });
        Place::Coeff(vectors.collect())
    }

    /// Writes a conversion whose operand or result is not transformed. The text transforms it and
    /// back.
    pub(super) fn convert(&mut self, value: ValueId, to: &Limbs) -> Checked<Place> {
        let vectors = self.vectors(value);
        let n = self.trace.n as u64;
        let mut all = vectors.keys().copied().chain(to.iter());
        if let Some(limb) = all.find(|&limb| self.q(limb) % (2 * n) != 1) {
            let expected = format!("1 modulo {}, as BaseExtend is of values at roots", 2 * n);
            return Err(Problem::new(
                format!("modulus {limb}"),
                self.q(limb),
                expected,
            ));
        }
        let from = Limbs::new(vectors.keys().map(|&limb| limb..limb + 1));
        let variable = self.transformed(&vectors);
        let limbs = from.iter().map(|limb| (limb, variable)).collect();
        let Place::Eval(extended) = self.extend(&limbs, to) else {
            unreachable!("extended values are values");
        };
        Ok(self.coefficients(&extended))
    }
}
