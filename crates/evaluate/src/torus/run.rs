//! Runs circuits on samples with a server's keys.

use super::describe::parameters;
use super::messages::unfit;
use crate::error::Result;
use program::torus::{Circuit, Op, ValueId};
use ring::torus::{Multiplier, Torus};
use std::collections::BTreeMap;
use tfhe::{Glwe, Lwe, ServerKey, modulus_switch};
use trace::Constant;

/// The result of a step.
enum Made<T> {
    /// A sample under the big or the small secret.
    Sample(Lwe<T>),
    /// Exponents of X.
    Exponents(Vec<usize>),
    /// The accumulator of a blind rotation.
    Ring(Glwe<T>),
}

/// Runs a circuit on samples and returns its outputs, in order.
///
/// Bootstrappings that do not depend on each other run on the threads of the pool.
///
/// # Errors
/// The errors of [`Circuit::verify`]. [`Error::Circuit`](crate::Error::Circuit) for a circuit of
/// other parameters and for missing samples.
pub fn run<T: Torus, M: Multiplier<T>>(
    server: &ServerKey<T, M>,
    circuit: &Circuit,
    inputs: &[Lwe<T>],
) -> Result<Vec<Lwe<T>>> {
    circuit.verify()?;
    let (params, stated) = (server.params(), &circuit.parameters);
    let own = parameters(params);
    if *stated != own {
        let (found, expected) = (format!("{stated:?}"), format!("{own:?}"));
        return Err(unfit("the parameters of the circuit", found, expected));
    }
    for input in inputs {
        server.check_key(input)?;
    }
    let mut work = Work {
        server,
        circuit,
        inputs,
        made: circuit.steps.iter().map(|_| None).collect(),
    };
    for (order, steps) in ordered(circuit) {
        if order.kind == Kind::Sum {
            // Some of these steps may read others.
            for step in steps {
                work.made[step] = Some(work.step(step)?);
            }
        } else {
            let results = ring::par_map(steps.len(), |i| work.step(steps[i]));
            for (step, result) in steps.into_iter().zip(results) {
                work.made[step] = Some(result?);
            }
        }
    }
    let outputs = (0..circuit.steps.len())
        .filter(|&step| matches!(circuit.steps[step], Op::Output { .. }))
        .map(|step| work.sample(step).clone().of_key(server.key()));
    Ok(outputs.collect())
}

/// The key by which steps are ordered: the number of bootstrappings before a step, then its kind.
/// Only sums of equal order may read each other.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    depth: usize,
    kind: Kind,
}

/// Kinds of steps, in their order within a bootstrapping.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Sum,
    KeySwitch,
    ModulusSwitch,
    BlindRotation,
}

/// All steps by their order. Each step comes after its operands.
fn ordered(circuit: &Circuit) -> BTreeMap<Order, Vec<ValueId>> {
    let mut depths: Vec<usize> = Vec::with_capacity(circuit.steps.len());
    let mut ordered: BTreeMap<Order, Vec<ValueId>> = BTreeMap::new();
    for (step, op) in circuit.steps.iter().enumerate() {
        let after = |value: ValueId| {
            let rotation = matches!(circuit.steps[value], Op::BlindRotation { .. });
            depths[value] + usize::from(rotation)
        };
        let depth = op.operands().into_iter().map(after).max().unwrap_or(0);
        let kind = match op {
            Op::KeySwitch { .. } => Kind::KeySwitch,
            Op::ModulusSwitch { .. } => Kind::ModulusSwitch,
            Op::BlindRotation { .. } => Kind::BlindRotation,
            Op::Input { .. } | Op::Combine { .. } | Op::Extraction { .. } | Op::Output { .. } => {
                Kind::Sum
            }
        };
        depths.push(depth);
        ordered.entry(Order { depth, kind }).or_default().push(step);
    }
    ordered
}

struct Work<'a, T: Torus, M: Multiplier<T>> {
    server: &'a ServerKey<T, M>,
    circuit: &'a Circuit,
    inputs: &'a [Lwe<T>],
    made: Vec<Option<Made<T>>>,
}

impl<T: Torus, M: Multiplier<T>> Work<'_, T, M> {
    fn step(&self, step: ValueId) -> Result<Made<T>> {
        let (params, bootstrapper) = (self.server.params(), self.server.bootstrapper());
        Ok(match &self.circuit.steps[step] {
            Op::Input { index } => {
                let input = self.inputs.get(*index);
                let fits = input.filter(|input| input.dimension() == params.big_dimension());
                let input = fits.ok_or_else(|| {
                    let expected = format!("one of {} words of mask", params.big_dimension());
                    let found = input.map_or("missing".into(), |x| x.dimension().to_string());
                    unfit("an input", found, expected)
                })?;
                Made::Sample(input.clone())
            }
            Op::Combine { constant, terms } => {
                let mut sum =
                    Lwe::trivial(params.big_dimension(), T::from_low_bits(*constant as u64));
                for &(factor, value) in terms {
                    sum.add_scaled(self.sample(value), factor);
                }
                Made::Sample(sum)
            }
            Op::KeySwitch { value } => {
                let input = self.sample(*value);
                let switch = |scratch: &mut _| bootstrapper.key_switch(input, scratch);
                Made::Sample(self.server.with_scratch(switch))
            }
            Op::ModulusSwitch { value, drop } => {
                let words = self.sample(*value).words();
                let mut exponents = vec![0; words.len()];
                let bits = self.circuit.parameters.exponent_bits();
                modulus_switch(&mut exponents, words, bits, *drop);
                Made::Exponents(exponents)
            }
            Op::BlindRotation { value, test } => {
                let Some(Made::Exponents(exponents)) = &self.made[*value] else {
                    unreachable!("the verifier knows what operands are")
                };
                let words = Constant::words(&self.circuit.constants, *test, params.n());
                let words = words.into_iter().map(|word| T::from_low_bits(word as u64));
                let words: Vec<T> = words.collect();
                let rotate =
                    |scratch: &mut _| bootstrapper.blind_rotation(exponents, &words, scratch);
                Made::Ring(self.server.with_scratch(rotate))
            }
            Op::Extraction { value, place } => {
                let Some(Made::Ring(ring)) = &self.made[*value] else {
                    unreachable!("the verifier knows what operands are")
                };
                Made::Sample(ring.extract(*place))
            }
            Op::Output { value } => Made::Sample(self.sample(*value).clone()),
        })
    }

    fn sample(&self, value: ValueId) -> &Lwe<T> {
        match &self.made[value] {
            Some(Made::Sample(sample)) => sample,
            _ => unreachable!("the verifier knows what operands are"),
        }
    }
}
