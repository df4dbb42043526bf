//! Plans of traces as waves.

mod outside;

use ::waves::{Conversion, Move, Plan, Stage, What};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use runtime::Checkpoint;
use runtime::replay::{Outside, Sources, replay};
use std::sync::Arc;
use trace::{Op, Trace, Type};

use crate::circuit::written::CircuitTrace;
use crate::error::UsageError;
use crate::guard::guard;
use crate::program::Program;

pub(crate) use outside::WavesOutside;

/// A trace as waves of independent instructions on rows.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Waves {
    pub(crate) trace: Arc<Trace>,
    pub(crate) plan: Plan,
}

#[pymethods]
impl Waves {
    /// Plans the trace of a program. With `saving`, the run can be resumed: it also stores the
    /// values of a checkpoint after each layer. With a checkpoint, this is the rest of such a run.
    #[staticmethod]
    #[pyo3(signature = (program, window=Plan::WINDOW, saving=false, checkpoint=None))]
    fn of_program(
        py: Python<'_>,
        program: &Program,
        window: usize,
        saving: bool,
        checkpoint: Option<&[u8]>,
    ) -> PyResult<Self> {
        let prepared = program.prepared(py)?;
        let trace = guard(py, || {
            let from = checkpoint.map(|bytes| Checkpoint::from_bytes(prepared, bytes));
            match (saving, from.transpose()?) {
                (false, None) => prepared.lower(),
                (_, from) => prepared.lower_saving(from.as_ref()),
            }
        })?;
        Self::of(py, trace, window)
    }

    /// Plans the trace of a program, as `palladion lower` wrote it.
    #[staticmethod]
    #[pyo3(signature = (trace, window=Plan::WINDOW))]
    fn of_trace(py: Python<'_>, trace: &crate::traces::Trace, window: usize) -> PyResult<Self> {
        Self::of(py, trace.trace.clone(), window)
    }

    /// Plans the trace of a circuit.
    #[staticmethod]
    #[pyo3(signature = (trace, window=Plan::WINDOW))]
    fn of_circuit(py: Python<'_>, trace: &CircuitTrace, window: usize) -> PyResult<Self> {
        Self::of(py, trace.trace.clone(), window)
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
    fn of(py: Python<'_>, trace: impl Into<Arc<Trace>>, window: usize) -> PyResult<Self> {
        let trace = trace.into();
        let plan = guard(py, || Plan::new(&trace, window))?;
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
