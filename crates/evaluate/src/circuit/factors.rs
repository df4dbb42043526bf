//! The factors of exact messages: the residual of a ciphertext holds its message times a known unit
//! modulo `t`.
//!
//! A product has the product of the factors. A modulus switch divides by the dropped moduli. The
//! terms of a sum must have equal factors. All factors follow from the circuit, but the circuit
//! does not state them: they concern the form of a message, not its content.

use super::exact::ExactScheme;
use super::fold::{Current, Meaning, Values, fold};
use super::unfit;
use crate::error::Result;
use bgv::short_ratio;
use program::circuit::{Change, Circuit, Effect, ValueId};
use std::collections::BTreeMap;

/// Factors of a circuit's values.
pub struct Factors {
    /// Factor of each value.
    pub of: Vec<u64>,
    /// For each sum, the integers that multiply its two terms and give them the same factor.
    pub matched: BTreeMap<ValueId, [i64; 2]>,
}

impl Factors {
    /// The factors of a scheme of approximate arithmetic: 1 for all values.
    pub(super) fn none(circuit: &Circuit) -> Self {
        Self {
            of: vec![1; circuit.steps.len()],
            matched: BTreeMap::new(),
        }
    }

    /// The factors of exact arithmetic. Inputs are fresh.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) for a sum of products whose factors differ.
    pub(super) fn exact(scheme: &impl ExactScheme, circuit: &Circuit) -> Result<Self> {
        let mut meaning = Exact {
            scheme,
            circuit,
            factors: Self {
                of: Vec::with_capacity(circuit.steps.len()),
                matched: BTreeMap::new(),
            },
        };
        fold(circuit, &mut meaning)?;
        Ok(meaning.factors)
    }
}

/// The meaning of operations for factors of exact arithmetic.
struct Exact<'a, E> {
    scheme: &'a E,
    circuit: &'a Circuit,
    /// The factors of the steps so far.
    factors: Factors,
}

impl<E: ExactScheme> Meaning for Exact<'_, E> {
    type Value = u64;

    fn step(&mut self, step: &Current<'_>, values: &mut Values<u64>) -> Result<u64> {
        let params = self.scheme.params();
        let t = params.t();
        let of = |value: ValueId| *values.get(value);
        let factor = match step.effect {
            Effect::Input { .. } if step.ty.encrypted => self.scheme.unit_factor(step.ty.level),
            // Plaintexts have factor 1.
            Effect::Input { .. } | Effect::Constant { .. } => 1,
            Effect::Sum { left, right, .. } => {
                let (a, b) = (of(left), of(right));
                if a == b || !self.circuit.ty(right).encrypted {
                    a
                } else {
                    let ratio = t.mul(b, t.inv(a).expect("factors are units"));
                    let [x, y] = short_ratio(t, ratio);
                    self.factors.matched.insert(step.index, [x, y]);
                    t.mul(a, t.from_i64(x))
                }
            }
            Effect::Products { terms } => {
                let product = |&[left, right]: &[ValueId; 2]| t.mul(of(left), of(right));
                let first = product(&terms[0]);
                let other = terms.iter().map(product).find(|&other| other != first);
                if let Some(other) = other {
                    let what = format!("the factor of a product of step %{} (mul)", step.index);
                    let expected = format!("{first}, as of the first one; a sum of two mends it");
                    return Err(unfit(what, other, expected));
                }
                first
            }
            Effect::Unary { value, change } => match change {
                Change::Divided => {
                    let dropped = params.rlwe().basis(self.circuit.ty(value).level);
                    let dropped = t.reduce(dropped.modulus(step.ty.level + 1).value());
                    let inverse = t.inv(dropped).expect("the moduli are units modulo t");
                    t.mul(of(value), inverse)
                }
                _ => of(value),
            },
        };
        self.factors.of.push(factor);
        Ok(factor)
    }
}
