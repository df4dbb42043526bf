//! The noise of a circuit on exact numbers, predicted without keys.
//!
//! A circuit is refused if the probability that a coefficient of some value reaches half of its
//! modulus is above a limit: `program::MAX_LOG2_FAILURE`, or less. It is also refused if its
//! products may leave rounding size at some point of evaluation
//! (`docs/adr/0015-noise-at-single-points.md`).
//!
//! Each value carries the mean square of its residual's coefficients ([`bgv::noise::Model`]); the
//! plan lists the key switches and divisions. A value also carries the bits by which its largest
//! coefficients are above the mean square: sums of a value and its own rotations gather noise in
//! few coefficients. In sums, a noise that is in both terms adds up with itself ([`Sources`]). If
//! the factors of a product come from one input, they have the moments of powers ([`Chains`]);
//! other factors are treated as uncorrelated.

use super::chains::Chains;
use super::clear::constant_slots;
use super::exact::plaintext;
use super::factors::Factors;
use super::plan::Plan;
use super::sources::Sources;
use super::unfit;
use super::walk::walk;
use crate::error::Result;
use bgv::Params;
use bgv::noise::{Model, Noise};
use circuits::LEAST_LOG2_FAILURE;
use program::circuit::{Circuit, Op, ValueId};
use rlwe::noise::{deviations, log2_sum, log2_two_sided_tail};
use std::collections::BTreeMap;

/// Number of root mean squares of noise that margins include.
const DEVIATIONS: f64 = 6.0;

/// Bits of the factor 8: noise at a single point may take an eighth of a coefficient's room, which
/// is half of the modulus. The other seven eighths are for the sum over all points.
const EIGHTH: f64 = 3.0;

/// The predicted noise of a value and the margin that it leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Noise of the residual.
    pub noise: Noise,
    /// Bits by which the root mean square of some coefficients may be above that of all
    /// coefficients.
    pub gathered: f64,
    /// Bits between six deviations of these coefficients and the limit of decryption.
    pub margin_bits: f64,
    /// log2 of a bound on the probability that a run is wrong up to this value. The bound covers
    /// this value and all values that the circuit computes before it.
    pub log2_failure: f64,
}

pub(super) fn predict(
    params: &Params,
    circuit: &Circuit,
    (plan, factors): (&Plan, &Factors),
    limit: f64,
) -> Result<BTreeMap<String, Budget>> {
    let predictor = Predictor {
        params,
        circuit,
        model: Model::new(params),
        plan,
        factors,
        chains: Chains::new(circuit),
    };
    let coefficients = (params.n() as f64).log2();
    let (mut log2_coefficients, mut points) = (f64::NEG_INFINITY, [f64::NEG_INFINITY; 2]);
    let outputs = walk(circuit, |index, values| {
        let get = |value: ValueId| values.get(value);
        let (sources, gathered) = predictor.step(index, &get)?;
        let noise = sources.noise();
        let ty = circuit.ty(index);
        let half = params.rlwe().log_q(ty.level) - 1.0;
        let largest = noise.bits() + gathered;
        let name = circuit.steps[index].op.name();
        if ty.encrypted {
            // Single points have the rest of the room: see `log2_points`.
            let share: f64 = if predictor.model.settles() {
                1.0
            } else {
                1.0 - (-EIGHTH).exp2()
            };
            let one = log2_two_sided_tail(share * (half - largest).exp2());
            log2_coefficients = log2_sum(log2_coefficients, coefficients + one);
        }
        let log2_failure = log2_sum(log2_coefficients, points[0].min(points[1]));
        if log2_failure > limit {
            let what = format!("the noise of step %{index} ({name})");
            let found = format!("{largest:.1} bits (a run is wrong with 2^{log2_failure:.1})");
            let bears = half - deviations(limit - coefficients).log2();
            let expected = format!(
                "at most {bears:.1} (2^{limit} in all), which level {} bears",
                ty.level
            );
            return Err(unfit(what, found, expected));
        }
        let own = predictor.log2_points(index, noise);
        points = [log2_sum(points[0], own[0]), log2_sum(points[1], own[1])];
        let log2_failure = log2_sum(log2_coefficients, points[0].min(points[1]));
        if log2_failure > limit {
            let what =
                format!("the noise of step %{index} ({name}) at single points of evaluation");
            let found = format!("such that a run is wrong with 2^{log2_failure:.1}");
            let expected = format!(
                "at most 2^{limit} in all: larger moduli, or fewer products one after the other"
            );
            return Err(unfit(what, found, expected));
        }
        let budget = Budget {
            noise,
            gathered,
            margin_bits: half - DEVIATIONS.log2() - largest,
            log2_failure: log2_failure.max(LEAST_LOG2_FAILURE),
        };
        Ok(Expected { budget, sources })
    })?;
    let outputs = outputs.into_iter();
    Ok(outputs.map(|(name, value)| (name, value.budget)).collect())
}

