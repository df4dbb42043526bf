//! Runs whose inputs are encrypted under a public key, run dry.
//!
//! The inputs have more noise than those under the secret. Only the steps that read them notice, up
//! to the next samples, whose noise is that of a rounding. So these steps alone are run again.

use crate::engine::{DryValue, Value, total_failure};
use crate::engines::dry_engine;
use crate::error::{Error, Result};
use crate::operations::Dry;
use crate::steps::{Action, Maps, StepValue, StepValueOf, Work};
use exchange::LoopParams;
use program::{Constant, Form, MAX_LOG2_DISTANCE, Op, PublicInputs, Step, Type};
use std::collections::BTreeMap;
use std::fmt;

/// A dry run in which the inputs have the noise of an encryption under a public key.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicRun {
    /// log2 of a bound on the probability that the run is wrong.
    pub log2_failure: f64,
    /// Bits by which the noise of outputs without a flood exceeds the whole bits that the terms of
    /// the program state.
    pub rise_bits: u32,
    /// The reason for which nothing can be promised of such runs.
    pub refusal: Option<Refusal>,
    /// The layer whose steps are most often wrong because of the inputs' noise.
    pub worst_layer: Option<String>,
}

/// The reason for which a program takes no inputs under a public key.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// A step would make its value at another level than for inputs under the secret.
    Level {
        /// Layer of the step.
        layer: String,
    },
    /// The floods over the outputs no longer hide their noise.
    Floods {
        /// log2 of the statistical distance that they leave.
        log2_distance: f64,
    },
    /// A run would be wrong too often.
    Failure {
        /// log2 of the probability.
        log2_failure: f64,
        /// Largest probability that was asked for, as log2.
        expected: f64,
        /// Layer that is most often wrong.
        layer: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level { layer } => write!(f, "{layer} has too few limbs for their noise"),
            Self::Floods { log2_distance } => write!(
                f,
                "with their noise, the floods over the outputs leave a distance of \
                 2^{log2_distance:.1}, expected at most 2^{MAX_LOG2_DISTANCE}: compile without \
                 --hide-model, or encrypt under the secret"
            ),
            Self::Failure {
                log2_failure,
                expected,
                layer,
            } => write!(
                f,
                "with their noise, {layer} has no room: a run is wrong with 2^{log2_failure:.1}, \
                 expected at most 2^{expected}: quantise with smaller weights, or encrypt under \
                 the secret"
            ),
        }
    }
}

impl PublicRun {
    /// Runs the steps that read inputs again. `made` has the results of the dry run with inputs
    /// under the secret, and `failure` log2 of the probability that each of its steps is wrong.
    ///
    /// # Errors
    /// Errors of the circuits.
    pub fn new(
        params: &LoopParams,
        (constants, steps): (&[Constant], &[Step]),
        made: &[StepValueOf<Dry>],
        failure: &[f64],
    ) -> Result<Self> {
        let engine = dry_engine(params);
        let mut noisy: BTreeMap<usize, StepValueOf<Dry>> = BTreeMap::new();
        let mut failure = failure.to_vec();
        let mut worst: Option<(f64, &str)> = None;
        let maps = Maps::default();
        for (index, step) in steps.iter().enumerate() {
            let reads = step.op.operands().iter().any(|id| noisy.contains_key(id));
            let is_input = matches!(step.op, Op::Input { .. });
            if !(is_input || reads) || matches!(step.op, Op::ToSamples { .. }) {
                continue;
            }
            let (form, level) = match step.ty {
                Type::Ciphertext { form, level, .. } => (form, level),
                Type::Samples => (Form::Coefficients, 0),
            };
            let action = Action::new(params, (constants, steps), &step.op, &maps)?;
            let work = Work {
                params,
                constants,
                steps,
                op: &step.op,
                action: &action,
                form,
                level,
            };
            let input = |_| Value::dry(level, engine.model().fresh_public());
            let value = |id| noisy.get(&id).or_else(|| made.get(id));
            let value = work.run(&engine, value, input);
            let (found, expected) = match &value {
                Ok(value) => (level_of(value), level_of(&made[index])),
                Err(Error::OutOfLevels { .. }) => (None, Some(level)),
                Err(_) => (None, None),
            };
            if found != expected {
                return Ok(Self {
                    log2_failure: 0.0,
                    rise_bits: 0,
                    refusal: Some(Refusal::Level {
                        layer: step.layer.clone(),
                    }),
                    worst_layer: Some(step.layer.clone()),
                });
            }
            noisy.insert(index, value?);
            failure[index] = engine.take_failure();
            if worst.is_none_or(|(log2, _)| failure[index] > log2) {
                worst = Some((failure[index], &step.layer));
            }
        }
        let value = |index: usize| {
            let value = noisy.get(&index).or_else(|| made.get(index))?;
            value.value().map(Value::to_dry)
        };
        let t = params.bfv().t().value();
        let log2_distance = log2_flood_distance(t, steps, value);
        let refusal =
            (log2_distance > MAX_LOG2_DISTANCE).then_some(Refusal::Floods { log2_distance });
        Ok(Self {
            log2_failure: total_failure(&failure),
            rise_bits: rise_bits(steps, value),
            refusal,
            worst_layer: worst.map(|(_, layer)| layer.to_owned()),
        })
    }

