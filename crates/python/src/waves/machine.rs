//! A machine with a store of rows that is an object of Python.

use executor::{Error, Result, RowMachine};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::ops::Range;

/// An object with the methods of [`RowMachine`], where words are bytes.
pub(super) struct Machine {
    object: Py<PyAny>,
    queries: usize,
}

impl Machine {
    pub(super) fn new(object: Py<PyAny>, queries: usize) -> Self {
        Self { object, queries }
    }

    /// Tells the object that a wave was given to it.
    pub(super) fn end_wave(&self, index: usize) -> Result<()> {
        Python::attach(|py| self.call(py, "end_wave", (index,)).map(drop))
    }

    fn call<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        arguments: impl pyo3::call::PyCallArgs<'py>,
    ) -> Result<Bound<'py, PyAny>> {
        let result = self.object.bind(py).call_method1(method, arguments);
        result.map_err(raised)
    }
}

impl RowMachine for Machine {
    fn queries(&self) -> usize {
        self.queries
    }

    fn begin(&mut self) -> Result<()> {
        Python::attach(|py| self.call(py, "begin", ()).map(drop))
    }

    fn write(&mut self, load: usize, words: &[Vec<u32>]) -> Result<()> {
        Python::attach(|py| {
            let words = words.iter().map(|words| super::bytes(py, words));
            let words = PyList::new(py, words).map_err(raised)?;
            self.call(py, "write", (load, words)).map(drop)
        })
    }

    fn recall(&mut self, load: usize) -> Result<bool> {
        Python::attach(|py| self.call(py, "recall", (load,))?.extract().map_err(raised))
    }

    fn run(&mut self, stage: usize, instructions: Range<usize>) -> Result<()> {
        let (first, count) = (instructions.start, instructions.len());
        Python::attach(|py| self.call(py, "run_stage", (stage, first, count)).map(drop))
    }

    fn read(&mut self, store: usize) -> Result<Vec<Vec<u32>>> {
        Python::attach(|py| {
            let words = self.call(py, "read", (store,))?;
            let words: Vec<Bound<'_, PyBytes>> = words.extract().map_err(raised)?;
            Ok(words
                .iter()
                .map(|words| words_of(words.as_bytes()))
                .collect())
        })
    }

    fn wait(&mut self) -> Result<()> {
        Python::attach(|py| self.call(py, "wait", ()).map(drop))
    }
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| u32::from_ne_bytes(*word)).collect()
}

/// The error of an exception. It is raised again as that exception.
fn raised(error: PyErr) -> Error {
    Error::Other(Box::new(error))
}
