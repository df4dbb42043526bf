//! What goes between client and server: encrypted images there, encrypted results back.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use runtime::{Input, Output, Prepared, files};

use crate::guard::{guard, guard_bytes};
use crate::program::Program;

/// Encrypted images.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Query {
    pub(crate) prepared: Prepared,
    pub(crate) input: Input,
}

/// Encrypted results.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Answer {
    pub(crate) prepared: Prepared,
    pub(crate) output: Output,
}

#[pymethods]
impl Query {
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || Ok::<_, PyErr>(files::input_to_bytes(&self.input)))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, program: &Program, data: &[u8]) -> PyResult<Self> {
        Ok(Self {
            prepared: program.0.clone(),
            input: guard(py, || files::input_from_bytes(&program.0, data))?,
        })
    }
}

#[pymethods]
impl Answer {
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            Ok::<_, PyErr>(files::output_to_bytes(&self.prepared, &self.output))
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, program: &Program, data: &[u8]) -> PyResult<Self> {
        Ok(Self {
            prepared: program.0.clone(),
            output: guard(py, || files::output_from_bytes(&program.0, data))?,
        })
    }
}
