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
use super::fold::{Current, Meaning, Values, effect, fold};
use super::plan::Plan;
use super::scheme::Scheme;
use super::sources::{Galois, Sources};
use super::unfit;
use crate::error::Result;
use bgv::Params;
use bgv::noise::{Model, Noise};
use circuits::LEAST_LOG2_FAILURE;
use program::circuit::{Change, Circuit, Effect, Op, ValueId};
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
    let mut predictor = Predictor {
        params,
        circuit,
        model: Model::new(params),
        plan,
        factors,
        chains: Chains::new(circuit),
        limit,
        failure: Failure::default(),
    };
    let outputs = fold(circuit, &mut predictor)?.into_iter();
    Ok(outputs.map(|(name, value)| (name, value.budget)).collect())
}

/// Predicted noise of a value, and its sources.
struct Expected {
    budget: Budget,
    sources: Sources,
}

/// The noises of a value, and the bits that its largest coefficients have more.
struct Gathered {
    sources: Sources,
    bits: f64,
}

/// log2 of bounds on the probability that the run is wrong up to the current step.
struct Failure {
    /// By noise in coefficients.
    coefficients: f64,
    /// By noise at single points of evaluation: both bounds of `log2_points`.
    points: [f64; 2],
}

impl Default for Failure {
    fn default() -> Self {
        Self {
            coefficients: f64::NEG_INFINITY,
            points: [f64::NEG_INFINITY; 2],
        }
    }
}

impl Failure {
    fn log2(&self) -> f64 {
        log2_sum(self.coefficients, self.points[0].min(self.points[1]))
    }
}

/// The meaning of operations for noise.
struct Predictor<'a> {
    params: &'a Params,
    circuit: &'a Circuit,
    model: Model,
    plan: &'a Plan,
    factors: &'a Factors,
    chains: Chains,
    /// log2 of the largest probability of a wrong run.
    limit: f64,
    failure: Failure,
}

impl Meaning for Predictor<'_> {
    type Value = Expected;

    fn step(&mut self, step: &Current<'_>, values: &mut Values<Expected>) -> Result<Expected> {
        let Gathered { sources, bits } = self.noise(step, values)?;
        let noise = sources.noise();
        let half = params_bits(self.params, step.ty.level) - 1.0;
        let largest = noise.bits() + bits;
        let coefficients = (self.params.n() as f64).log2();
        if step.ty.encrypted {
            // Single points have the rest of the room: see `log2_points`.
            let share: f64 = if self.model.settles() {
                1.0
            } else {
                1.0 - (-EIGHTH).exp2()
            };
            let one = log2_two_sided_tail(share * (half - largest).exp2());
            self.failure.coefficients = log2_sum(self.failure.coefficients, coefficients + one);
        }
        let (index, name, limit) = (step.index, step.op.name(), self.limit);
        let log2_failure = self.failure.log2();
        if log2_failure > limit {
            let what = format!("the noise of step %{index} ({name})");
            let found = format!("{largest:.1} bits (a run is wrong with 2^{log2_failure:.1})");
            let bears = half - deviations(limit - coefficients).log2();
            let level = step.ty.level;
            let expected =
                format!("at most {bears:.1} (2^{limit} in all), which level {level} bears");
            return Err(unfit(what, found, expected));
        }
        let own = self.log2_points(step, noise);
        for (sum, own) in self.failure.points.iter_mut().zip(own) {
            *sum = log2_sum(*sum, own);
        }
        let log2_failure = self.failure.log2();
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
            gathered: bits,
            margin_bits: half - DEVIATIONS.log2() - largest,
            log2_failure: log2_failure.max(LEAST_LOG2_FAILURE),
        };
        Ok(Expected { budget, sources })
    }
}