/// Predicted noise of a value, and its sources.
struct Expected {
    budget: Budget,
    sources: Sources,
}

struct Predictor<'a> {
    params: &'a Params,
    circuit: &'a Circuit,
    model: Model,
    plan: &'a Plan,
    factors: &'a Factors,
    chains: Chains,
}

impl Predictor<'_> {
    fn step<'v>(
        &self,
        index: usize,
        get: &dyn Fn(ValueId) -> &'v Expected,
    ) -> Result<(Sources, f64)> {
        let (circuit, model) = (self.circuit, &self.model);
        let ty = circuit.ty(index);
        let added = self.plan.added(circuit, index);
        let own = params_bits(self.params, ty.level);
        let mut more = model.rounding().times(added.roundings as f64);
        for from in &added.key_switches {
            let divided = params_bits(self.params, from.level) - own;
            more = more.plus(model.key_switch(from.level).divided(divided));
        }
        let kept = |value: ValueId| (get(value).sources.clone(), get(value).budget.gathered);
        let (sources, gathered) = match &circuit.steps[index].op {
            Op::Input { .. } if ty.encrypted => (Sources::new(index, model.fresh()), 0.0),
            // Products count the noise of their plaintexts.
            Op::Input { .. } | Op::Constant { .. } => (Sources::default(), 0.0),
            Op::Add { left, right } | Op::Sub { left, right } => {
                let [x, y] = self.factors.matched.get(&index).copied().unwrap_or([1, 1]);
                let (a, b) = (get(*left), get(*right));
                if !circuit.ty(*right).encrypted {
                    kept(*left)
                } else {
                    let minus = matches!(circuit.steps[index].op, Op::Sub { .. });
                    let y = if minus { -y } else { y };
                    let sum = a.sources.sum(x as f64, &b.sources, y as f64, index);
                    // If both terms are rotations of one value, amplitudes add up in some
                    // coefficients. Mean squares over all coefficients add up in any case.
                    let alike = left != right && self.source(*left) == self.source(*right);
                    let more = if alike { 0.5 } else { 0.0 };
                    (sum, a.budget.gathered.max(b.budget.gathered) + more)
                }
            }
            Op::Mul { terms } => {
                let (noise, gathered) = self.product(terms, get)?;
                (Sources::new(index, noise), gathered)
            }
            Op::Rescale { value } => {
                let (sources, gathered) = kept(*value);
                let bits = params_bits(self.params, circuit.ty(*value).level) - own;
                let sources = sources.divided(bits);
                let divided = sources.noise();
                // The noise of a rounding is spread evenly.
                let peak = divided.times((2.0 * gathered).exp2()).plus(more);
                (sources, peak.bits() - divided.plus(more).bits())
            }
            Op::Drop { value } | Op::Read { value } | Op::Output { value, .. } => kept(*value),
            Op::Rotate { value, steps } => {
                let element = self.params.encoder().rotation_element(*steps as isize);
                self.rotated(kept(*value), element)
            }
            Op::Conjugate { value } | Op::SwapRows { value } => {
                self.rotated(kept(*value), self.params.encoder().swap_element())
            }
            Op::Bootstrap { .. } | Op::Repeat { .. } | Op::Result { .. } => {
                unreachable!("no bootstrapping, and every iteration is written out")
            }
        };
        let most = (self.params.n() as f64).log2() / 2.0;
        Ok((sources.with(index, more), gathered.min(most)))
    }

    fn rotated(&self, (sources, gathered): (Sources, f64), element: usize) -> (Sources, f64) {
        let order = 2 * self.params.n();
        (sources.automorphism(element, order), gathered)
    }

    /// The operand of a value that is an automorphism; otherwise the value itself.
    fn source(&self, value: ValueId) -> ValueId {
        match self.circuit.steps[value].op {
            Op::Rotate { value, .. } | Op::SwapRows { value } => value,
            _ => value,
        }
    }

    fn product<'v>(
        &self,
        terms: &[[ValueId; 2]],
        get: &dyn Fn(ValueId) -> &'v Expected,
    ) -> Result<(Noise, f64)> {
        let (mut noise, mut gathered) = (Noise::ZERO, 0.0f64);
        for &[left, right] in terms {
            let (a, b) = (get(left).budget, get(right).budget);
            gathered = gathered.max(a.gathered).max(b.gathered);
            noise = noise.plus(if self.circuit.ty(right).encrypted {
                let factors = self.chains.factors(left, right);
                self.model.product(a.noise, b.noise, factors)
            } else {
                self.model.mul_plain(a.noise, self.sum_of_squares(right)?)
            });
        }
        Ok((noise, gathered))
    }

    /// log2 of two bounds on the probability that noise at a single point of evaluation makes this
    /// value wrong. For a whole run, the smaller of the two sums over its values is enough.
    ///
    /// The first bound counts values that a division should bring down to rounding size, but that
    /// stay larger at some point and grow there from product to product ([`Model::log2_escape`]).
    /// If at most one product follows, noise at a point cannot grow any more: it stays as large as
    /// the divisor, and hardly changes a coefficient.
    ///
    /// The second bound counts values in which the noise at a point moves a coefficient by an
    /// eighth of half of the modulus ([`Model::log2_beyond`]). It applies to limbs so small that
    /// products leave rounding size in any run, and come down later.
    fn log2_points(&self, index: usize, noise: Noise) -> [f64; 2] {
        let points = (self.params.n() as f64 / 2.0).log2();
        let divided = matches!(self.circuit.steps[index].op, Op::Rescale { .. });
        let escape = match divided && self.chains.ahead[index] >= 2 {
            true => self.model.log2_escape(noise) + points,
            false => f64::NEG_INFINITY,
        };
        if self.model.settles() {
            return [escape; 2];
        }
        let ty = self.circuit.ty(index);
        // One point and its conjugate move a coefficient by `2 / n` of their size.
        let bits = params_bits(self.params, ty.level) - 1.0 - EIGHTH + points / 2.0 - 0.5;
        let beyond = match ty.encrypted {
            true => self.model.log2_beyond(noise, bits) + points,
            false => f64::NEG_INFINITY,
        };
        [escape, beyond]
    }

    /// Sum of the squares of a plaintext's centred coefficients.
    fn sum_of_squares(&self, value: ValueId) -> Result<f64> {
        let Op::Constant { constant } = self.circuit.steps[value].op else {
            return Ok(self.model.uniform_plaintext(self.params.n() as f64));
        };
        let t = self.params.t();
        let plaintext = plaintext(self.params, &constant_slots(self.circuit, constant)?)?;
        let square = |&c: &u64| (t.center(c) as f64).powi(2);
        Ok(plaintext.coefficients().iter().map(square).sum())
    }
}

fn params_bits(params: &Params, level: usize) -> f64 {
    params.rlwe().log_q(level)
}
