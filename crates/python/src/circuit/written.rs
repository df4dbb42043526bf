//! A finished circuit: its text, the keys it needs, its predictions and its runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use client::{circuit_keys, system_rng};
use evaluate::circuit::{self, Bfv, Budget, Predicted};
use program::circuit::{KeyNeeds, Type};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyDict, PyIterator};
use trace::Trace;

use super::passed::{Given, Made, in_scheme};
use super::run::{self, complex_bytes};
use crate::error::ToPython;
use crate::guard::guard;
use crate::schemes::keys::{SchemeKeys, SchemeSecret};
use crate::schemes::params::{Scheme, SchemeParams};
use crate::traces::counts_dict;

/// A circuit of homomorphic operations.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct Circuit {
    pub(crate) circuit: program::circuit::Circuit,
}

/// Name of an input or output, true if it is encrypted, level, scale.
type Described<'a> = (&'a str, bool, usize, f64);
/// For each kind of key, the highest level at which it is used: relinearization, rotations by
/// steps, conjugation. Then true if bootstrapping needs keys of its own.
type Needed = (Option<usize>, BTreeMap<usize, usize>, Option<usize>, bool);
/// Bytes of the values, and of the mean squares of their errors; log2 of the probability of a wrong
/// run.
type Foretold = (Vec<u8>, Vec<u8>, f64);

#[pymethods]
impl Circuit {
    /// Reads and verifies a circuit, which must be made for these parameters.
    #[staticmethod]
    fn from_json(py: Python<'_>, params: &SchemeParams, text: &str) -> PyResult<Self> {
        let circuit = guard(py, || -> evaluate::Result<_> {
            Ok(program::circuit::Circuit::from_json(text)?)
        })?;
        guard(py, || match params.scheme() {
            Scheme::Ckks(p) => circuit::check(p.evaluator().params(), &circuit),
            Scheme::Bfv(p) => circuit::check(&Bfv(p.exact().params().clone()), &circuit),
            Scheme::Bgv(p) => circuit::check(p.exact().params(), &circuit),
        })?;
        Ok(Self { circuit })
    }

    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, || Ok::<_, PyErr>(self.circuit.to_json()))
    }

    /// The circuit as text, one line per step.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, || Ok::<_, PyErr>(self.circuit.to_string()))
    }

    fn slots(&self) -> usize {
        self.circuit.slots
    }

    /// The inputs, one entry per step. A plaintext that is encoded several times has several
    /// entries.
    fn inputs(&self) -> Vec<Described<'_>> {
        self.circuit.inputs().map(described).collect()
    }

    fn outputs(&self) -> Vec<Described<'_>> {
        self.circuit.outputs().map(described).collect()
    }

    fn keys_needed(&self) -> Needed {
        let needs = self.circuit.keys();
        let KeyNeeds {
            relinearization,
            rotations,
            conjugation,
            bootstrapping,
        } = needs;
        (relinearization, rotations, conjugation, bootstrapping)
    }

    /// The number of operations by level and kind.
    fn counts(&self) -> BTreeMap<usize, BTreeMap<&'static str, usize>> {
        self.circuit.counts().0
    }

    /// Generates the keys that the circuit needs, each for the highest level of its use. Raises if
    /// the circuit is wrong with a probability above `2^limit`.
    fn keys(
        &self,
        py: Python<'_>,
        params: &SchemeParams,
        secret: &SchemeSecret,
        limit: f64,
    ) -> PyResult<SchemeKeys> {
        params.check("secret key", &secret.params_of())?;
        guard(py, || {
            let needs = self.circuit.keys();
            let needs = in_scheme!(params, |scheme| {
                let checked = circuit::check_failure(scheme, &self.circuit, limit);
                checked.map_err(ToPython::to_python)?;
                circuit::needs(scheme, &needs)
            });
            let keys = circuit_keys(secret.raw(), &needs, &mut system_rng());
            let keys = keys.map_err(ToPython::to_python)?;
            Ok::<_, PyErr>(SchemeKeys::new(params, keys))
        })
    }

    fn run_clear(
        &self,
        py: Python<'_>,
        inputs: BTreeMap<String, PyBackedBytes>,
    ) -> PyResult<BTreeMap<String, Vec<u8>>> {
        guard(py, || run::clear(&self.circuit, &inputs))
    }

    /// For approximate arithmetic, by output: the values, and the mean square of the error of each,
    /// as doubles.
    fn predict(
        &self,
        py: Python<'_>,
        params: &SchemeParams,
        inputs: BTreeMap<String, PyBackedBytes>,
        limit: f64,
    ) -> PyResult<BTreeMap<String, Foretold>> {
        let bytes = |found: Predicted| {
            let errors = found.errors.iter().flat_map(|e| e.to_ne_bytes());
            (
                complex_bytes(&found.slots),
                errors.collect(),
                found.log2_failure,
            )
        };
        guard(py, || {
            let inputs = run::complex_inputs(&inputs)?;
            let params = params.ckks()?.evaluator().params();
            let found = circuit::predict_within(params, &self.circuit, &inputs, limit);
            let found = found.map_err(ToPython::to_python)?.into_iter();
            Ok::<_, PyErr>(found.map(|(name, one)| (name, bytes(one))).collect())
        })
    }

    /// For exact arithmetic, by output: bits of noise, bits of margin, and log2 of the probability
    /// of a wrong answer.
    fn predict_noise(
        &self,
        py: Python<'_>,
        params: &SchemeParams,
        limit: f64,
    ) -> PyResult<BTreeMap<String, (f64, f64, f64)>> {
        let found = guard(py, || {
            let found = match params.scheme() {
                Scheme::Bfv(p) => {
                    let scheme = Bfv(p.exact().params().clone());
                    circuit::predict_noise_within(&scheme, &self.circuit, limit)
                }
                Scheme::Bgv(p) => {
                    let scheme = p.exact().params();
                    circuit::predict_noise_within(scheme, &self.circuit, limit)
                }
                Scheme::Ckks(_) => return Err(params.other_scheme("bfv or bgv")),
            };
            found.map_err(ToPython::to_python)
        })?;
        let facts = |b: Budget| (b.noise.bits(), b.margin_bits, b.log2_failure);
        Ok(found
            .into_iter()
            .map(|(name, b)| (name, facts(b)))
            .collect())
    }

    /// Runs the circuit on ciphertexts and the bytes of plaintexts, by name. Returns ciphertexts by
    /// name.
    fn run(
        &self,
        py: Python<'_>,
        params: &SchemeParams,
        inputs: BTreeMap<String, Given>,
        keys: &SchemeKeys,
    ) -> PyResult<BTreeMap<String, Made>> {
        self.checked(params, &inputs, keys)?;
        self.run_once(py, inputs, keys, None)
    }

    /// As `run`, for each group of inputs that an iterator gives. The constants are encoded once,
    /// and one group is in memory at a time.
    fn run_each(
        &self,
        py: Python<'_>,
        params: &SchemeParams,
        groups: Py<PyIterator>,
        keys: &SchemeKeys,
    ) -> PyResult<Vec<BTreeMap<String, Made>>> {
        let next = || {
            Python::attach(|py| {
                let group = groups.bind(py).clone().next()?;
                Some(group.and_then(|group| {
                    let inputs = group.extract()?;
                    self.checked(params, &inputs, keys)?;
                    Ok(inputs)
                }))
            })
        };
        let groups = std::iter::from_fn(next);
        guard(py, || run::encrypted(&self.circuit, groups, keys, None))
    }

    /// The operations on ciphertexts as text, and the trace, with the bytes of plaintexts.
    fn lower(
        &self,
        py: Python<'_>,
        params: &SchemeParams,
        plain: BTreeMap<String, PyBackedBytes>,
    ) -> PyResult<(String, CircuitTrace)> {
        let (recording, trace) = guard(py, || run::lower(&self.circuit, params, &plain))?;
        let trace = Arc::new(trace);
        Ok((recording, CircuitTrace { trace }))
    }

    /// As `run`, with a trace of `lower`.
    fn replay(
        &self,
        py: Python<'_>,
        params: &SchemeParams,
        trace: &CircuitTrace,
        inputs: BTreeMap<String, Given>,
        keys: &SchemeKeys,
    ) -> PyResult<BTreeMap<String, Made>> {
        self.checked(params, &inputs, keys)?;
        self.run_once(py, inputs, keys, Some(&trace.trace))
    }
}

