//! The precision of a circuit's results, predicted without keys.
//!
//! Each value carries its slots, from a run in the clear, and for each slot the mean square of its
//! error, over keys and randomness. [`ckks::noise::Model`] states the error that a step adds, and
//! the plan (`plan.rs`) the divisions. To first order, the error of a sum of products is the error
//! of each factor times the sum of the values that multiply it. An error that is in several
//! operands adds up with itself (`errors.rs`). Errors of different slots are treated as
//! uncorrelated. The model of a rescale assumes uniform residues: after a product with a multiple
//! of its modulus a rescale adds less error.
//!
//! The error of the sine in a bootstrapping is not random. So a value also carries the slots of a
//! run without noise, in addition to the slots in the clear.

use super::clear::{Slots, check_names, reading, step};
use super::errors::Errors;
use super::expected::{Expected, product};
use super::plan::Plan;
use super::refreshed::Refreshed;
use super::walk::{Values, walk};
use super::{check, check_limit, unfit};
use crate::error::Result;
use circuits::LEAST_LOG2_FAILURE;
use circuits::approximate::Bootstrapper;
use ckks::noise::{Model, Noise};
use ckks::{Complex64, Params};
use program::MAX_LOG2_FAILURE;
use program::circuit::{Circuit, Op, Type, ValueId};
use rlwe::noise::{log2_sum, log2_two_sided_tail};
use std::collections::BTreeMap;

/// The predicted slots and errors of a value.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// The slots of a run in the clear.
    pub slots: Vec<Complex64>,
    /// For each slot, the mean square of its error, in units of the message.
    pub errors: Vec<f64>,
    /// log2 of a bound on the probability that a run is wrong up to this value, with messages as
    /// large as `slots`. A run is wrong if a coefficient of a message and its noise exceeds half of
    /// its modulus, or if a bootstrapping meets a multiple of `q_0` beyond the range of its
    /// reduction.
    pub log2_failure: f64,
}

impl Predicted {
    /// Mean of the errors of the first `slots` slots. `slots` is at least 1.
    pub fn noise(&self, slots: usize) -> Noise {
        let first = &self.errors[..slots.clamp(1, self.errors.len())];
        Noise(first.iter().sum::<f64>() / first.len() as f64)
    }
}

/// Predicts every output of a circuit for the inputs `inputs`. Encrypted inputs are fresh, under
/// the secret key.
///
/// # Errors
/// The errors of [`run_clear`](super::run_clear). [`Error::Circuit`](crate::Error::Circuit) for a
/// circuit written for other parameters, and for a message that does not fit the modulus at its
/// scale and level.
pub fn predict(
    params: &Params,
    circuit: &Circuit,
    inputs: &Slots,
) -> Result<BTreeMap<String, Predicted>> {
    predict_within(params, circuit, inputs, MAX_LOG2_FAILURE)
}

/// Predicts outputs as [`predict`] does, for a circuit that may be wrong with a probability of at
/// most `2^limit`.
///
/// # Errors
/// The errors of [`predict`], and [`Error::Circuit`](crate::Error::Circuit) for a limit above
/// [`MAX_LOG2_FAILURE`].
pub fn predict_within(
    params: &Params,
    circuit: &Circuit,
    inputs: &Slots,
    limit: f64,
) -> Result<BTreeMap<String, Predicted>> {
    check_limit(limit)?;
    check(params, circuit)?;
    check_names(circuit, inputs.keys().map(String::as_str))?;
    let circuit = &*circuit.unrolled();
    let predictor = Predictor {
        params,
        circuit,
        model: Model::new(params),
        plan: Plan::new(circuit),
        refreshed: Refreshed::new(params, circuit)?,
    };
    let mut log2_failure = f64::NEG_INFINITY;
    let outputs = walk(circuit, |index, values| {
        let slots = step(circuit, inputs, index, values, &|v: &Expected| &v.slots)?;
        let errors = predictor.errors(index, &slots, values)?;
        let errors = errors.kept(index, circuit.slots);
        let own = predictor.log2_failure(index, &slots, &errors)?;
        log2_failure = log2_sum(log2_failure, own);
        if log2_failure > limit {
            let name = circuit.steps[index].op.name();
            let what = format!("the message and noise of step %{index} ({name})");
            let found = format!("such that a run is wrong with 2^{log2_failure:.1}");
            return Err(unfit(what, found, format!("at most 2^{limit} in all")));
        }
        let computed = predictor.computed(inputs, index, values)?;
        Ok(Expected {
            slots,
            computed,
            errors,
            log2_failure: log2_failure.max(LEAST_LOG2_FAILURE),
        })
    })?;
    let outputs = outputs.into_iter();
    Ok(outputs
        .map(|(name, value)| (name, value.predicted()))
        .collect())
}

struct Predictor<'a> {
    params: &'a Params,
    circuit: &'a Circuit,
    model: Model,
    plan: Plan,
    refreshed: Option<Refreshed>,
}

