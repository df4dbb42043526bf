//! Values that cross the border of a machine's store.

use client::system_rng;
use program::trace::Type;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use ring::sample::Seed;
use rlwe::Ciphertext;
use runtime::circuit::Meeting;
use runtime::replay::{CircuitOutside, Limb, Outside, Results, RunOutside, SwitchKeys};
use runtime::{Checkpoint, Error};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::circuit::passed::{Given as Input, Made};
use crate::circuit::run;
use crate::circuit::written::Circuit;
use crate::error::UsageError;
use crate::guard::guard;
use crate::keys::EvaluationKeys;
use crate::messages::{Answer, Query};
use crate::program::{Program, check_program, hex};
use crate::schemes::keys::SchemeKeys;
use crate::schemes::params::SchemeParams;
use crate::trace::Trace;

/// What a trace loads from and stores to: keys and a query, or values by name.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct WavesOutside {
    given: Given,
    stored: Mutex<Stored>,
}

enum Given {
    Run {
        keys: Py<EvaluationKeys>,
        query: Py<Query>,
        from: Option<Checkpoint>,
    },
    Circuit {
        circuit: Py<Circuit>,
        inputs: BTreeMap<String, Ciphertext>,
        meeting: Meeting,
        keys: Py<SchemeKeys>,
    },
    Values {
        values: BTreeMap<String, Vec<Limb>>,
        seeds: BTreeMap<String, Seed>,
    },
}

#[derive(Default)]
pub(super) struct Stored {
    results: Results,
    values: BTreeMap<String, Vec<Limb>>,
}

/// An outside while it is used.
pub(super) enum Border<'a> {
    Run(RunOutside<'a>),
    Circuit(CircuitOutside<'a>),
    Values(&'a WavesOutside, &'a mut Stored),
}

impl Outside for Border<'_> {
    fn load(&mut self, name: &str, ty: &Type) -> runtime::Result<Vec<Limb>> {
        match self {
            Self::Run(run) => run.load(name, ty),
            Self::Circuit(circuit) => circuit.load(name, ty),
            Self::Values(outside, _) => match &outside.given {
                Given::Values { values, .. } => {
                    values.get(name).cloned().ok_or_else(|| missing(name))
                }
                _ => Err(missing(name)),
            },
        }
    }

    fn seed(&mut self, name: &str) -> runtime::Result<Seed> {
        match self {
            Self::Run(run) => run.seed(name),
            Self::Circuit(circuit) => circuit.seed(name),
            Self::Values(outside, _) => match &outside.given {
                Given::Values { seeds, .. } => {
                    seeds.get(name).copied().ok_or_else(|| missing(name))
                }
                _ => Err(missing(name)),
            },
        }
    }

    fn store(&mut self, name: &str, ty: &Type, limbs: Vec<Limb>) -> runtime::Result<()> {
        match self {
            Self::Run(run) => run.store(name, ty, limbs),
            Self::Circuit(circuit) => circuit.store(name, ty, limbs),
            Self::Values(_, stored) => {
                stored.values.insert(name.to_owned(), limbs);
                Ok(())
            }
        }
    }
}

fn missing(name: &str) -> Error {
    Error::Replay {
        what: format!("the value {name}"),
        found: "missing".into(),
        expected: "one of the given names".into(),
    }
}

impl WavesOutside {
    /// What is stored. A thread that waited for it would keep the interpreter from the one that
    /// has it.
    fn stored(&self) -> PyResult<MutexGuard<'_, Stored>> {
        let words = "these values are being used by another thread: make some for each run";
        let stored = self.stored.try_lock();
        stored.map_err(|_| UsageError::new_err(words))
    }

    /// Runs `work` with this outside.
    pub(super) fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Border<'_>) -> runtime::Result<T> + Send,
    ) -> PyResult<T> {
        let mut stored = self.stored()?;
        let stored = &mut *stored;
        let use_border = |mut border: Border<'_>| guard(py, || work(&mut border));
        match &self.given {
            Given::Run { keys, query, from } => {
                let (keys, query) = (&keys.get().keys, &query.get().query);
                let run = RunOutside::new(keys, query, &mut stored.results);
                use_border(Border::Run(run.resumed(from.as_ref())))
            }
            Given::Circuit { inputs, keys, .. } => {
                let inputs = inputs.iter().map(|(name, ct)| (name.clone(), ct)).collect();
                let keys = SwitchKeys::from(keys.get().raw());
                let circuit = CircuitOutside::new(&inputs, &keys, &mut stored.results);
                use_border(Border::Circuit(circuit))
            }
            Given::Values { .. } => use_border(Border::Values(self, stored)),
        }
    }
}

