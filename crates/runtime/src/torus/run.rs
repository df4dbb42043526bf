//! Circuits on samples, run by a server's keys.

use super::describe::parameters;
use crate::error::{Error, Result};
use program::torus::{Circuit, Op};
use program::trace::Constant;
use ring::torus::{Multiplier, Torus};
use tfhe::{Glwe, Lwe, Scratch, ServerKey, modulus_switch};

/// What a step makes.
enum Made<T> {
    /// A sample under either secret.
    Sample(Lwe<T>),
    /// Exponents of X.
    Exponents(Vec<usize>),
    /// The accumulator of a blind rotation.
    Ring(Glwe<T>),
}

/// Runs a circuit on samples: what it gives, in order.
///
/// # Errors
/// Those of [`Circuit::verify`]; [`Error::Circuit`] for a circuit of other parameters, or samples that it lacks.
pub fn run<T: Torus, M: Multiplier<T>>(
    server: &ServerKey<T, M>,
    circuit: &Circuit,
    inputs: &[Lwe<T>],
) -> Result<Vec<Lwe<T>>> {
    circuit.verify()?;
    let (params, found) = (server.params(), &circuit.parameters);
    let own = parameters(params);
    if *found != own {
        let (found, expected) = (format!("{found:?}"), format!("{own:?}"));
        return Err(refused("the parameters of the circuit", found, expected));
    }
    let bootstrapper = server.bootstrapper();
    let mut scratch = Scratch::new(params, bootstrapper.multiplier());
    let mut made: Vec<Made<T>> = Vec::with_capacity(circuit.steps.len());
    let mut outputs = Vec::new();
    for op in &circuit.steps {
        made.push(match op {
            Op::Input { index } => {
                let input = inputs.get(*index);
                let fits = input.filter(|input| input.dimension() == params.big_dimension());
                let input = fits.ok_or_else(|| {
                    let expected = format!("one of {} words of mask", params.big_dimension());
                    let found = input.map_or("missing".into(), |x| x.dimension().to_string());
                    refused("an input", found, expected)
                })?;
                Made::Sample(input.clone())
            }
            Op::Combine { constant, terms } => {
                let mut sum =
                    Lwe::trivial(params.big_dimension(), T::from_low_bits(*constant as u64));
                for &(factor, value) in terms {
                    sum.add_scaled(sample(&made[value]), factor);
                }
                Made::Sample(sum)
            }
            Op::KeySwitch { value } => {
                Made::Sample(bootstrapper.key_switch(sample(&made[*value]), &mut scratch))
            }
            Op::ModulusSwitch { value, drop } => {
                let words = sample(&made[*value]).words();
                let mut exponents = vec![0; words.len()];
                modulus_switch(&mut exponents, words, own.exponent_bits(), *drop);
                Made::Exponents(exponents)
            }
            Op::BlindRotation { value, test } => {
                let Made::Exponents(exponents) = &made[*value] else {
                    unreachable!("the verifier knows what operands are")
                };
                let words = Constant::words(&circuit.constants, *test, params.n());
                let words = words.into_iter().map(|word| T::from_low_bits(word as u64));
                let words: Vec<T> = words.collect();
                Made::Ring(bootstrapper.blind_rotation(exponents, &words, &mut scratch))
            }
            Op::Extraction { value, place } => {
                let Made::Ring(ring) = &made[*value] else {
                    unreachable!("the verifier knows what operands are")
                };
                Made::Sample(ring.extract(*place))
            }
            Op::Output { value } => {
                let output = sample(&made[*value]).clone();
                outputs.push(output.clone());
                Made::Sample(output)
            }
        });
    }
    Ok(outputs)
}

fn sample<T: Torus>(made: &Made<T>) -> &Lwe<T> {
    match made {
        Made::Sample(sample) => sample,
        Made::Exponents(_) | Made::Ring(_) => {
            unreachable!("the verifier knows what operands are")
        }
    }
}

fn refused(what: &str, found: String, expected: String) -> Error {
    Error::Circuit {
        what: what.into(),
        found,
        expected,
    }
}