    /// The promise of a program for such runs, whose largest probability of failure is to be
    /// `2^log2_failure`.
    ///
    /// # Errors
    /// The reason for which it can promise nothing.
    pub fn promise(&self, log2_failure: f64) -> std::result::Result<PublicInputs, Refusal> {
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        let promised = self.log2_failure.ceil();
        if promised > log2_failure {
            return Err(Refusal::Failure {
                log2_failure: self.log2_failure,
                expected: log2_failure,
                layer: self.worst_layer.clone().unwrap_or_default(),
            });
        }
        Ok(PublicInputs {
            log2_failure: promised as i32,
            rise_bits: self.rise_bits,
        })
    }
}

fn level_of(value: &StepValueOf<Dry>) -> Option<usize> {
    match value {
        StepValue::Ciphertext(value) => Some(value.level()),
        StepValue::Samples(_) => None,
    }
}

/// Bits by which the noise of outputs without a flood exceeds the whole bits that their steps
/// state.
fn rise_bits(steps: &[Step], value: impl Fn(usize) -> Option<DryValue>) -> u32 {
    let rises = steps.iter().enumerate().map(|(index, step)| {
        let (Op::Output { flood: None, .. }, Type::Ciphertext { noise_bits, .. }) =
            (&step.op, step.ty)
        else {
            return 0.0;
        };
        value(index).map_or(0.0, |value| value.noise().bits() - noise_bits.ceil())
    });
    rises.fold(0.0, f64::max).ceil() as u32
}

/// log2 of the statistical distance that the floods of a program's outputs leave, where their noise
/// is largest. `value` returns the result of a step.
pub fn log2_flood_distance(
    t: u64,
    steps: &[Step],
    value: impl Fn(usize) -> Option<DryValue>,
) -> f64 {
    let distances = steps
        .iter()
        .enumerate()
        .filter_map(|(index, step)| match &step.op {
            Op::Output {
                at,
                flood: Some(flood),
                ..
            } => Some(flood.log2_distance(value(index)?.peak().bits(), t, at.len())),
            _ => None,
        });
    let squares: f64 = distances.map(|log2| (2.0 * log2).exp2()).sum();
    squares.log2() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::Term;

    /// N = 2^10 and two limbs: no security at all.
    fn params_insecure() -> LoopParams {
        let n = 1 << 10;
        let mut q = ring::ntt_primes(26, n, 1).unwrap();
        q.extend(ring::ntt_primes(34, n, 1).unwrap());
        let spec = rlwe::ParamsSpec {
            n,
            p: ring::ntt_primes_avoiding(49, n, 1, &q).unwrap(),
            q,
            digit_limbs: 1,
        };
        let bfv = bfv::Params::new_insecure(&spec, bfv::T_FERMAT).unwrap();
        LoopParams::new_insecure(&bfv, 64, 3).unwrap()
    }

    /// Two products with `weight` in a row, then samples.
    fn run(weight: i64) -> PublicRun {
        let params = params_insecure();
        let constant = |values: Vec<i64>| Constant {
            name: String::new(),
            values,
        };
        let constants = [constant(vec![weight]), constant(vec![0])];
        let product = |value| Op::MulCoefficients {
            terms: vec![Term {
                value,
                weights: 0,
                exponents: 1,
            }],
        };
        let ops = [
            ("input", Op::Input { index: 0 }),
            ("first", product(0)),
            ("second", product(1)),
            ("second", Op::ToSamples { value: 2 }),
        ];
        let engine = dry_engine(&params);
        let (mut steps, mut made, mut failure) = (Vec::new(), Vec::new(), Vec::new());
        for (layer, op) in ops {
            let work = Work {
                params: &params,
                constants: &constants,
                steps: &steps,
                op: &op,
                action: &Action::Plain,
                form: Form::Coefficients,
                level: 1,
            };
            let input = |_| Value::dry(1, engine.model().fresh());
            let value = work.run(&engine, |id| made.get(id), input).unwrap();
            let ty = match value.value() {
                None => Type::Samples,
                Some(value) => Type::Ciphertext {
                    form: Form::Coefficients,
                    level: value.level(),
                    noise_bits: value.noise().bits(),
                },
            };
            steps.push(Step {
                op,
                ty,
                layer: layer.into(),
                seconds: 0.0,
            });
            made.push(value);
            failure.push(engine.take_failure());
        }
        assert!(total_failure(&failure) < -1000.0);
        PublicRun::new(&params, (&constants, &steps), &made, &failure).unwrap()
    }

    #[test]
    fn a_layer_without_room_for_the_noise_is_named() {
        let small = run(1 << 10).promise(-40.0).unwrap();
        assert!(small.log2_failure < -1000);
        // Fresh noise has 2^17.7, public noise 5.2 bits more, half of the modulus 2^59.
        let refused = run(1 << 17).promise(-40.0).unwrap_err();
        let Refusal::Failure {
            log2_failure,
            layer,
            ..
        } = &refused
        else {
            panic!("{refused}");
        };
        assert!(*log2_failure > -40.0 && layer == "second", "{refused}");
        assert!(
            refused.to_string().contains("second has no room"),
            "{refused}"
        );
        // A smaller probability was asked for.
        let run = run(1 << 10);
        assert!(run.promise(run.log2_failure.floor() - 1.0).is_err());
    }
}
