//! The outside of a run on a machine with a store of rows: keys and a query, the inputs and keys of
//! a circuit, or values by name.

use client::system_rng;
use evaluate::circuit::Meeting;
use executor::{CircuitOutside, Limb, Outside, Results, SwitchKeys, Values};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use ring::sample::Seed;
use rlwe::Ciphertext;
use runtime::{Checkpoint, Prepared, RunOutside, Save, answer_of};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::circuit::passed::{Given as Input, Made};
use crate::circuit::run;
use crate::circuit::written::Circuit;
use crate::error::UsageError;
use crate::guard::guard;
use crate::keys::EvaluationKeys;
use crate::messages::{Answer, Query};
use crate::program::{Program, check_keys_of_trace, check_query_of_trace, hex};
use crate::schemes::keys::SchemeKeys;
use crate::schemes::params::SchemeParams;
use crate::traces::Trace;

/// The outside of a run: the source of the values that a trace loads, and the values that it
/// stores.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct WavesOutside {
    source: Source,
    stored: Mutex<Stored>,
}

/// The source of the values that a trace loads. Values by name are in [`Stored`].
enum Source {
    Run {
        keys: Arc<exchange::EvaluationKeys>,
        query: Py<Query>,
        from: Option<Checkpoint>,
        /// The program, if the run makes checkpoints.
        saving: Option<Prepared>,
    },
    Circuit {
        circuit: Py<Circuit>,
        inputs: BTreeMap<String, Ciphertext>,
        meeting: Meeting,
        keys: Py<SchemeKeys>,
    },
    Values,
}

#[derive(Default)]
pub(crate) struct Stored {
    results: Results,
    values: Values,
}

impl WavesOutside {
    fn new(source: Source, stored: Stored) -> Self {
        let stored = Mutex::new(stored);
        Self { source, stored }
    }

    /// The values that a run has stored. The function does not wait for another thread that has
    /// them: a waiting thread would keep the interpreter from that thread.
    pub(crate) fn stored(&self) -> PyResult<MutexGuard<'_, Stored>> {
        let words = "these values are being used by another thread: make some for each run";
        let stored = self.stored.try_lock();
        stored.map_err(|_| UsageError::new_err(words))
    }

    /// This outside for a run. `save` gets the bytes of checkpoints.
    pub(crate) fn of_stored<'a>(
        &'a self,
        stored: &'a mut Stored,
        save: &'a mut Save<'a>,
    ) -> Box<dyn Outside + Send + 'a> {
        let Stored { results, values } = stored;
        match &self.source {
            Source::Run {
                keys,
                query,
                from,
                saving,
            } => {
                let query = &query.get().query;
                let outside = RunOutside::new(keys, query, results).resumed(from.as_ref());
                Box::new(match saving {
                    Some(prepared) => outside.saving(prepared, save),
                    None => outside,
                })
            }
            Source::Circuit { inputs, keys, .. } => {
                let inputs = inputs.iter().map(|(name, ct)| (name.clone(), ct)).collect();
                let keys = SwitchKeys::from(keys.get().raw());
                Box::new(CircuitOutside::new(inputs, keys, results))
            }
            Source::Values => Box::new(values),
        }
    }
}

#[pymethods]
impl WavesOutside {
    /// The keys and the query of a trace's program.
    #[staticmethod]
    fn of_trace(
        py: Python<'_>,
        trace: &Trace,
        keys: &EvaluationKeys,
        query: Py<Query>,
    ) -> PyResult<Self> {
        check_keys_of_trace(&trace.exchange, keys)?;
        check_query_of_trace(&trace.exchange, query.get())?;
        let keys = guard(py, || keys.read())?;
        let source = Source::Run {
            keys,
            query,
            from: None,
            saving: None,
        };
        Ok(Self::new(source, Stored::default()))
    }

    /// The inputs and keys of a circuit. Plaintexts among the inputs are those of its trace.
    #[staticmethod]
    fn of_circuit(
        py: Python<'_>,
        circuit: Py<Circuit>,
        params: &SchemeParams,
        inputs: BTreeMap<String, Input>,
        keys: Py<SchemeKeys>,
    ) -> PyResult<Self> {
        circuit.get().checked(params, &inputs, keys.get())?;
        let (inputs, meeting) = guard(py, || {
            run::given(&circuit.get().circuit, keys.get(), &inputs)
        })?;
        let source = Source::Circuit {
            circuit,
            inputs,
            meeting,
            keys,
        };
        Ok(Self::new(source, Stored::default()))
    }