impl Predictor<'_> {
    /// log2 of a bound on the probability that a step's value is wrong: that one of its
    /// coefficients exceeds half of its modulus, or that a bootstrapping meets a multiple of `q_0`
    /// beyond the range of its reduction. The largest slot bounds the coefficients of a message.
    /// The coefficients of its error are Gaussian.
    ///
    /// # Errors
    /// [`Error::Circuit`](crate::Error::Circuit) for a message that does not fit even without its
    /// error.
    fn log2_failure(&self, index: usize, slots: &[Complex64], errors: &Errors) -> Result<f64> {
        let (ty, op) = (self.circuit.ty(index), &self.circuit.steps[index].op);
        let largest = slots.iter().map(|v| v.norm()).fold(0.0, f64::max);
        let bits = (largest * ty.scale).log2() + 1.0;
        let limit = self.params.rlwe().log_q(self.params.ring_level(ty.level));
        if bits.is_nan() || bits >= limit {
            let what = format!("the message of step %{index} ({}) at its scale", op.name());
            let expected = format!("less than {limit:.1}, which level {} holds", ty.level);
            return Err(unfit(what, format!("{bits:.1} bits"), expected));
        }
        if !ty.encrypted {
            return Ok(f64::NEG_INFINITY);
        }
        let squares = errors.squares(slots.len());
        let square = squares.iter().sum::<f64>() / squares.len() as f64;
        // The square of a slot is the sum of the squares of N coefficients.
        let n = self.params.n() as f64;
        let deviation = (square / n).sqrt() * ty.scale;
        let moduli = (0..=ty.level).map(|level| self.circuit.arithmetic.divisor(level));
        let half = moduli.product::<f64>() / 2.0;
        // No logarithms here, because the room may be a small part of the modulus. An overflow of
        // doubles means that there is enough room.
        let room = half - largest * ty.scale;
        let passed = n.log2() + log2_two_sided_tail((room / deviation).min(f64::MAX));
        Ok(match (op, &self.circuit.bootstrapping) {
            (Op::Bootstrap { .. }, Some(stated)) => {
                log2_sum(passed, Bootstrapper::log2_overflow(stated))
            }
            _ => passed,
        })
    }

    /// The slots of a run without noise. `None` if they equal the slots in the clear.
    fn computed(
        &self,
        inputs: &Slots,
        index: usize,
        values: &Values<Expected>,
    ) -> Result<Option<Vec<Complex64>>> {
        let op = &self.circuit.steps[index].op;
        if let Op::Bootstrap { value } = op {
            let scale = self.circuit.ty(*value).scale;
            let before = values.get(*value).computed();
            return Ok(Some(self.refreshed().computed(before, scale)?));
        }
        let differs = |value: ValueId| values.get(value).computed.is_some();
        if !op.operands().into_iter().any(differs) {
            return Ok(None);
        }
        step(self.circuit, inputs, index, values, &Expected::computed).map(Some)
    }

    fn refreshed(&self) -> &Refreshed {
        let refreshed = self.refreshed.as_ref();
        refreshed.expect("a circuit that bootstraps states how")
    }

    fn errors(
        &self,
        index: usize,
        slots: &[Complex64],
        values: &Values<Expected>,
    ) -> Result<Errors> {
        let (ty, count) = (self.circuit.ty(index), slots.len());
        let errors = |value: ValueId| &values.get(value).errors;
        let moved = |value: ValueId, element: usize, steps: usize, conjugates: bool| {
            let order = 2 * self.params.n();
            let errors = errors(value).clone();
            errors.moved((element, order), steps, conjugates)
        };
        let op = &self.circuit.steps[index].op;
        let encoder = self.params.encoder();
        let errors = match op {
            Op::Input { .. } if ty.encrypted => Errors::even(index, self.model.fresh(ty.scale).0),
            Op::Input { .. } | Op::Constant { .. } => {
                return Ok(Errors::of_slots(index, self.encoding(slots, ty)?));
            }
            Op::Add { left, right } | Op::Sub { left, right } => {
                let minus = matches!(op, Op::Sub { .. });
                let mut sum = errors(*left).clone();
                let sign = if minus { -1.0 } else { 1.0 };
                sum.add_scaled(errors(*right), sign, count);
                sum
            }
            Op::Mul { terms } => product(index, terms, values),
            Op::Rotate { value, steps } => {
                let element = encoder.rotation_element(*steps as isize);
                moved(*value, element, *steps, false)
            }
            Op::Conjugate { value } => moved(*value, encoder.conjugation_element(), 0, true),
            Op::Read { value } => {
                let mut read = Errors::default();
                let factor = reading(self.circuit, index, *value);
                read.add_scaled(errors(*value), factor, count);
                read
            }
            Op::Bootstrap { value } => {
                let noise = self.refreshed().noise(self.circuit.ty(*value).scale);
                return Ok(errors(*value).clone().with(index, noise.0));
            }
            Op::Repeat { .. } | Op::Result { .. } => unreachable!("every iteration is written out"),
            Op::Rescale { value }
            | Op::Drop { value }
            | Op::SwapRows { value }
            | Op::Output { value, .. } => errors(*value).clone(),
        };
        let added = self.plan.added(self.circuit, index);
        let mut more = self.model.rounding(ty.scale).0 * added.roundings as f64;
        for from in added.key_switches {
            more += self.model.key_switch(from.level, from.scale).0;
        }
        // A fresh ciphertext has no error but its own.
        Ok(if more > 0.0 {
            errors.with(index, more)
        } else {
            errors
        })
    }

    /// Squared error in each slot from rounding a plaintext's coefficients, measured by encoding
    /// the plaintext.
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
