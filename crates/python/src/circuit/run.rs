//! Runs of a circuit, with inputs as slots, and results as ciphertexts or bytes.

use std::collections::BTreeMap;

use ckks::Complex64;
use program::circuit::{Arithmetic, Circuit};
use program::trace::Trace;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use runtime::circuit::{self, Argument, Bfv, Border, Runner, Slot, Slots};
use runtime::replay::Results;

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

/// A scheme whose values Python passes.
trait Passed: circuit::Scheme {
    /// The slots in a plaintext's bytes.
    fn parsed(&self, bytes: &[u8]) -> Result<Vec<Self::Slot>, String>;
    /// The ciphertext, if it is one of this scheme.
    fn taken(&self, given: &Given) -> PyResult<Option<Self::Ciphertext>>;
    /// A result for Python.
    fn made(params: &SchemeParams, ct: Self::Ciphertext) -> Made;
}

impl Passed for ckks::Params {
    fn parsed(&self, bytes: &[u8]) -> Result<Vec<Complex64>, String> {
        finite(bytes)
    }

    fn taken(&self, given: &Given) -> PyResult<Option<ckks::Ciphertext>> {
        Ok(match given {
            Given::Ckks(ct) => Some(ct.get().ct().clone()),
            _ => None,
        })
    }

    fn made(params: &SchemeParams, ct: ckks::Ciphertext) -> Made {
        Made::Ckks(CkksCiphertext::new(params, ct))
    }
}

impl Passed for Bfv {
    fn parsed(&self, bytes: &[u8]) -> Result<Vec<u64>, String> {
        residues(self.0.t().value(), bytes)
    }

    fn taken(&self, given: &Given) -> PyResult<Option<bfv::Ciphertext>> {
        Ok(match given {
            Given::Exact(ct) => Some(ct.get().ct().clone()),
            _ => None,
        })
    }

    fn made(params: &SchemeParams, ct: bfv::Ciphertext) -> Made {
        Made::Exact(ExactCiphertext::new(params, ct))
    }
}

impl Passed for bgv::Params {
    fn parsed(&self, bytes: &[u8]) -> Result<Vec<u64>, String> {
        residues(self.t().value(), bytes)
    }

    fn taken(&self, given: &Given) -> PyResult<Option<bgv::Ciphertext>> {
        match given {
            Given::Exact(ct) => {
                let ct = bgv::Ciphertext::from_exact(self, ct.get().ct().clone());
                ct.or_raise().map(Some)
            }
            _ => Ok(None),
        }
    }

    fn made(params: &SchemeParams, ct: bgv::Ciphertext) -> Made {
        Made::Exact(ExactCiphertext::new(params, ct.into_exact()))
    }
}

/// Calls a function with the parameters of the scheme.
macro_rules! in_scheme {
    ($params:expr, |$scheme:ident| $work:expr) => {
        match $params.scheme() {
            Scheme::Ckks(e) => {
                let $scheme = e.params();
                $work
            }
            Scheme::Bfv(e) => {
                let $scheme = &Bfv(e.params().clone());
                $work
            }
            Scheme::Bgv(e) => {
                let $scheme = e.params();
                $work
            }
        }
    };
}

/// Runs the circuit, or its trace, on ciphertexts.
pub(crate) fn encrypted(
    circuit: &Circuit,
    inputs: &BTreeMap<String, Given>,
    keys: &SchemeKeys,
    trace: Option<&Trace>,
) -> PyResult<BTreeMap<String, Made>> {
    in_scheme!(keys.params, |scheme| run(
        scheme, circuit, inputs, keys, trace
    ))
}

fn run<S: Passed>(
    scheme: &S,
    circuit: &Circuit,
    inputs: &BTreeMap<String, Given>,
    keys: &SchemeKeys,
    trace: Option<&Trace>,
) -> PyResult<BTreeMap<String, Made>> {
    let inputs = Inputs::new(scheme, inputs)?;
    let runner = Runner::new(scheme, circuit).or_raise()?;
    let (arguments, own) = (inputs.arguments(), &keys.keys);
    let found = match trace {
        None => runner.run(&arguments, own).or_raise()?,
        Some(trace) => {
            let replayed = runner.replay(trace, &arguments, own, |_| true);
            replayed.or_raise()?.0
        }
    };
    Ok(made::<S>(&keys.params, found))
}

fn made<S: Passed>(
    params: &SchemeParams,
    found: BTreeMap<String, S::Ciphertext>,
) -> BTreeMap<String, Made> {
    let found = found.into_iter();
    found
        .map(|(name, ct)| (name, S::made(params, ct)))
        .collect()
}

/// Inputs of a circuit in a scheme's types.
struct Inputs<S: circuit::Scheme> {
    plain: BTreeMap<String, Vec<S::Slot>>,
    ciphertexts: BTreeMap<String, S::Ciphertext>,
}

impl<S: Passed> Inputs<S> {
    fn new(scheme: &S, inputs: &BTreeMap<String, Given>) -> PyResult<Self> {
        let (mut plain, mut ciphertexts) = (BTreeMap::new(), BTreeMap::new());
        for (name, given) in inputs {
            if let Given::Plain(bytes) = given {
                let slots = scheme
                    .parsed(bytes)
                    .map_err(|words| in_input(name, words))?;
                plain.insert(name.clone(), slots);
            } else if let Some(ct) = scheme.taken(given)? {
                ciphertexts.insert(name.clone(), ct);
            }
        }
        Ok(Self { plain, ciphertexts })
    }

    fn arguments(&self) -> BTreeMap<&str, Argument<'_, S>> {
        let plain = self.plain.iter();
        let plain = plain.map(|(name, slots)| (name.as_str(), Argument::Plain(slots)));
        let ciphertexts = self.ciphertexts.iter();
        let ciphertexts = ciphertexts.map(|(name, ct)| (name.as_str(), Argument::Ciphertext(ct)));
        plain.chain(ciphertexts).collect()
    }
}

/// The ciphertexts that a trace of the circuit loads, by their names there.
pub(crate) fn given(
    circuit: &Circuit,
    params: &SchemeParams,
    inputs: &BTreeMap<String, Given>,
) -> PyResult<BTreeMap<String, rlwe::Ciphertext>> {
    in_scheme!(params, |scheme| {
        let inputs = Inputs::new(scheme, inputs)?;
        let border = Border::new(scheme, circuit).or_raise()?;
        let given = border.given(&inputs.arguments()).or_raise()?.into_iter();
        Ok(given.map(|(name, ct)| (name, ct.clone())).collect())
    })
}

/// The outputs of the circuit, of the results that its trace has stored.
pub(crate) fn outputs(
    circuit: &Circuit,
    params: &SchemeParams,
    results: &Results,
) -> PyResult<BTreeMap<String, Made>> {
    fn of<S: Passed>(
        scheme: &S,
        circuit: &Circuit,
        (params, results): (&SchemeParams, &Results),
    ) -> PyResult<BTreeMap<String, Made>> {
        let border = Border::new(scheme, circuit).or_raise()?;
        Ok(made::<S>(params, border.outputs(results).or_raise()?))
    }
    in_scheme!(params, |scheme| of(scheme, circuit, (params, results)))
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
