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
//! The error of the sine in a bootstrapping is not random. A value therefore also carries the slots
//! of a run without noise, in addition to the slots in the clear.

use super::clear::{Clear, Slots, check_names};
use super::errors::Errors;
use super::expected::{Expected, product};
use super::fold::{Current, Meaning, Values, fold};
use super::plan::Plan;
use super::refreshed::Refreshed;
use super::scheme::Scheme;
use super::sources::Galois;
use super::{check, check_limit, unfit};
use crate::error::Result;
use circuits::LEAST_LOG2_FAILURE;
use circuits::approximate::Bootstrapper;
use ckks::noise::{Model, Noise};
use ckks::{Complex64, Params};
use program::MAX_LOG2_FAILURE;
use program::circuit::{Change, Circuit, Effect, Type, ValueId};
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
    let mut predictor = Predictor {
        params,
        circuit,
        clear: Clear { circuit, inputs },
        model: Model::new(params),
        plan: Plan::new(circuit),
        refreshed: Refreshed::new(params, circuit)?,
        limit,
        log2_failure: f64::NEG_INFINITY,
    };
    let outputs = fold(circuit, &mut predictor)?.into_iter();
    Ok(outputs
        .map(|(name, value)| (name, value.predicted()))
        .collect())
}

/// The meaning of operations for slots and their errors.
struct Predictor<'a> {
    params: &'a Params,
    circuit: &'a Circuit,
    clear: Clear<'a, Complex64>,
    model: Model,
    plan: Plan,
    refreshed: Option<Refreshed>,
    /// log2 of the largest probability of a wrong run.
    limit: f64,
    /// log2 of a bound on the probability that the run is wrong up to the current step.
    log2_failure: f64,
}

impl Meaning for Predictor<'_> {
    type Value = Expected;

    fn step(&mut self, step: &Current<'_>, values: &mut Values<Expected>) -> Result<Expected> {
        let slots = self.clear.slots(step, |value| &values.get(value).slots)?;
        let errors = self.errors(step, &slots, values)?;
        let errors = errors.merged(step.index, self.circuit.slots);
        let own = self.log2_failure(step, &slots, &errors)?;
        self.log2_failure = log2_sum(self.log2_failure, own);
        if self.log2_failure > self.limit {
            let (index, name) = (step.index, step.op.name());
            let what = format!("the message and noise of step %{index} ({name})");
            let log2_failure = self.log2_failure;
            let found = format!("such that a run is wrong with 2^{log2_failure:.1}");
            let expected = format!("at most 2^{} in all", self.limit);
            return Err(unfit(what, found, expected));
        }
        Ok(Expected {
            computed: self.computed(step, values)?,
            slots,
            errors,
            log2_failure: self.log2_failure.max(LEAST_LOG2_FAILURE),
        })
    }
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
    fn log2_failure(
        &self,
        step: &Current<'_>,
        slots: &[Complex64],
        errors: &Errors,
    ) -> Result<f64> {
        let ty = step.ty;
        let largest = slots.iter().map(|v| v.norm()).fold(0.0, f64::max);
        let bits = (largest * ty.scale).log2() + 1.0;
        let limit = self.params.rlwe().log_q(self.params.ring_level(ty.level));
        if bits.is_nan() || bits >= limit {
            let (index, name) = (step.index, step.op.name());
            let what = format!("the message of step %{index} ({name}) at its scale");
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
        let refreshes = step.effect.change() == Some(Change::Refreshed);
        Ok(match &self.circuit.bootstrapping {
            Some(stated) if refreshes => log2_sum(passed, Bootstrapper::log2_overflow(stated)),
            _ => passed,
        })
    }

    /// The slots of a run without noise. `None` if they equal the slots in the clear.
    fn computed(
        &self,
        step: &Current<'_>,
        values: &Values<Expected>,
    ) -> Result<Option<Vec<Complex64>>> {
        if let Effect::Unary {
            value,
            change: Change::Refreshed,
        } = step.effect
        {
            let scale = self.circuit.ty(value).scale;
            let before = values.get(value).computed();
            return Ok(Some(self.refreshed().computed(before, scale)?));
        }
        let differs = |value: ValueId| values.get(value).computed.is_some();
        if !step.op.operands().into_iter().any(differs) {
            return Ok(None);
        }
        let computed = |value: ValueId| values.get(value).computed();
        self.clear.slots(step, computed).map(Some)
    }

    fn refreshed(&self) -> &Refreshed {
        let refreshed = self.refreshed.as_ref();
        refreshed.expect("a circuit that bootstraps states how")
    }

    /// The errors of a step's value, whose slots are `slots`.
    fn errors(
        &self,
        step: &Current<'_>,
        slots: &[Complex64],
        values: &Values<Expected>,
    ) -> Result<Errors> {
        let (index, ty, count) = (step.index, step.ty, slots.len());
        let errors = |value: ValueId| &values.get(value).errors;
        let errors = match step.effect {
            Effect::Input { .. } if ty.encrypted => {
                Errors::even(index, self.model.fresh(ty.scale).0)
            }
            Effect::Input { .. } | Effect::Constant { .. } => {
                return Ok(Errors::of_slots(index, self.encoding(slots, ty)?));
            }
            Effect::Sum { left, right, minus } => {
                let mut sum = errors(left).clone();
                let sign = if minus { -1.0 } else { 1.0 };
                sum.add_scaled(errors(right), sign, count);
                sum
            }
            Effect::Products { terms } => product(index, terms, values),
            Effect::Unary { value, change } => {
                let operand = self.circuit.ty(value);
                let mut errors = errors(value).clone();
                if let Some(permutation) = change.permutation() {
                    let galois = Galois {
                        element: self.params.element(permutation),
                        order: 2 * self.params.n(),
                    };
                    errors = errors.permuted(permutation, galois);
                }
                if change == Change::Refreshed {
                    let noise = self.refreshed().noise(operand.scale);
                    return Ok(errors.with(index, noise.0));
                }
                errors.multiplied(change.multiplier(operand, ty))
            }
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
