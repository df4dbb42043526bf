//! The instruction streams of schedules, and their execution on words, for Python.

use client::system_rng;
use exchange::files;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sim::Error;
use sim::vector::{Machine, Schedule, Streams as Inner, Work};
use std::sync::Arc;

use crate::circuit::written::CircuitTrace;
use crate::error::FormatError;
use crate::guard::{guard, guard_with};
use crate::keys::EvaluationKeys;
use crate::messages::Query;
use crate::program::{News, check_keys_of_trace, check_query_of_trace, hex, tell};
use crate::traces::Trace;
use crate::vector::Workload;
use crate::waves::WavesOutside;

/// The instruction streams of a schedule of a program on a machine.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Streams {
    machine: Machine,
    work: Arc<Work>,
    streams: Inner,
}

impl Streams {
    /// The streams of a checked schedule.
    pub(crate) fn of(
        py: Python<'_>,
        (machine, work): (&Machine, &Arc<Work>),
        schedule: &Schedule,
    ) -> PyResult<Self> {
        let streams = guard(py, || -> Result<_, Error> {
            Ok(Inner::new(machine, work, schedule))
        })?;
        let streams = streams.map_err(|fault| FormatError::new_err(fault.to_string()))?;
        Ok(Self {
            machine: machine.clone(),
            work: work.clone(),
            streams,
        })
    }

    fn read(
        py: Python<'_>,
        (machine, work): (&str, &Workload),
        read: impl FnOnce() -> Result<Inner, sim::vector::Fault> + Send,
    ) -> PyResult<Self> {
        let machine = guard(py, || Machine::from_toml(machine))?;
        let work = work.work.clone();
        let streams = guard(py, || -> Result<_, Error> {
            let streams = read();
            Ok(streams.and_then(|streams| streams.verify(&machine, &work).map(|()| streams)))
        })?;
        let streams = streams.map_err(|fault| FormatError::new_err(fault.to_string()))?;
        Ok(Self {
            machine,
            work,
            streams,
        })
    }
}

#[pymethods]
impl Streams {
    /// Reads and verifies the bytes of streams.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, machine: &str, work: &Workload, data: &[u8]) -> PyResult<Self> {
        Self::read(py, (machine, work), || Inner::from_bytes(data))
    }

    /// Reads and verifies the texts of streams, in their order.
    #[staticmethod]
    fn from_texts(
        py: Python<'_>,
        machine: &str,
        work: &Workload,
        texts: Vec<String>,
    ) -> PyResult<Self> {
        let texts = texts.iter().map(String::as_str);
        Self::read(py, (machine, work), || Inner::from_texts(texts))
    }

    /// The bytes of a file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.streams.to_bytes())
    }

    /// The text of each stream, with its name.
    fn to_texts(&self) -> Vec<(String, String)> {
        let texts = self.streams.to_texts();
        texts.map(|(name, text)| (name.to_owned(), text)).collect()
    }

    /// For each stream its name, its number of instructions, and their bytes.
    fn sizes(&self) -> Vec<(String, usize, u64)> {
        let sizes = self.streams.fetched().into_iter();
        let entries = self.streams.streams.iter().map(|one| one.entries.len());
        let sizes = sizes.zip(entries);
        sizes
            .map(|((name, bytes), entries)| (name.to_owned(), entries, bytes))
            .collect()
    }

    /// Executes the streams on keys and a query of their program, in the order of cycles. Returns
    /// the bytes of the answer, and the digest of the answer before it was hidden.
    #[pyo3(signature = (trace, keys, query, progress=None))]
    fn execute<'py>(
        &self,
        py: Python<'py>,
        trace: &Trace,
        keys: &EvaluationKeys,
        query: &Query,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyBytes>, String)> {
        check_keys_of_trace(&trace.exchange, keys)?;
        check_query_of_trace(&trace.exchange, query)?;
        let (answer, digest) = guard_with(
            py,
            |py, news| tell(py, progress.as_ref(), None, news),
            |line| -> runtime::Result<_> {
                let mut observe = |done: usize, all: usize| {
                    // Reporting every entry would take longer than the entries.
                    !done.is_multiple_of(64) || line.tell(executed(done, all))
                };
                let keys = keys.read()?;
                let of = (&self.machine, &trace.trace);
                let streams = (&*self.work, &self.streams);
                let inputs = (&*keys, &query.query);
                let raw =
                    runtime::scheduled_run(&trace.exchange, of, streams, inputs, &mut observe)?;
                let digest = hex(&raw.digest());
                let answer = raw.hide(&trace.exchange, &keys, &mut system_rng())?;
                Ok((files::answer_to_bytes(&trace.exchange, &answer), digest))
            },
        )?;
        Ok((PyBytes::new(py, &answer), digest))
    }

    /// Executes the streams of a circuit's trace. Its values come from the outside and go to it.
    #[pyo3(signature = (trace, outside, progress=None))]
    fn execute_circuit(
        &self,
        py: Python<'_>,
        trace: &CircuitTrace,
        outside: &WavesOutside,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let mut stored = outside.stored()?;
        let stored = &mut *stored;
        guard_with(
            py,
            |py, news| tell(py, progress.as_ref(), None, news),
            |line| -> executor::Result<()> {
                let mut observe = |done: usize, all: usize| {
                    !done.is_multiple_of(64) || line.tell(executed(done, all))
                };
                let mut save = |_| true;
                let mut border = outside.of_stored(stored, &mut save);
                let of = (&*trace.trace, &*self.work, &self.streams);
                executor::execute(&self.machine, of, &mut *border, &mut observe)
            },
        )
    }
}

fn executed(done: usize, all: usize) -> News {
    News::Progress {
        step: "execute".into(),
        done: done as f64,
        total: all as f64,
    }
}
