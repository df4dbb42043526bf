//! Operations with one result that are written as themselves.

use super::body::{BodyWriter, Place};
use crate::fhetch::FILE_END;
use crate::ir::{Domain, Op, Type};
use crate::modular::log_of_five;
use crate::reading::{Checked, Problem};

impl BodyWriter<'_, '_> {
    /// Writes an operation with one result as itself.
    pub(super) fn own(&mut self, op: &Op, ty: &Type) -> Checked<Place> {
        let limbs = &ty.limbs;
        Ok(match op {
            Op::Load { name, .. } => {
                if ty.domain == Domain::Coeff {
                    return Err(coefficients());
                }
                let (base, n) = (self.names.base(limbs), self.trace.n);
                let variable = self.variable();
                self.line(&format!(
                    "var v{variable}: MRP<u32, {n}, {base}> = read_mrp_u32_Q(\"{name}{FILE_END}\", {base});"
                ));
                self.limbs_of(variable, limbs)
            }
            Op::Select { value, .. } => match self.place(*value).clone() {
                Place::Eval(_) => Place::Eval(self.part(*value, limbs)),
                Place::Coeff(mut vectors) => {
                    vectors.retain(|&limb, _| limbs.contains(limb));
                    Place::Coeff(vectors)
                }
            },
            Op::Join(values) => match ty.domain {
                Domain::Eval => Place::Eval(values.iter().flat_map(|&v| self.eval(v)).collect()),
                Domain::Coeff => {
                    Place::Coeff(values.iter().flat_map(|&v| self.vectors(v)).collect())
                }
            },
            Op::Add(left, right) => self.binary(ty, [*left, *right], ("+", "sr_addp")),
            Op::Sub(left, right) => self.binary(ty, [*left, *right], ("-", "sr_subp")),
            Op::Mul(left, right) => self.binary(ty, [*left, *right], ("*", "sr_mulp")),
            Op::Dot { left, right } => self.dot(left, right, limbs),
            Op::Scale { value, factors } => {
                let factor = |limb| limbs.position(limb).map_or(1, |place| factors[place]);
                self.limbwise(ty, *value, |vector, limb, q| {
                    format!("sr_mulp({vector}, {}, {q})", factor(limb))
                })
            }
            Op::Ntt(value) => {
                let vectors = self.vectors(*value);
                let variable = self.transformed(&vectors);
                self.limbs_of(variable, limbs)
            }
            Op::Intt(value) => self.coefficients(&self.eval(*value)),
            Op::Convert { value, to } => self.convert(*value, to)?,
            Op::Automorphism { value, element } => {
                if ty.domain == Domain::Coeff {
                    return Err(coefficients());
                }
                let (n, element) = (self.trace.n, *element);
                // `Rotate` is X -> X^(5^-steps).
                let power = log_of_five(element, n).ok_or_else(|| {
                    let expected = format!("a power of 5 modulo {}, as Rotate has", 2 * n);
                    Problem::new("the element", element, expected)
                })?;
                let (of, steps) = (self.operand(*value), (n / 2 - power) % (n / 2));
                self.define(&format!("Rotate({of}, {steps})"), limbs)
            }
            Op::Constant { constant, .. } => {
                let named = limbs
                    .iter()
                    .map(|limb| (limb, self.names.constant(*constant, limb)));
                Place::Coeff(named.collect())
            }
            Op::Zero { .. } => {
                let zero = self.names.zero();
                let vectors = limbs.iter().map(|limb| (limb, zero.to_owned())).collect();
                match ty.domain {
                    Domain::Coeff => Place::Coeff(vectors),
                    Domain::Eval => {
                        let variable = self.transformed(&vectors);
                        self.limbs_of(variable, limbs)
                    }
                }
            }
            // FHETCH has no form for the others.
            _ => {
                let expected = "one that FHETCH has: arithmetic, transforms, conversions, automorphisms, calls";
                return Err(Problem::new("the operation", op.name(), expected));
            }
        })
    }
}

/// The error for coefficients.
pub(super) fn coefficients() -> Problem {
    let expected = "values in the evaluation domain, as polynomials of FHETCH are";
    Problem::new("what the operation is of", "coefficients", expected)
}
