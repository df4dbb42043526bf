//! Plans of traces as waves.

mod machine;
mod outside;

use ::waves::{Conversion, Move, Plan, Stage, What};
use executor::{Outside, Progress, replay, run_plan};
use machine::Machine;
use outside::Stored;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use runtime::Checkpoint;
use std::sync::Arc;
use trace::Trace;

use crate::circuit::written::CircuitTrace;
use crate::guard::{guard, guard_with};
use crate::program::{News, Program, tell};

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
        let trace = guard(py, || Trace::parse(text))?;
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

    /// The rows of each value that is loaded.
    fn load_rows(&self) -> Vec<Vec<u32>> {
        rows(&self.plan.loads)
    }

    /// The rows of each value that is stored.
    fn store_rows(&self) -> Vec<Vec<u32>> {
        rows(&self.plan.stores)
    }

    /// Runs the plan on a machine, an object with the methods of `executor::RowMachine` and
    /// `end_wave`, for one outside or several. `save` gets the bytes of checkpoints.
    #[pyo3(signature = (machine, outsides, progress=None, save=None))]
    fn run(
        &self,
        py: Python<'_>,
        machine: Py<PyAny>,
        outsides: Vec<Py<WavesOutside>>,
        progress: Option<Py<PyAny>>,
        save: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let outsides: Vec<&WavesOutside> = outsides.iter().map(|one| one.get()).collect();
        let stored = outsides.iter().map(|one| one.stored());
        let mut stored = stored.collect::<PyResult<Vec<_>>>()?;
        let mut stored: Vec<&mut Stored> = stored.iter_mut().map(|one| &mut **one).collect();
        let mut machine = Machine::new(machine, outsides.len());
        guard_with(
            py,
            |py, news| tell(py, progress.as_ref(), save.as_ref(), news),
            // The machine is called thousands of times. A thread that stays attached to the
            // interpreter takes its lock without making a new thread state.
            |line| {
                Python::attach(|py| {
                    py.detach(|| {
                        let saved = |bytes| save.is_none() || line.tell(News::Checkpoint(bytes));
                        let mut saves: Vec<_> = outsides.iter().map(|_| saved).collect();
                        let pairs = outsides.iter().zip(&mut stored).zip(&mut saves);
                        let mut borders: Vec<_> = pairs
                            .map(|((outside, stored), save)| outside.of_stored(stored, save))
                            .collect();
                        let mut borders: Vec<&mut dyn Outside> =
                            borders.iter_mut().map(|one| &mut **one as _).collect();
                        let mut observe = |at: Progress| {
                            line.tell(News::Progress {
                                step: at.step.to_owned(),
                                done: at.done,
                                total: at.total,
                            })
                        };
                        run_plan(
                            &self.trace,
                            &self.plan,
                            &mut machine,
                            &mut borders,
                            &mut observe,
                            &mut |machine: &mut Machine, wave| machine.end_wave(wave),
                        )
                    })
                })
            },
        )
    }

    /// Executes the trace itself, as its definition says.
    fn replay(&self, py: Python<'_>, outside: &WavesOutside) -> PyResult<()> {
        let trace = &*self.trace;
        let mut stored = outside.stored()?;
        let stored = &mut *stored;
        guard(py, || {
            let mut save = |_| true;
            let mut border = outside.of_stored(stored, &mut save);
            replay(trace, &mut &mut *border, |_| true).map(drop)
        })
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

fn rows(moves: &[Move]) -> Vec<Vec<u32>> {
    moves.iter().map(|one| one.rows.clone()).collect()
}
