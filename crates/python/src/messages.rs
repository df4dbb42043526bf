//! What goes between client and server: encrypted images there, encrypted results back.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use runtime::{Exchange, Input, Output, files};

use crate::guard::{guard, guard_bytes};
use crate::program::Program;
use crate::trace::Trace;

/// Encrypted images.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Query {
    pub(crate) exchange: Exchange,
    pub(crate) input: Input,
}

/// Encrypted results.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Answer {
    pub(crate) exchange: Exchange,
    pub(crate) output: Output,
}

#[pymethods]
impl Query {
    /// SHA-256 of the whole query, by which its answer names it.
    fn hash<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || Ok::<_, PyErr>(self.input.hash().to_vec()))
    }

    /// Images in it.
    fn images(&self) -> usize {
        self.input.images
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || Ok::<_, PyErr>(files::input_to_bytes(&self.input)))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, program: &Program, data: &[u8]) -> PyResult<Self> {
        Ok(Self {
            exchange: program.verified.exchange().clone(),
            input: guard(py, || files::input_from_bytes(&program.verified, data))?,
        })
    }

    /// A query for a trace's program.
    #[staticmethod]
    fn for_trace(py: Python<'_>, trace: &Trace, data: &[u8]) -> PyResult<Self> {
        Ok(Self {
            exchange: trace.exchange.clone(),
            input: guard(py, || files::input_from_bytes(&trace.exchange, data))?,
        })
    }
}

#[pymethods]
impl Answer {
    /// [`Query::hash`] of the query that this is the answer to, as it says.
    fn query_hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.output.query)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            Ok::<_, PyErr>(files::output_to_bytes(&self.exchange, &self.output))
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, program: &Program, data: &[u8]) -> PyResult<Self> {
        Ok(Self {
            exchange: program.verified.exchange().clone(),
            output: guard(py, || files::output_from_bytes(&program.verified, data))?,
        })
    }
}