#[pymethods]
impl WavesOutside {
    /// The keys and the query of a trace's program.
    #[staticmethod]
    fn of_trace(trace: &Trace, keys: Py<EvaluationKeys>, query: Py<Query>) -> PyResult<Self> {
        check_program(&trace.exchange, &keys.get().exchange, "evaluation keys")?;
        check_program(&trace.exchange, &query.get().exchange, "encrypted images")?;
        let given = Given::Run {
            keys,
            query,
            from: None,
        };
        let stored = Mutex::default();
        Ok(Self { given, stored })
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
        let given = Given::Circuit {
            circuit,
            inputs,
            meeting,
            keys,
        };
        let stored = Mutex::default();
        Ok(Self { given, stored })
    }

    /// The keys and the query of a run, and the bytes of a checkpoint from which it goes on.
    #[staticmethod]
    #[pyo3(signature = (program, keys, query, checkpoint=None))]
    fn of_run(
        py: Python<'_>,
        program: &Program,
        keys: Py<EvaluationKeys>,
        query: Py<Query>,
        checkpoint: Option<&[u8]>,
    ) -> PyResult<Self> {
        check_program(&program.verified, &keys.get().exchange, "evaluation keys")?;
        check_program(&program.verified, &query.get().exchange, "encrypted images")?;
        let (mut from, mut results) = (None, Results::default());
        if let Some(bytes) = checkpoint {
            let (prepared, query) = (program.prepared(py)?, &query.get().query);
            let read = guard(py, || {
                Checkpoint::from_bytes(prepared, bytes)?.of_run(prepared, query)
            })?;
            results = guard(py, || read.results(prepared))?;
            from = Some(read);
        }
        let values = BTreeMap::new();
        let given = Given::Run { keys, query, from };
        let stored = Mutex::new(Stored { results, values });
        Ok(Self { given, stored })
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
        Self {
            given: Given::Values {
                values: values.collect(),
                seeds: seeds.collect(),
            },
            stored: Mutex::default(),
        }
    }

    /// The values stored so far: limbs of 64-bit words.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stored = self.stored()?;
        let found = PyDict::new(py);
        for (name, limbs) in &stored.values {
            let bytes = |limb: &Limb| {
                let bytes: Vec<u8> = limb.iter().flat_map(|word| word.to_ne_bytes()).collect();
                PyBytes::new(py, &bytes)
            };
            found.set_item(name, limbs.iter().map(bytes).collect::<Vec<_>>())?;
        }
        Ok(found)
    }

    /// Number of steps that a checkpoint had done.
    #[getter]
    fn resumed_steps(&self) -> usize {
        match &self.given {
            Given::Run {
                from: Some(from), ..
            } => from.steps(),
            _ => 0,
        }
    }

    /// The bytes of the last checkpoint that a run has stored, once.
    fn checkpoint<'py>(
        &self,
        py: Python<'py>,
        program: &Program,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Given::Run { query, .. } = &self.given else {
            return Ok(None);
        };
        let (query, prepared) = (&query.get().query, program.prepared(py)?);
        let mut stored = self.stored()?;
        let results = &mut stored.results;
        let bytes = guard(py, || -> runtime::Result<_> {
            let state = Checkpoint::of_results(prepared, query, results)?;
            Ok(state.map(|state| state.to_bytes(prepared)))
        })?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// The outputs of a circuit, after all of them are stored.
    fn outputs(&self, py: Python<'_>) -> PyResult<BTreeMap<String, Made>> {
        let Given::Circuit {
            circuit,
            keys,
            meeting,
            ..
        } = &self.given
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
        let Given::Run { query, keys, .. } = &self.given else {
            return Err(UsageError::new_err(
                "there is no query, expected those of a run",
            ));
        };
        let (query, keys) = (query.get(), keys.get());
        let exchange = query.exchange.clone();
        let stored = self.stored()?;
        let results = &stored.results;
        let (answer, digest) = guard(py, || -> runtime::Result<_> {
            let raw = results.answer(&exchange, &query.query)?;
            let digest = hex(&raw.digest());
            Ok((raw.hide(&exchange, &keys.keys, &mut system_rng())?, digest))
        })?;
        Ok((Answer { exchange, answer }, digest))
    }
}
