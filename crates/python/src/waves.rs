//! Plans of traces as waves, and the values that cross the border of a machine's store.

use ::waves::{Conversion, Move, Plan, Stage, What};
use program::trace::{Op, Trace, Type};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use ring::sample::Seed;
use runtime::Error;
use runtime::replay::{Limb, Outside, Results, RunOutside, Sources, replay};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::error::UsageError;
use crate::guard::guard;
use crate::keys::EvaluationKeys;
use crate::messages::Query;
use crate::program::{Program, check_program};

/// A trace as waves of independent instructions on rows.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Waves {
    pub(crate) trace: Arc<Trace>,
    pub(crate) plan: Plan,
}

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
    },
    Values {
        values: BTreeMap<String, Vec<Limb>>,
        seeds: BTreeMap<String, Seed>,
    },
}

#[derive(Default)]
struct Stored {
    results: Results,
    values: BTreeMap<String, Vec<Limb>>,
}

/// An outside while it is used.
enum Border<'a> {
    Run(RunOutside<'a>),
    Values(&'a WavesOutside, &'a mut Stored),
}

impl Outside for Border<'_> {
    fn load(&mut self, name: &str, ty: &Type) -> runtime::Result<Vec<Limb>> {
        match self {
            Self::Run(run) => run.load(name, ty),
            Self::Values(outside, _) => match &outside.given {
                Given::Values { values, .. } => {
                    values.get(name).cloned().ok_or_else(|| missing(name))
                }
                Given::Run { .. } => Err(missing(name)),
            },
        }
    }

    fn seed(&mut self, name: &str) -> runtime::Result<Seed> {
        match self {
            Self::Run(run) => run.seed(name),
            Self::Values(outside, _) => match &outside.given {
                Given::Values { seeds, .. } => {
                    seeds.get(name).copied().ok_or_else(|| missing(name))
                }
                Given::Run { .. } => Err(missing(name)),
            },
        }
    }

    fn store(&mut self, name: &str, ty: &Type, limbs: Vec<Limb>) -> runtime::Result<()> {
        match self {
            Self::Run(run) => run.store(name, ty, limbs),
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
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Border<'_>) -> runtime::Result<T> + Send,
    ) -> PyResult<T> {
        let mut stored = self.stored()?;
        let stored = &mut *stored;
        let mut border = match &self.given {
            Given::Run { keys, query } => {
                let (keys, query) = (&keys.get().keys, &query.get().query);
                Border::Run(RunOutside::new(keys, query, &mut stored.results))
            }
            Given::Values { .. } => Border::Values(self, stored),
        };
        guard(py, || work(&mut border))
    }
}

#[pymethods]
impl WavesOutside {
    /// The keys and the query of a run.
    #[staticmethod]
    fn of_run(program: &Program, keys: Py<EvaluationKeys>, query: Py<Query>) -> PyResult<Self> {
        check_program(&program.verified, &keys.get().exchange, "evaluation keys")?;
        check_program(&program.verified, &query.get().exchange, "encrypted images")?;
        let given = Given::Run { keys, query };
        let stored = Mutex::default();
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

    /// The answer of a run, after all of it is stored.
    fn answer(&self, py: Python<'_>) -> PyResult<crate::messages::Answer> {
        let Given::Run { query, .. } = &self.given else {
            return Err(UsageError::new_err(
                "there is no query, expected those of a run",
            ));
        };
        let query = query.get();
        let exchange = query.exchange.clone();
        let stored = self.stored()?;
        let results = &stored.results;
        let answer = guard(py, || results.answer(&exchange, &query.query))?;
        Ok(crate::messages::Answer { exchange, answer })
    }
}

#[pymethods]
impl Waves {
    /// Plans the trace of a program.
    #[staticmethod]
    #[pyo3(signature = (program, window=Plan::WINDOW))]
    fn of_program(py: Python<'_>, program: &Program, window: usize) -> PyResult<Self> {
        let prepared = program.prepared(py)?;
        let trace = guard(py, || prepared.lower())?;
        Self::of(py, trace, window)
    }

    /// Plans a trace, given by its text.
    #[staticmethod]
    #[pyo3(signature = (text, window=Plan::WINDOW))]
    fn of_text(py: Python<'_>, text: &str, window: usize) -> PyResult<Self> {
        let trace = guard(py, || -> runtime::Result<_> { Ok(Trace::parse(text)?) })?;
        Self::of(py, trace, window)
    }

    /// Words of a row.
    #[getter]
    fn n(&self) -> usize {
        self.plan.n
    }

    /// Rows of the store.
    #[getter]
    fn rows(&self) -> usize {
        self.plan.rows
    }

    /// The primes that instructions name by index.
    #[getter]
    fn primes(&self) -> Vec<u32> {
        self.plan.primes.clone()
    }

    /// Names of the steps.
    #[getter]
    fn steps(&self) -> Vec<String> {
        self.plan.steps.clone()
    }

    /// Four words of 32 bits for each wave: 0 for a load, 1 for a store, or the stage and 2; the
    /// first instruction; their number; the step.
    fn waves<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let words = self.plan.waves.iter().flat_map(|wave| {
            let what = match wave.what {
                What::Load => 0,
                What::Store => 1,
                What::Run(stage) => stage + 2,
            };
            [what, wave.first, wave.count, wave.step].map(|word| word as u32)
        });
        bytes(py, &words.collect::<Vec<_>>())
    }