impl Predictor<'_> {
    /// The noise of a step's value.
    fn noise(&self, step: &Current<'_>, values: &Values<Expected>) -> Result<Gathered> {
        let (circuit, model) = (self.circuit, &self.model);
        let (index, ty) = (step.index, step.ty);
        let added = self.plan.added(circuit, index);
        let own = params_bits(self.params, ty.level);
        let mut more = model.rounding().times(added.roundings as f64);
        for from in &added.key_switches {
            let divided = params_bits(self.params, from.level) - own;
            more = more.plus(model.key_switch(from.level).divided(divided));
        }
        let kept = |value: ValueId| {
            let Expected { budget, sources } = values.get(value);
            let (sources, bits) = (sources.clone(), budget.gathered);
            Gathered { sources, bits }
        };
        let gathered = match step.effect {
            Effect::Input { .. } if ty.encrypted => Gathered {
                sources: Sources::new(index, model.fresh()),
                bits: 0.0,
            },
            // Products count the noise of their plaintexts.
            Effect::Input { .. } | Effect::Constant { .. } => Gathered {
                sources: Sources::default(),
                bits: 0.0,
            },
            Effect::Sum { left, right, minus } => {
                let [x, y] = self.factors.matched.get(&index).copied().unwrap_or([1, 1]);
                let (a, b) = (values.get(left), values.get(right));
                if !circuit.ty(right).encrypted {
                    kept(left)
                } else {
                    let y = if minus { -y } else { y };
                    let sources = a.sources.sum(x as f64, &b.sources, y as f64, index);
                    // If both terms are rotations of one value, amplitudes add up in some
                    // coefficients. Mean squares over all coefficients add up in any case.
                    let alike = left != right && self.source(left) == self.source(right);
                    let more = if alike { 0.5 } else { 0.0 };
                    let bits = a.budget.gathered.max(b.budget.gathered) + more;
                    Gathered { sources, bits }
                }
            }
            Effect::Products { terms } => self.product(index, terms, values)?,
            Effect::Unary { value, change } => {
                let Gathered { mut sources, bits } = kept(value);
                if let Some(permutation) = change.permutation() {
                    sources = sources.automorphism(Galois {
                        element: self.params.element(permutation),
                        order: 2 * self.params.n(),
                    });
                }
                let operand = circuit.ty(value);
                sources = sources.scaled(change.multiplier(operand, ty));
                if change == Change::Divided {
                    sources = sources.divided(params_bits(self.params, operand.level) - own);
                    let noise = sources.noise();
                    // The noise of a rounding is spread evenly.
                    let peak = noise.times((2.0 * bits).exp2()).plus(more);
                    let bits = peak.bits() - noise.plus(more).bits();
                    Gathered { sources, bits }
                } else {
                    Gathered { sources, bits }
                }
            }
        };
        let most = (self.params.n() as f64).log2() / 2.0;
        Ok(Gathered {
            sources: gathered.sources.with(index, more),
            bits: gathered.bits.min(most),
        })
    }

    /// The operand of a value that is an automorphism; otherwise the value itself.
    fn source(&self, value: ValueId) -> ValueId {
        match effect(&self.circuit.steps[value].op) {
            Effect::Unary {
                value,
                change: Change::Permuted(_),
            } => value,
            _ => value,
        }
    }

    /// The noise of step `index`, a sum of products.
    fn product(
        &self,
        index: usize,
        terms: &[[ValueId; 2]],
        values: &Values<Expected>,
    ) -> Result<Gathered> {
        let (mut noise, mut bits) = (Noise::ZERO, 0.0f64);
        for &[left, right] in terms {
            let (a, b) = (values.get(left).budget, values.get(right).budget);
            bits = bits.max(a.gathered).max(b.gathered);
            noise = noise.plus(if self.circuit.ty(right).encrypted {
                let factors = self.chains.factors(left, right);
                self.model.product(a.noise, b.noise, factors)
            } else {
                self.model.mul_plain(a.noise, self.sum_of_squares(right)?)
            });
        }
        let sources = Sources::new(index, noise);
        Ok(Gathered { sources, bits })
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
    fn log2_points(&self, step: &Current<'_>, noise: Noise) -> [f64; 2] {
        let points = (self.params.n() as f64 / 2.0).log2();
        let divided = step.effect.change() == Some(Change::Divided);
        let escape = match divided && self.chains.ahead[step.index] >= 2 {
            true => self.model.log2_escape(noise) + points,
            false => f64::NEG_INFINITY,
        };
        if self.model.settles() {
            return [escape; 2];
        }
        let ty = step.ty;
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
