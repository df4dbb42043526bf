//! The noise of circuits on messages, and the probability that a run is wrong.
//!
//! The unit of noise is the noise of an output of a bootstrapping. Each value keeps the
//! bootstrappings from which its noise comes, and for each of them the sum of the absolute values
//! of its factors: a noise that occurs twice in a sum adds up as deviations do. Noises of different
//! bootstrappings add up as squares do. Tables that share a bootstrapping count as one. All inputs
//! count as one too, since a caller may pass one ciphertext several times.

use super::messages::{check, gate_of, unfit};
use crate::error::Result;
use program::MAX_LOG2_FAILURE;
use program::message::{Circuit, Op, ValueId};
use rlwe::noise::log2_sum;
use std::collections::BTreeMap;
use tfhe::{Gate, Params};

/// Deviation of an encrypted bit, in units of an output's deviation: at most that of the sum of two
/// outputs, which a choice is.
const BIT: f64 = std::f64::consts::SQRT_2;

/// Source of noise: the step of a bootstrapping, or `None` for the inputs.
type Source = Option<ValueId>;

/// The noise of each step: the deviation of its noise from each source.
pub(super) struct Noise(Vec<BTreeMap<Source, f64>>);

impl Noise {
    pub(super) fn of(circuit: &Circuit) -> Self {
        let mut all: Vec<BTreeMap<Source, f64>> = Vec::with_capacity(circuit.steps.len());
        let input = if circuit.is_of_bits() { BIT } else { 1.0 };
        for (id, op) in circuit.steps.iter().enumerate() {
            all.push(match op {
                Op::Input { .. } => BTreeMap::from([(None, input)]),
                Op::Constant { .. } => BTreeMap::new(),
                Op::Not { value } | Op::Entry { lookup: value, .. } => all[*value].clone(),
                Op::Gate { .. } | Op::Lookup { .. } => BTreeMap::from([(Some(id), 1.0)]),
                Op::Choose { .. } => BTreeMap::from([(Some(id), BIT)]),
                Op::Sum { terms, .. } => {
                    let terms = terms.iter().map(|&(factor, value)| (factor, value));
                    sum(&all, terms)
                }
            });
        }
        Self(all)
    }

    /// Squared norm of a sum, in units of an output's variance.
    fn norm(&self, terms: &[(i64, ValueId)]) -> f64 {
        let parts = sum(&self.0, terms.iter().copied());
        parts.values().map(|deviation| deviation * deviation).sum()
    }

    /// Deviation of a value's noise in units of an output's deviation, rounded up.
    pub(super) fn deviations(&self, value: ValueId) -> u64 {
        // Rounding errors of a few square roots must not add a unit.
        (self.norm(&[(1, value)]).sqrt() - 1e-9).ceil() as u64
    }
}

fn sum(
    all: &[BTreeMap<Source, f64>],
    terms: impl Iterator<Item = (i64, ValueId)>,
) -> BTreeMap<Source, f64> {
    let mut parts = BTreeMap::new();
    for (factor, value) in terms {
        for (&source, deviation) in &all[value] {
            *parts.entry(source).or_insert(0.0) += factor.unsigned_abs() as f64 * deviation;
        }
    }
    parts
}

/// Largest deviation of the noise of each message of each output, in order. The unit is the
/// deviation of an output of a bootstrapping.
pub fn output_noise(circuit: &Circuit) -> Vec<u64> {
    let noise = Noise::of(circuit);
    let values = circuit.outputs.iter().flat_map(|output| &output.values);
    values.map(|&value| noise.deviations(value)).collect()
}

/// log2 of a bound on the probability that a run of a circuit is wrong. The bound is the sum over
/// all bootstrappings, which may read a wrong entry, and over all results, which may decrypt to a
/// neighbour. It is an average over keys, as [`Params::log2_failure`].
///
/// # Errors
/// The errors of [`check`](super::check). [`Error::Circuit`](crate::Error::Circuit) for a bound
/// above `2^limit`, and for a limit above [`MAX_LOG2_FAILURE`].
pub fn log2_failure(params: &Params, circuit: &Circuit, limit: f64) -> Result<f64> {
    check(params, circuit)?;
    let what = "log2 of the probability of a wrong run";
    if limit.is_nan() || limit > MAX_LOG2_FAILURE {
        let expected = format!("at most {MAX_LOG2_FAILURE}");
        return Err(unfit(what, limit.to_string(), expected));
    }
    let (noise, model) = (Noise::of(circuit), params.noise());
    let margin = match circuit.is_of_bits() {
        true => 0.125,
        false => 0.25 / params.values() as f64,
    };
    let mut parts: Vec<f64> = Vec::new();
    for op in &circuit.steps {
        let mut gate = |gate: Gate, left: ValueId, right: ValueId| {
            let (x, y, _) = gate.combination();
            // Factors of 2 also double the distance between two phases.
            let margin = margin * x.unsigned_abs() as f64;
            parts.push(model.log2_failure(noise.norm(&[(x, left), (y, right)]), margin, 0));
        };
        match op {
            Op::Gate {
                gate: of,
                left,
                right,
            } => gate(gate_of(*of), *left, *right),
            Op::Choose { condition, yes, no } => {
                gate(Gate::And, *condition, *yes);
                gate(Gate::AndNy, *condition, *no);
            }
            Op::Lookup { value, tables } => {
                let drop = tables.len().next_power_of_two().ilog2();
                parts.push(model.log2_failure(noise.norm(&[(1, *value)]), margin, drop));
            }
            _ => {}
        }
    }
    for &value in circuit.outputs.iter().flat_map(|output| &output.values) {
        let variance = noise.norm(&[(1, value)]) * model.output().max(model.fresh());
        if variance > 0.0 {
            let deviations = margin / variance.sqrt();
            parts.push(tfhe::noise::log2_two_sided_tail(deviations));
        }
    }
    let total = parts.into_iter().fold(f64::NEG_INFINITY, log2_sum);
    if total > limit {
        let expected = format!("at most {limit}, in all: use parameters that fail less often");
        return Err(unfit(what, format!("{total:.1}"), expected));
    }
    Ok(total)
}
