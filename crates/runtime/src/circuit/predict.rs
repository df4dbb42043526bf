//! The precision of a circuit's results, before a key exists.
//!
//! Each value carries its slots, from a run in the clear, and for each slot the mean square of its error, over keys and
//! randomness: [`ckks::noise::Model`] says what every step adds, the plan (`plan.rs`) which divisions there are. To first
//! order, the error of a sum of products is that of each factor times the sum of what it meets, whose square counts: a value that
//! stands twice, as in a square, does not count as two. Errors of different values, and of different slots, are taken as
//! uncorrelated, and a rescale as one of residues that are uniform: after a product with a multiple of its modulus it adds less.

use super::clear::{Slots, check_names, reading, step};
use super::plan::Plan;
use super::walk::{Values, walk};
use super::{check, unfit};
use crate::error::Result;
use ckks::noise::{Model, Noise};
use ckks::{Complex64, Params};
use program::circuit::{Circuit, Op, Type, ValueId};
use std::collections::BTreeMap;

/// What is expected of a value.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// The slots, as in the clear.
    pub slots: Vec<Complex64>,
    /// For each slot, the mean square of its error, in the units of the message.
    pub errors: Vec<f64>,
}

impl Predicted {
    /// Mean over the first `slots` slots, at least one.
    pub fn noise(&self, slots: usize) -> Noise {
        let first = &self.errors[..slots.clamp(1, self.errors.len())];
        Noise(first.iter().sum::<f64>() / first.len() as f64)
    }
}

/// Predicts every output of a circuit for these inputs, encrypted ones being fresh under the secret key.
///
/// # Errors
/// Those of [`run_clear`](super::run_clear), and [`Error::Circuit`](crate::Error::Circuit) for a circuit written for other parameters, or for a message that
/// at its scale and level does not fit the modulus.
pub fn predict(
    params: &Params,
    circuit: &Circuit,
    inputs: &Slots,
) -> Result<BTreeMap<String, Predicted>> {
    check(params, circuit)?;
    check_names(circuit, inputs.keys().map(String::as_str))?;
    let predictor = Predictor {
        params,
        circuit,
        model: Model::new(params),
        plan: Plan::new(circuit),
    };
    walk(circuit, |index, values| {
        let slots = step(circuit, inputs, index, values, &|v: &Predicted| &v.slots)?;
        predictor.check_room(index, &slots)?;
        let errors = predictor.errors(index, &slots, values)?;
        Ok(Predicted { slots, errors })
    })
}

struct Predictor<'a> {
    params: &'a Params,
    circuit: &'a Circuit,
    model: Model,
    plan: Plan,
}

impl Predictor<'_> {
    /// The largest slot bounds the coefficients.
    fn check_room(&self, index: usize, slots: &[Complex64]) -> Result<()> {
        let ty = self.circuit.ty(index);
        let largest = slots.iter().map(|v| v.norm()).fold(0.0, f64::max);
        let found = (largest * ty.scale).log2() + 1.0;
        let limit = self.params.rlwe().log_q(self.params.ring_level(ty.level));
        // Not `found >= limit`, which a message that is no number would pass.
        if found < limit {
            return Ok(());
        }
        let name = self.circuit.steps[index].op.name();
        let what = format!("the message of step %{index} ({name}) at its scale");
        let expected = format!("less than {limit:.1}, which level {} holds", ty.level);
        Err(unfit(what, format!("{found:.1} bits"), expected))
    }

    fn errors(
        &self,
        index: usize,
        slots: &[Complex64],
        values: &Values<Predicted>,
    ) -> Result<Vec<f64>> {
        let ty = self.circuit.ty(index);
        let errors = |value: ValueId| values.get(value).errors.iter();
        let op = &self.circuit.steps[index].op;
        let mut made: Vec<f64> = match op {
            Op::Input { .. } if ty.encrypted => vec![self.model.fresh(ty.scale).0; slots.len()],
            Op::Input { .. } | Op::Constant { .. } => self.encoding(slots, ty)?,
            Op::Add { left, right } | Op::Sub { left, right } if left == right => {
                let factor = if let Op::Add { .. } = op { 4.0 } else { 0.0 };
                errors(*left).map(|v| factor * v).collect()
            }
            Op::Add { left, right } | Op::Sub { left, right } => errors(*left)
                .zip(errors(*right))
                .map(|(a, b)| a + b)
                .collect(),
            Op::Mul { terms } => product(terms, values),
            Op::Rotate { value, steps } => {
                let mut errors = values.get(*value).errors.clone();
                errors.rotate_left(*steps);
                errors
            }
            Op::Read { value } => {
                let factor = reading(self.circuit, index, *value).powi(2);
                errors(*value).map(|v| factor * v).collect()
            }
            Op::Rescale { value }
            | Op::Drop { value }
            | Op::Conjugate { value }
            | Op::SwapRows { value }
            | Op::Output { value, .. } => values.get(*value).errors.clone(),
        };
        let added = self.plan.added(self.circuit, index);
        let mut more = self.model.rounding(ty.scale).0 * added.roundings as f64;
        for from in added.key_switches {
            more += self.model.key_switch(from.level, from.scale).0;
        }
        made.iter_mut().for_each(|v| *v += more);
        Ok(made)
    }

    /// The rounding of a plaintext's coefficients, as it comes out.
    fn encoding(&self, slots: &[Complex64], ty: Type) -> Result<Vec<f64>> {
        let encoder = self.params.encoder();
        let mut coefficients = encoder.embed(slots)?;
        coefficients
            .iter_mut()
            .for_each(|c| *c = (*c * ty.scale).round() / ty.scale);
        let decoded = encoder.slots_of(&coefficients, slots.len())?;
        Ok(decoded
            .iter()
            .zip(slots)
            .map(|(a, b)| (a - b).norm_sqr())
            .collect())
    }
}

/// Errors of a sum of products.
fn product(terms: &[[ValueId; 2]], values: &Values<Predicted>) -> Vec<f64> {
    let mut meets: BTreeMap<ValueId, Vec<Complex64>> = BTreeMap::new();
    let mut meet = |value: ValueId, other: ValueId| {
        let other = &values.get(other).slots;
        let sums = meets
            .entry(value)
            .or_insert_with(|| vec![Complex64::ZERO; other.len()]);
        sums.iter_mut().zip(other).for_each(|(sum, x)| *sum += x);
    };
    for &[left, right] in terms {
        meet(left, right);
        meet(right, left);
    }
    let mut errors = vec![0.0; values.get(terms[0][0]).errors.len()];
    for (value, factors) in meets {
        let own = &values.get(value).errors;
        let terms = factors.iter().zip(own).map(|(x, v)| x.norm_sqr() * v);
        errors.iter_mut().zip(terms).for_each(|(sum, v)| *sum += v);
    }
    for &[left, right] in terms {
        let (left, right) = (&values.get(left).errors, &values.get(right).errors);
        let terms = left.iter().zip(right).map(|(a, b)| a * b);
        errors.iter_mut().zip(terms).for_each(|(sum, v)| *sum += v);
    }
    errors
}
