//! Runs of a circuit, with inputs as slots, and results as ciphertexts or bytes.

use std::collections::BTreeMap;

use ckks::Complex64;
use evaluate::circuit::{self, Bfv, Border, Meeting, Runner, Slot, Slots};
use executor::Results;
use program::circuit::{Arithmetic, Circuit};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use trace::Trace;

use super::passed::{Given, Inputs, Made, Passed, finite, in_input, in_scheme, made};
use crate::error::ToPython;
use crate::schemes::InScheme;
use crate::schemes::exact::residues;
use crate::schemes::keys::SchemeKeys;
use crate::schemes::params::{Scheme, SchemeParams};

/// The values of a circuit's inputs, by name.
pub(crate) type Arguments = BTreeMap<String, Given>;
type Bytes = BTreeMap<String, PyBackedBytes>;

/// Runs the circuit on plain numbers.
pub(crate) fn clear(circuit: &Circuit, inputs: &Bytes) -> PyResult<BTreeMap<String, Vec<u8>>> {
    Ok(match &circuit.arithmetic {
        Arithmetic::Exact { t, .. } => {
            let inputs = slots_by_name(inputs, |bytes| residues(*t, bytes))?;
            let bytes = |slots: Vec<u64>| slots.iter().flat_map(|v| v.to_ne_bytes()).collect();
            values(circuit, &inputs, bytes)?
        }
        _ => values(circuit, &complex_inputs(inputs)?, |slots| {
            complex_bytes(&slots)
        })?,
    })
}

fn values<T: Slot>(
    circuit: &Circuit,
    inputs: &Slots<T>,
    bytes: impl Fn(Vec<T>) -> Vec<u8>,
) -> PyResult<BTreeMap<String, Vec<u8>>> {
    let found = circuit::run_clear(circuit, inputs).map_err(ToPython::to_python)?;
    let found = found.into_iter();
    Ok(found.map(|(name, slots)| (name, bytes(slots))).collect())
}

/// Parses the bytes of each input. An error names the input.
fn slots_by_name<T>(
    inputs: &Bytes,
    slots: impl Fn(&[u8]) -> Result<Vec<T>, String>,
) -> PyResult<Slots<T>> {
    let one = |(name, bytes): (&String, &PyBackedBytes)| {
        let slots = slots(bytes).map_err(|words| in_input(name, words))?;
        Ok((name.clone(), slots))
    };
    inputs.iter().map(one).collect()
}

/// Complex slots by name. All numbers must be finite.
pub(crate) fn complex_inputs(inputs: &Bytes) -> PyResult<Slots> {
    slots_by_name(inputs, finite)
}

/// Runs the circuit, or its trace, on ciphertexts: once for each group of inputs. The constants are
/// encoded once.
pub(crate) fn encrypted(
    circuit: &Circuit,
    groups: impl Iterator<Item = PyResult<Arguments>>,
    keys: &SchemeKeys,
    trace: Option<&Trace>,
) -> PyResult<Vec<BTreeMap<String, Made>>> {
    in_scheme!(keys.params_of(), |scheme| run(
        scheme, circuit, groups, keys, trace
    ))
}

fn run<S: Passed>(
    scheme: &S,
    circuit: &Circuit,
    groups: impl Iterator<Item = PyResult<Arguments>>,
    keys: &SchemeKeys,
    trace: Option<&Trace>,
) -> PyResult<Vec<BTreeMap<String, Made>>> {
    let runner = Runner::new(scheme, circuit).or_raise()?;
    let one = |group: PyResult<Arguments>| {
        let inputs = Inputs::new(scheme, &group?)?;
        let (arguments, own) = (inputs.arguments(), keys.raw());
        let outputs = match trace {
            None => runner.run(&arguments, own).or_raise()?,
            Some(trace) => {
                let replayed = runner.replay(trace, &arguments, own, |_| true);
                replayed.or_raise()?.0
            }
        };
        made::<S>(&keys.params_of(), outputs)
    };
    groups.map(one).collect()
}

/// The ciphertexts that a trace of the circuit loads, by their names in the trace, and the secret
/// that they share with the keys.
pub(crate) fn given(
    circuit: &Circuit,
    keys: &SchemeKeys,
    inputs: &BTreeMap<String, Given>,
) -> PyResult<(BTreeMap<String, rlwe::Ciphertext>, Meeting)> {
    let params = keys.params_of();
    in_scheme!(params, |scheme| {
        let inputs = Inputs::new(scheme, inputs)?;
        let border = Border::new(scheme, circuit).or_raise()?;
        let arguments = inputs.arguments();
        let meeting = border.meet(&arguments, keys.raw()).or_raise()?;
        let given = border.given(&arguments).or_raise()?.into_iter();
        let given = given.map(|(name, ct)| (name, ct.clone())).collect();
        Ok((given, meeting))
    })
}

/// The outputs of the circuit, of the results that its trace has stored.
pub(crate) fn outputs(
    circuit: &Circuit,
    params: &SchemeParams,
    (results, meeting): (&Results, &Meeting),
) -> PyResult<BTreeMap<String, Made>> {
    fn of<S: Passed>(
        (scheme, params): (&S, &SchemeParams),
        circuit: &Circuit,
        (results, meeting): (&Results, &Meeting),
    ) -> PyResult<BTreeMap<String, Made>> {
        let border = Border::new(scheme, circuit).or_raise()?;
        let outputs = border.outputs(results, meeting).or_raise()?;
        made::<S>(params, outputs)
    }
    in_scheme!(params, |scheme| of(
        (scheme, params),
        circuit,
        (results, meeting)
    ))
}

/// The operations of a circuit on ciphertexts as text, and its trace, with the plaintexts among its
/// inputs.
pub(crate) fn lower(
    circuit: &Circuit,
    params: &SchemeParams,
    plain: &Bytes,
) -> PyResult<(String, Trace)> {
    in_scheme!(params, |scheme| lowered(scheme, circuit, plain))
}

fn lowered<S: Passed>(scheme: &S, circuit: &Circuit, plain: &Bytes) -> PyResult<(String, Trace)> {
    let plain = slots_by_name(plain, |bytes| scheme.parsed(bytes))?;
    let plain = plain.iter();
    let plain = plain.map(|(name, slots)| (name.as_str(), slots.as_slice()));
    let runner = Runner::new(scheme, circuit).or_raise()?;
    let recording = runner.record(&plain.collect()).or_raise()?;
    let trace = runner.lower_recording(&recording).or_raise()?;
    Ok((recording.to_string(), trace))
}

/// Complex doubles as bytes, in this machine's order.
pub(crate) fn complex_bytes(slots: &[Complex64]) -> Vec<u8> {
    let parts = slots.iter().flat_map(|v| [v.re, v.im]);
    parts.flat_map(f64::to_ne_bytes).collect()
}