    /// Each shape of a kernel, with its instructions and tables.
    fn stages<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let stages = self.plan.stages.iter();
        stages.map(|stage| self.stage(py, stage)).collect()
    }

    /// Permutations: `N` entries of 32 bits each.
    fn permutations<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        bytes(py, &self.plan.tables.permutations.concat())
    }

    /// Places of extractions: `N` signed integers of 32 bits each.
    fn places<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let places = self.plan.tables.places.concat();
        bytes(
            py,
            &places.iter().map(|&place| place as u32).collect::<Vec<_>>(),
        )
    }

    /// Numbers of limbs of all loads.
    fn load_lengths(&self) -> Vec<usize> {
        lengths(&self.plan.loads)
    }

    /// Gets the values of some loads: their rows, and their words, of 32 bits each.
    fn load<'py>(
        &self,
        py: Python<'py>,
        span: (usize, usize),
        outside: &WavesOutside,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let (first, count) = span;
        let loads = some(&self.plan.loads, first, count)?;
        let trace = &*self.trace;
        let words = outside.with(py, |border| {
            let sources = Sources::new(trace)?;
            let mut bytes = Vec::new();
            for load in loads {
                for limb in sources.value(load.origin.of(trace), border)? {
                    bytes.extend(limb.iter().flat_map(|&word| (word as u32).to_ne_bytes()));
                }
            }
            Ok(bytes)
        })?;
        let rows: Vec<u32> = loads.iter().flat_map(|load| load.rows.clone()).collect();
        Ok((bytes(py, &rows), PyBytes::new(py, &words)))
    }

    /// The rows of a value that is stored.
    fn store_rows<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(bytes(py, &some(&self.plan.stores, index, 1)?[0].rows))
    }

    /// Gives the words of these rows, of 32 bits each, to the outside.
    fn store(
        &self,
        py: Python<'_>,
        index: usize,
        words: &[u8],
        outside: &WavesOutside,
    ) -> PyResult<()> {
        let store = &some(&self.plan.stores, index, 1)?[0];
        let expected = 4 * self.plan.n * store.rows.len();
        if words.len() != expected {
            let words = format!("{} bytes, expected {expected}", words.len());
            return Err(UsageError::new_err(words));
        }
        let trace = &*self.trace;
        let Op::Store { name, value } = &store.origin.of(trace).op else {
            unreachable!("the origin of a store is one")
        };
        let (words, _) = words.as_chunks::<4>();
        let limbs = words.chunks(self.plan.n).map(|limb| {
            let words = limb.iter().map(|word| u64::from(u32::from_ne_bytes(*word)));
            Arc::new(words.collect())
        });
        let limbs = limbs.collect();
        let ty = type_of(trace, *value);
        outside.with(py, |border| border.store(name, ty, limbs))
    }

    /// Executes the trace itself, as its definition says.
    fn replay(&self, py: Python<'_>, outside: &WavesOutside) -> PyResult<()> {
        let trace = &*self.trace;
        outside.with(py, |border| replay(trace, border, |_| true).map(drop))
    }
}

impl Waves {
    fn of(py: Python<'_>, trace: Trace, window: usize) -> PyResult<Self> {
        let plan = guard(py, || Plan::new(&trace, window))?;
        let trace = Arc::new(trace);
        Ok(Self { trace, plan })
    }

    fn stage<'py>(&self, py: Python<'py>, stage: &Stage) -> PyResult<Bound<'py, PyDict>> {
        let (shape, tables) = (stage.shape, &self.plan.tables);
        let found = PyDict::new(py);
        found.set_item("kernel", shape.kernel.name())?;
        found.set_item("reads", shape.reads)?;
        found.set_item("writes", shape.writes)?;
        found.set_item("arguments", shape.kernel.arguments())?;
        found.set_item("read_rows", bytes(py, &stage.reads))?;
        found.set_item("write_rows", bytes(py, &stage.writes))?;
        found.set_item("words", bytes(py, &stage.arguments))?;
        if let Some(matrices) = tables.matrices.get(&shape) {
            found.set_item("matrices", bytes(py, &matrices.concat()))?;
        }
        if let Some(conversions) = tables.conversions.get(&shape) {
            let all = |part: fn(&Conversion) -> &Vec<u32>| {
                let parts = conversions.iter().flat_map(part).copied();
                bytes(py, &parts.collect::<Vec<_>>())
            };
            found.set_item("from", all(|c| &c.from))?;
            found.set_item("to", all(|c| &c.to))?;
            found.set_item("hat_inverse", all(|c| &c.hat_inverse))?;
            found.set_item("matrix", all(|c| &c.matrix))?;
        }
        Ok(found)
    }
}

/// Words of 32 bits as bytes.
fn bytes<'py>(py: Python<'py>, words: &[u32]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    PyBytes::new(py, &bytes)
}

fn lengths(moves: &[Move]) -> Vec<usize> {
    moves.iter().map(|one| one.rows.len()).collect()
}

fn some(moves: &[Move], first: usize, count: usize) -> PyResult<&[Move]> {
    let end = first.saturating_add(count);
    moves.get(first..end).ok_or_else(|| {
        let words = format!("values {first} to {end}, expected some of {}", moves.len());
        UsageError::new_err(words)
    })
}

/// The type of a value of the main body.
pub(crate) fn type_of(trace: &Trace, value: usize) -> &Type {
    let mut types = trace.main.instructions.iter().flat_map(|i| &i.types);
    types.nth(value).expect("the trace is verified")
}
