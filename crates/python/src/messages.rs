//! Messages between client and server: encrypted images, and encrypted results.

use exchange::{Exchange, files};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::guard::{guard, guard_bytes};
use crate::terms::{Known, Terms};

/// Encrypted images.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Query {
    pub(crate) exchange: Exchange,
    pub(crate) query: exchange::Query,
}

/// Encrypted results.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Answer {
    pub(crate) exchange: Exchange,
    pub(crate) answer: exchange::Answer,
}

#[pymethods]
impl Query {
    /// SHA-256 of the whole query. The answer names its query by it.
    fn hash<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || Ok::<_, PyErr>(self.query.hash().to_vec()))
    }

    /// Number of images in the query.
    fn images(&self) -> usize {
        self.query.images
    }

    /// The terms of the program for which the query was made.
    fn terms(&self) -> Terms {
        Terms::of(&self.exchange)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || Ok::<_, PyErr>(files::query_to_bytes(&self.query)))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, terms: Known, data: &[u8]) -> PyResult<Self> {
        let exchange = terms.0;
        let query = guard(py, || files::query_from_bytes(&exchange, data))?;
        Ok(Self { exchange, query })
    }
}

#[pymethods]
impl Answer {
    /// The [`Query::hash`] of the query that this answer names.
    fn query_hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.answer.query())
    }

    /// The terms of the program for which the answer was made.
    fn terms(&self) -> Terms {
        Terms::of(&self.exchange)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            Ok::<_, PyErr>(files::answer_to_bytes(&self.exchange, &self.answer))
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, terms: Known, data: &[u8]) -> PyResult<Self> {
        let exchange = terms.0;
        let answer = guard(py, || files::answer_from_bytes(&exchange, data))?;
        Ok(Self { exchange, answer })
    }
}