    /// The keys and the query of a run, and the bytes of a checkpoint from which it goes on. With
    /// `saving`, the run makes checkpoints.
    #[staticmethod]
    #[pyo3(signature = (program, keys, query, checkpoint=None, saving=false))]
    fn of_run(
        py: Python<'_>,
        program: &Program,
        keys: &EvaluationKeys,
        query: Py<Query>,
        checkpoint: Option<&[u8]>,
        saving: bool,
    ) -> PyResult<Self> {
        check_keys_of_trace(&program.verified, keys)?;
        check_query_of_trace(&program.verified, query.get())?;
        let keys = guard(py, || keys.read())?;
        let (mut from, mut stored) = (None, Stored::default());
        if let Some(bytes) = checkpoint {
            let (prepared, query) = (program.prepared(py)?, &query.get().query);
            let read = guard(py, || {
                Checkpoint::from_bytes(prepared, bytes)?.of_run(prepared, query)
            })?;
            stored.results = guard(py, || read.results(prepared))?;
            from = Some(read);
        }
        let saving = match saving {
            true => Some(program.prepared(py)?.clone()),
            false => None,
        };
        let source = Source::Run {
            keys,
            query,
            from,
            saving,
        };
        Ok(Self::new(source, stored))
    }

    /// Values by name, each a list of limbs of 64-bit words, and seeds of 32 bytes.
    #[staticmethod]
    fn of_values(
        values: BTreeMap<String, Vec<PyBackedBytes>>,
        seeds: BTreeMap<String, [u8; 32]>,
    ) -> Self {
        let limb = |bytes: &PyBackedBytes| {
            let (words, _) = bytes.as_chunks::<8>();
            Arc::new(words.iter().map(|word| u64::from_ne_bytes(*word)).collect())
        };
        let values = values.into_iter();
        let values = values.map(|(name, limbs)| (name, limbs.iter().map(limb).collect()));
        let seeds = seeds.into_iter().map(|(name, seed)| (name, Seed(seed)));
        let values = Values {
            values: values.collect(),
            seeds: seeds.collect(),
            ..Values::default()
        };
        let results = Results::default();
        Self::new(Source::Values, Stored { results, values })
    }

    /// The values stored so far: limbs of 64-bit words.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stored = self.stored()?;
        let values = PyDict::new(py);
        for (name, limbs) in &stored.values.stored {
            let bytes = |limb: &Limb| {
                let bytes: Vec<u8> = limb.iter().flat_map(|word| word.to_ne_bytes()).collect();
                PyBytes::new(py, &bytes)
            };
            values.set_item(name, limbs.iter().map(bytes).collect::<Vec<_>>())?;
        }
        Ok(values)
    }

    /// Number of steps that a checkpoint had done.
    #[getter]
    fn resumed_steps(&self) -> usize {
        match &self.source {
            Source::Run {
                from: Some(from), ..
            } => from.steps(),
            _ => 0,
        }
    }

    /// The outputs of a circuit, after all of them are stored.
    fn outputs(&self, py: Python<'_>) -> PyResult<BTreeMap<String, Made>> {
        let Source::Circuit {
            circuit,
            keys,
            meeting,
            ..
        } = &self.source
        else {
            return Err(UsageError::new_err("there is no circuit, expected one"));
        };
        let stored = self.stored()?;
        let (circuit, params) = (&circuit.get().circuit, keys.get().params_of());
        guard(py, || {
            run::outputs(circuit, &params, (&stored.results, meeting))
        })
    }

    /// The answer of a run, after all of it is stored, and the digest of the answer before it was
    /// hidden.
    fn answer(&self, py: Python<'_>) -> PyResult<(Answer, String)> {
        let Source::Run { query, keys, .. } = &self.source else {
            return Err(UsageError::new_err(
                "there is no query, expected those of a run",
            ));
        };
        let query = query.get();
        let exchange = query.exchange.clone();
        let stored = self.stored()?;
        let results = &stored.results;
        let (answer, digest) = guard(py, || -> runtime::Result<_> {
            let raw = answer_of(results, &exchange, &query.query)?;
            let digest = hex(&raw.digest());
            Ok((raw.hide(&exchange, keys, &mut system_rng())?, digest))
        })?;
        Ok((Answer { exchange, answer }, digest))
    }
}
