//! A finished circuit of TFHE: its text, its costs, its failure probability, and its runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use program::message::{Circuit, Made as Known};
use pyo3::prelude::*;

use super::builder::kind;
use super::run::{self, Given, Made};
use crate::circuit::written::CircuitTrace;
use crate::error::ToPython;
use crate::guard::guard;
use crate::tfhe::{TfheParams, TfheServer};

/// A circuit on bits or small integers.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct MessageCircuit {
    pub(crate) circuit: Circuit,
}

/// Name, number of messages (`None` for a single one), bits of each.
type Input<'a> = (&'a str, Option<usize>, u32);
/// Name of an output, true if it is a single message, and for each message: the smallest value, the
/// largest value, and the number added to it in a ciphertext.
type Output<'a> = (&'a str, bool, Vec<(i64, i64, i64)>);

#[pymethods]
impl MessageCircuit {
    /// Reads and verifies a circuit, which must be made for these parameters.
    #[staticmethod]
    fn from_json(py: Python<'_>, params: &TfheParams, text: &str) -> PyResult<Self> {
        let circuit = guard(py, || -> evaluate::Result<_> {
            Ok(Circuit::from_json(text)?)
        })?;
        guard(py, || evaluate::torus::check(params.get(), &circuit))?;
        Ok(Self { circuit })
    }

    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, || Ok::<_, PyErr>(self.circuit.to_json()))
    }

    /// The circuit as text, one line per step.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        guard(py, || Ok::<_, PyErr>(self.circuit.to_string()))
    }

    /// `bits` or `integers`.
    fn kind(&self) -> &'static str {
        kind(self.circuit.messages)
    }

    fn inputs(&self) -> Vec<Input<'_>> {
        let inputs = self.circuit.inputs.iter();
        inputs.map(|x| (x.name.as_str(), x.count, x.bits)).collect()
    }

    fn outputs(&self, py: Python<'_>) -> PyResult<Vec<Output<'_>>> {
        let made = guard(py, || Ok::<_, PyErr>(self.circuit.made()))?;
        let facts = |value: &usize| match &made[*value] {
            Known::Integer(range) => {
                let offset = range.offset(self.circuit.messages);
                (range.least, range.largest, offset)
            }
            _ => (0, 1, 0),
        };
        let outputs = self.circuit.outputs.iter().map(|output| {
            let values = output.values.iter().map(facts).collect();
            (output.name.as_str(), output.single, values)
        });
        Ok(outputs.collect())
    }

    /// The number of operations by name.
    fn counts(&self) -> BTreeMap<&'static str, usize> {
        self.circuit.counts()
    }

    /// The number of bootstrappings, and the number that must run in sequence.
    fn bootstrappings(&self) -> (usize, usize) {
        (self.circuit.bootstrappings(), self.circuit.depth())
    }

    fn run_clear(
        &self,
        py: Python<'_>,
        inputs: BTreeMap<String, Vec<i64>>,
    ) -> PyResult<BTreeMap<String, Vec<i64>>> {
        guard(py, || {
            let inputs = inputs.iter();
            let inputs = inputs.map(|(name, values)| (name.as_str(), values.as_slice()));
            let found = self.circuit.run_clear(&inputs.collect())?.into_iter();
            let found = found.map(|(name, values)| (name.to_owned(), values));
            Ok::<_, program::Error>(found.collect())
        })
    }

    /// log2 of the probability of a wrong run. Raises if it is above the limit.
    fn log2_failure(&self, py: Python<'_>, params: &TfheParams, limit: f64) -> PyResult<f64> {
        guard(py, || {
            evaluate::torus::log2_failure(params.get(), &self.circuit, limit)
        })
    }

    /// Runs the circuit. Inputs and results are batches by name.
    fn run(
        &self,
        py: Python<'_>,
        params: &TfheParams,
        inputs: BTreeMap<String, Given>,
        keys: &TfheServer,
    ) -> PyResult<BTreeMap<String, Made>> {
        params.check("server key", &keys.params)?;
        guard(py, || {
            let described = evaluate::torus::describe(params.get(), &self.circuit);
            let described = described.map_err(ToPython::to_python)?;
            run::run(&self.circuit, &described, &inputs, keys, None)
        })
    }

    /// The operations on samples as text, and the trace.
    fn lower(&self, py: Python<'_>, params: &TfheParams) -> PyResult<(String, CircuitTrace)> {
        guard(py, || -> evaluate::Result<_> {
            let described = evaluate::torus::describe(params.get(), &self.circuit)?;
            let trace = lower::torus::lower(&described)?;
            let trace = Arc::new(trace);
            Ok((described.to_string(), CircuitTrace { trace }))
        })
    }

    /// As `run`, with a trace of `lower`.
    fn replay(
        &self,
        py: Python<'_>,
        params: &TfheParams,
        trace: &CircuitTrace,
        inputs: BTreeMap<String, Given>,
        keys: &TfheServer,
    ) -> PyResult<BTreeMap<String, Made>> {
        params.check("server key", &keys.params)?;
        guard(py, || {
            let described = evaluate::torus::describe(params.get(), &self.circuit);
            let described = described.map_err(ToPython::to_python)?;
            run::run(&self.circuit, &described, &inputs, keys, Some(&trace.trace))
        })
    }
}
