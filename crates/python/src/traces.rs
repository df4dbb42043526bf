//! Traces: a program as instructions on limbs, executed one by one.

use client::system_rng;
use exchange::{Exchange, files};
use executor::ReplayProgress as Progress;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use runtime::replay_run;
use trace::{Counts, Op};

use crate::guard::{guard, guard_with};
use crate::keys::EvaluationKeys;
use crate::messages::Query;
use crate::program::{News, Program, check_keys_of_trace, check_query_of_trace, hex, tell};

/// A program as instructions on limbs. Public.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Trace {
    pub(crate) exchange: Exchange,
    pub(crate) trace: trace::Trace,
}

#[pymethods]
impl Trace {
    /// Reads and verifies the text of a trace.
    #[staticmethod]
    fn from_text(py: Python<'_>, text: &str) -> PyResult<Self> {
        let (exchange, trace) = guard(py, || runtime::trace_from_text(text))?;
        Ok(Self { exchange, trace })
    }

    /// Raises if this is not the trace of `program`, instruction by instruction.
    fn check(&self, py: Python<'_>, program: &Program) -> PyResult<()> {
        let prepared = program.prepared(py)?;
        guard(py, || prepared.check_trace(&self.trace))
    }

    /// The numbers of instructions, and of passes over limbs, in a replay.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counts_dict(py, &self.trace.counts())
    }

    /// Executes the trace on keys and a query. Returns the bytes of the answer, and the digest of
    /// the answer before it was hidden.
    #[pyo3(signature = (keys, query, progress=None))]
    fn replay<'py>(
        &self,
        py: Python<'py>,
        keys: &EvaluationKeys,
        query: &Query,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyBytes>, String)> {
        check_keys_of_trace(&self.exchange, keys)?;
        check_query_of_trace(&self.exchange, query)?;
        let (answer, digest) = guard_with(
            py,
            |py, news| tell(py, progress.as_ref(), None, news),
            |line| -> runtime::Result<_> {
                let observe = |at: Progress| {
                    // Reporting every instruction would take longer than the instructions.
                    !at.done.is_multiple_of(64)
                        || line.tell(News::Progress {
                            step: "replay".into(),
                            done: at.done as f64,
                            total: at.total as f64,
                        })
                };
                let keys = keys.read()?;
                let given = (&*keys, &query.query);
                let (raw, _) = replay_run(&self.exchange, &self.trace, given, observe)?;
                let digest = hex(&raw.digest());
                let answer = raw.hide(&self.exchange, &keys, &mut system_rng())?;
                Ok((files::answer_to_bytes(&self.exchange, &answer), digest))
            },
        )?;
        Ok((PyBytes::new(py, &answer), digest))
    }
}

/// The number of each instruction by name, and of passes over limbs.
pub(crate) fn counts_dict<'py>(py: Python<'py>, counts: &Counts) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    let instructions = PyDict::new(py);
    for (name, count) in Op::NAMES.iter().zip(counts.instructions) {
        instructions.set_item(name, count)?;
    }
    found.set_item("instructions", instructions)?;
    let passes = PyDict::new(py);
    for (name, count) in counts.passes.all() {
        passes.set_item(name, count)?;
    }
    found.set_item("passes", passes)?;
    Ok(found)
}
