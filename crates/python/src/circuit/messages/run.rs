//! Runs of a circuit of TFHE, and the conversion between batches and samples.

use std::collections::BTreeMap;

use ::tfhe::{Bit, Integer, Lwe};
use program::message::{Circuit, Input, Made as Known, Output};
use program::torus;
use pyo3::prelude::*;
use ring::torus::Torus;
use trace::Trace;

use super::builder::kind;
use crate::error::{ToPython, UsageError};
use crate::tfhe::{Batch, BySize, TfheBits, TfheIntegers, TfheParams, TfheServer, two_sizes};

/// A value that Python passes for an input.
#[derive(FromPyObject)]
pub(super) enum Given {
    Bits(Py<TfheBits>),
    Integers(Py<TfheIntegers>),
}

/// A result.
#[derive(IntoPyObject)]
pub(super) enum Made {
    Bits(TfheBits),
    Integers(TfheIntegers),
}

impl Given {
    fn params(&self) -> &TfheParams {
        match self {
            Self::Bits(x) => &x.get().params,
            Self::Integers(x) => &x.get().params,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Bits(_) => "bits",
            Self::Integers(_) => "integers",
        }
    }
}

/// Checks that the value passed for an input fits the input.
fn checked<'a>(
    circuit: &'a Circuit,
    params: &TfheParams,
    inputs: &'a BTreeMap<String, Given>,
) -> PyResult<Vec<(&'a Input, &'a Given)>> {
    let names = circuit.check_names(inputs.keys().map(String::as_str));
    names.map_err(ToPython::to_python)?;
    let mut found = Vec::with_capacity(inputs.len());
    for input in &circuit.inputs {
        let given = &inputs[&input.name];
        let (is, expected) = (given.kind(), kind(circuit.messages));
        if is != expected {
            let words = format!("input {}: {is}, expected {expected}", input.name);
            return Err(UsageError::new_err(words));
        }
        params.check(&format!("input {}", input.name), given.params())?;
        found.push((input, given));
    }
    Ok(found)
}

/// Refuses messages with carry, and noise that is not fresh. Nothing shows if messages have few
/// enough bits: the client who encrypts must see to it.
fn check_items<T: Torus>(input: &Input, items: &[Integer<T>], messages: i64) -> PyResult<()> {
    let most = messages as u64 - 1;
    let largest = items.iter().map(Integer::max).max().unwrap_or(0);
    let noise = items.iter().map(Integer::noise).max().unwrap_or(0);
    let wrong = |what: &str, found: u64, most: u64| {
        let name = &input.name;
        let words = format!("input {name}: {what} {found}, expected at most {most}: use message()");
        Err(UsageError::new_err(words))
    };
    if largest > most {
        return wrong("values of up to", largest, most);
    }
    if noise > 1 {
        return wrong("noise of bootstrappings", noise, 1);
    }
    Ok(())
}

fn check_count(input: &Input, found: usize) -> PyResult<()> {
    let expected = input.len();
    if found == expected {
        return Ok(());
    }
    let name = &input.name;
    let words = format!("input {name}: {found} messages, expected {expected}");
    Err(UsageError::new_err(words))
}

/// The samples of all inputs, with words of one size.
macro_rules! samples {
    ($inputs:expr, $size:ident, $messages:expr) => {{
        let mut samples = Vec::new();
        for (input, given) in $inputs {
            match given {
                Given::Bits(x) => {
                    let BySize::$size(batch) = &x.get().held else {
                        return Err(two_sizes());
                    };
                    check_count(input, batch.items.len())?;
                    samples.extend(batch.items.iter().map(|x| x.lwe().clone()));
                }
                Given::Integers(x) => {
                    let BySize::$size(batch) = &x.get().held else {
                        return Err(two_sizes());
                    };
                    check_count(input, batch.items.len())?;
                    check_items(input, &batch.items, $messages)?;
                    samples.extend(batch.items.iter().map(|x| x.lwe().clone()));
                }
            }
        }
        samples
    }};
}

/// Runs a circuit, or replays it from a trace. Returns the results by name.
pub(super) fn run(
    circuit: &Circuit,
    described: &torus::Circuit,
    inputs: &BTreeMap<String, Given>,
    keys: &TfheServer,
    trace: Option<&Trace>,
) -> PyResult<BTreeMap<String, Made>> {
    let inputs = checked(circuit, &keys.params, inputs)?;
    // The results are batches with words of the same size.
    macro_rules! on {
        ($size:ident, $key:expr, $seeded:expr) => {{
            let inputs = samples!(inputs, $size, circuit.messages.messages());
            let found = match trace {
                None => evaluate::torus::run($key, described, &inputs),
                Some(trace) => {
                    let replayed = evaluate::torus::replay($seeded, trace, &inputs, |_| true);
                    replayed.map(|(found, _)| found)
                }
            };
            let found = found.map_err(ToPython::to_python)?;
            let bits = |items| Made::Bits(TfheBits::new(&keys.params, BySize::$size(items)));
            let integers =
                |items| Made::Integers(TfheIntegers::new(&keys.params, BySize::$size(items)));
            results(circuit, &keys.params, found, bits, integers)
        }};
    }
    match (&keys.key, &keys.seeded) {
        (BySize::Short(key), BySize::Short(seeded)) => on!(Short, key, seeded),
        (BySize::Long(key), BySize::Long(seeded)) => on!(Long, key, seeded),
        _ => Err(two_sizes()),
    }
}

/// Converts samples to the messages of each output.
fn results<T: Torus>(
    circuit: &Circuit,
    params: &TfheParams,
    samples: Vec<Lwe<T>>,
    bits: impl Fn(Batch<Bit<T>, T>) -> Made,
    integers: impl Fn(Batch<Integer<T>, T>) -> Made,
) -> PyResult<BTreeMap<String, Made>> {
    let (made, params) = (circuit.made(), params.get());
    let noises = evaluate::torus::output_noise(circuit);
    let mut rest = samples.into_iter().zip(noises);
    let one = |output: &Output| -> ::tfhe::Result<Made> {
        let samples = rest.by_ref().take(output.values.len());
        if circuit.is_of_bits() {
            let items = samples.map(|(sample, _)| Bit::of_sample(params, sample));
            return Ok(bits(Batch::of(items.collect::<Result<_, _>>()?)));
        }
        let items = samples
            .zip(&output.values)
            .map(|((sample, noise), &value)| {
                let Known::Integer(range) = &made[value] else {
                    unreachable!("the verifier knows what results are")
                };
                let largest = range.largest + range.offset(circuit.messages);
                Integer::of_sample(params, sample, largest as u64, noise)
            });
        Ok(integers(Batch::of(items.collect::<Result<_, _>>()?)))
    };
    let found = circuit
        .outputs
        .iter()
        .map(one)
        .collect::<Result<Vec<_>, _>>();
    let found = found.map_err(ToPython::to_python)?;
    let names = circuit.outputs.iter().map(|output| output.name.clone());
    Ok(names.zip(found).collect())
}
