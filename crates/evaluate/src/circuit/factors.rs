//! The factors of exact messages: the residual of a ciphertext holds its message times a known unit
//! modulo `t`.
//!
//! A product has the product of the factors. A modulus switch divides by the dropped moduli. The
//! terms of a sum must have equal factors. All factors follow from the circuit, but the circuit
//! does not state them: they concern the form of a message, not its content.

use super::exact::ExactScheme;
use super::unfit;
use crate::error::Result;
use bgv::short_ratio;
use program::circuit::{Circuit, Op, ValueId};
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
        let params = scheme.params();
        let t = params.t();
        let mut factors = Self {
            of: Vec::with_capacity(circuit.steps.len()),
            matched: BTreeMap::new(),
        };
        for (index, step) in circuit.steps.iter().enumerate() {
            let of = |value: ValueId| factors.of[value];
            let factor = match &step.op {
                Op::Input { .. } if step.ty.encrypted => scheme.unit_factor(step.ty.level),
                // Plaintexts have factor 1.
                Op::Input { .. } | Op::Constant { .. } => 1,
                Op::Add { left, right } | Op::Sub { left, right } => {
                    let (a, b) = (of(*left), of(*right));
                    if a == b || !circuit.ty(*right).encrypted {
                        a
                    } else {
                        let ratio = t.mul(b, t.inv(a).expect("factors are units"));
                        let [x, y] = short_ratio(t, ratio);
                        factors.matched.insert(index, [x, y]);
                        t.mul(a, t.from_i64(x))
                    }
                }
                Op::Mul { terms } => {
                    let product = |&[left, right]: &[ValueId; 2]| t.mul(of(left), of(right));
                    let first = product(&terms[0]);
                    let other = terms.iter().map(product).find(|&other| other != first);
                    if let Some(found) = other {
                        let what = format!("the factor of a product of step %{index} (mul)");
                        let expected =
                            format!("{first}, as of the first one; a sum of two mends it");
                        return Err(unfit(what, found, expected));
                    }
                    first
                }
                Op::Rescale { value } => {
                    let dropped = params.rlwe().basis(circuit.ty(*value).level);
                    let dropped = t.reduce(dropped.modulus(step.ty.level + 1).value());
                    let inverse = t.inv(dropped).expect("the moduli are units modulo t");
                    t.mul(of(*value), inverse)
                }
                Op::Drop { value }
                | Op::Read { value }
                | Op::Rotate { value, .. }
                | Op::Conjugate { value }
                | Op::SwapRows { value }
                | Op::Output { value, .. } => of(*value),
                Op::Bootstrap { .. } | Op::Repeat { .. } | Op::Result { .. } => {
                    unreachable!("no bootstrapping, and every iteration is written out")
                }
            };
            factors.of.push(factor);
        }
        Ok(factors)
    }
}
