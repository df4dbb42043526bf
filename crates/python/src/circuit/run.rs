//! Runs of a circuit, with inputs as slots, and results as ciphertexts or bytes.

use std::collections::BTreeMap;

use ckks::Complex64;
use program::circuit::{Arithmetic, Circuit};
use program::trace::Trace;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use runtime::circuit::{self, Argument, Bfv, Runner, Slot, Slots};

use crate::error::{ToPython, UsageError};
use crate::schemes::InScheme;
use crate::schemes::ckks::{CkksCiphertext, complex};
use crate::schemes::exact::{ExactCiphertext, residues};
use crate::schemes::keys::SchemeKeys;
use crate::schemes::params::{Scheme, SchemeParams};

/// A value that Python passes for an input.
#[derive(FromPyObject)]
pub(crate) enum Given {
    Ckks(Py<CkksCiphertext>),
    Exact(Py<ExactCiphertext>),
    Plain(PyBackedBytes),
}

/// A result.
#[derive(IntoPyObject)]
pub(crate) enum Made {
    Ckks(CkksCiphertext),
    Exact(ExactCiphertext),
}

type Bytes = BTreeMap<String, PyBackedBytes>;

/// A circuit, its inputs and keys, and optionally the trace to replay instead.
type Work<'a> = (
    &'a Circuit,
    &'a BTreeMap<String, Given>,
    &'a SchemeKeys,
    Option<&'a Trace>,
);

impl Given {
    /// The parameters of a ciphertext.
    pub(crate) fn params(&self) -> Option<&SchemeParams> {
        match self {
            Self::Ckks(ct) => Some(ct.get().params()),
            Self::Exact(ct) => Some(ct.get().params()),
            Self::Plain(_) => None,
        }
    }
}

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

fn in_input(name: &str, words: String) -> PyErr {
    UsageError::new_err(format!("input {name}: {words}"))
}

/// Complex slots by name. All numbers must be finite.
pub(crate) fn complex_inputs(inputs: &Bytes) -> PyResult<Slots> {
    slots_by_name(inputs, finite)
}

fn finite(bytes: &[u8]) -> Result<Vec<Complex64>, String> {
    let slots = complex(bytes);
    match slots.iter().position(|v| !v.is_finite()) {
        Some(index) => {
            let found = slots[index];
            Err(format!(
                "value {index} is {found}, expected a finite number"
            ))
        }
        None => Ok(slots),
    }
}

/// Raises if a key that the circuit needs is missing, for the first such key.
pub(crate) fn check_keys(circuit: &Circuit, keys: &SchemeKeys) -> PyResult<()> {
    let needs = circuit.keys();
    if needs.relinearization.is_some() {
        keys.relinearization()?;
    }
    for &steps in needs.rotations.keys() {
        keys.for_rotation(steps as isize)?;
    }
    if needs.conjugation.is_some() {
        keys.for_conjugation("the conjugation, or the swap of rows")?;
    }
    if needs.bootstrapping {
        keys.sparse()?;
    }
    Ok(())
}

/// Runs the circuit, or its trace, on ciphertexts.
pub(crate) fn encrypted(
    circuit: &Circuit,
    inputs: &BTreeMap<String, Given>,
    keys: &SchemeKeys,
    trace: Option<&Trace>,
) -> PyResult<BTreeMap<String, Made>> {
    let params = &keys.params;
    match params.scheme() {
        Scheme::Ckks(e) => {
            let open = |given: &Given| match given {
                Given::Ckks(ct) => Ok(Some(ct.get().ct().clone())),
                _ => Ok(None),
            };
            let close = |ct| Made::Ckks(CkksCiphertext::new(params, ct));
            let of = (circuit, inputs, keys, trace);
            run(e.params(), of, finite, open, close)
        }
        Scheme::Bfv(e) => {
            let slots = |bytes: &[u8]| residues(e.params().t().value(), bytes);
            let scheme = Bfv(e.params().clone());
            let open = |given: &Given| match given {
                Given::Exact(ct) => Ok(Some(ct.get().ct().clone())),
                _ => Ok(None),
            };
            let close = |ct| Made::Exact(ExactCiphertext::new(params, ct));
            run(&scheme, (circuit, inputs, keys, trace), slots, open, close)
        }
        Scheme::Bgv(e) => {
            let slots = |bytes: &[u8]| residues(e.params().t().value(), bytes);
            let open = |given: &Given| match given {
                Given::Exact(ct) => {
                    let ct = bgv::Ciphertext::from_exact(e.params(), ct.get().ct().clone());
                    ct.or_raise().map(Some)
                }
                _ => Ok(None),
            };
            let close =
                |ct: bgv::Ciphertext| Made::Exact(ExactCiphertext::new(params, ct.into_exact()));
            let of = (circuit, inputs, keys, trace);
            run(e.params(), of, slots, open, close)
        }
    }
}

/// A run of one scheme. `slots` parses a plaintext's bytes, `open` returns a ciphertext if it is
/// one of the scheme, and `close` converts a result.
fn run<S: circuit::Scheme>(
    scheme: &S,
    (circuit, inputs, keys, trace): Work<'_>,
    slots: impl Fn(&[u8]) -> Result<Vec<S::Slot>, String>,
    open: impl Fn(&Given) -> PyResult<Option<S::Ciphertext>>,
    close: impl Fn(S::Ciphertext) -> Made,
) -> PyResult<BTreeMap<String, Made>> {
    let (mut plain, mut ciphertexts) = (BTreeMap::new(), BTreeMap::new());
    for (name, given) in inputs {
        if let Given::Plain(bytes) = given {
            let slots = slots(bytes).map_err(|words| in_input(name, words))?;
            plain.insert(name.as_str(), slots);
        } else if let Some(ct) = open(given)? {
            ciphertexts.insert(name.as_str(), ct);
        }
    }
    let mut arguments = BTreeMap::new();
    arguments.extend(
        plain
            .iter()
            .map(|(&name, slots)| (name, Argument::Plain(slots))),
    );
    let ciphertexts = ciphertexts.iter();
    arguments.extend(ciphertexts.map(|(&name, ct)| (name, Argument::Ciphertext(ct))));
    let runner = Runner::new(scheme, circuit).or_raise()?;
    let keys = &keys.keys;
    let found = match trace {
        None => runner.run(&arguments, keys).or_raise()?,
        Some(trace) => {
            let replayed = runner.replay(trace, &arguments, keys, |_| true);
            replayed.or_raise()?.0
        }
    };
    let found = found.into_iter();
    Ok(found.map(|(name, ct)| (name, close(ct))).collect())
}

/// The operations of a circuit on ciphertexts as text, and its trace, with the plaintexts among its
/// inputs.
pub(crate) fn lower(
    circuit: &Circuit,
    params: &SchemeParams,
    plain: &Bytes,
) -> PyResult<(String, Trace)> {
    match params.scheme() {
        Scheme::Ckks(e) => lowered(e.params(), circuit, &complex_inputs(plain)?),
        Scheme::Bfv(e) => lowered(
            &Bfv(e.params().clone()),
            circuit,
            &exact(e.params(), plain)?,
        ),
        Scheme::Bgv(e) => lowered(e.params(), circuit, &exact(e.params(), plain)?),
    }
}

fn exact(params: &bgv::Params, plain: &Bytes) -> PyResult<Slots<u64>> {
    slots_by_name(plain, |bytes| residues(params.t().value(), bytes))
}

fn lowered<S: circuit::Scheme>(
    scheme: &S,
    circuit: &Circuit,
    plain: &Slots<S::Slot>,
) -> PyResult<(String, Trace)> {
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