impl Circuit {
    /// Runs the circuit, or its trace, on one group of inputs.
    fn run_once(
        &self,
        py: Python<'_>,
        inputs: run::Arguments,
        keys: &SchemeKeys,
        trace: Option<&Trace>,
    ) -> PyResult<BTreeMap<String, Made>> {
        let groups = std::iter::once(Ok(inputs));
        let mut results = guard(py, || run::encrypted(&self.circuit, groups, keys, trace))?;
        Ok(results.remove(0))
    }

    /// Raises for keys or ciphertexts of other parameters, and for a missing key.
    pub(crate) fn checked(
        &self,
        params: &SchemeParams,
        inputs: &BTreeMap<String, Given>,
        keys: &SchemeKeys,
    ) -> PyResult<()> {
        params.check("evaluation keys", &keys.params_of())?;
        for (name, given) in inputs {
            if let Some(found) = given.params() {
                params.check(&format!("input {name}"), &found)?;
            }
        }
        keys.check(&self.circuit.keys())
    }
}

/// A circuit as instructions on limbs.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct CircuitTrace {
    pub(crate) trace: Arc<Trace>,
}

#[pymethods]
impl CircuitTrace {
    fn text(&self) -> String {
        self.trace.to_string()
    }

    /// The numbers of instructions, and of passes over limbs, in a replay.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counts_dict(py, &self.trace.counts())
    }
}

fn described((name, ty): (&str, Type)) -> Described<'_> {
    (name, ty.encrypted, ty.level, ty.scale)
}
