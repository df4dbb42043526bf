//! Messages between client and server: encrypted images, and encrypted results.

use exchange::{Binding, Exchange, files};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::guard::{guard, guard_bytes};
use crate::program::hex;
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

/// Layout, program, identity of the secret, number of images, and true if under a public key.
type QueryHead = (Option<String>, Option<String>, String, usize, bool);

#[pymethods]
impl Query {
    /// SHA-256 of the whole query. The answer names its query by it.
    fn hash<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || Ok::<_, PyErr>(self.query.hash().to_vec()))
    }

    /// Whether it is encrypted under a public key.
    #[getter]
    fn is_public(&self) -> bool {
        self.query.is_public()
    }

    /// Identity of the secret under which it is encrypted: 32 hexadecimal digits, zeros if it does
    /// not state one.
    #[getter]
    fn key(&self, py: Python<'_>) -> PyResult<String> {
        let key = guard(py, || self.query.key())?;
        Ok(hex(&key.to_bytes()))
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

    /// The layout or the program that a query's file is for, the identity of its secret, the number
    /// of images, and whether they are encrypted under a public key. One of the first two is
    /// `None`.
    #[staticmethod]
    fn head(py: Python<'_>, data: &[u8]) -> PyResult<QueryHead> {
        let head = guard(py, || files::query_head(data))?;
        let (layout, program) = match head.binding {
            Binding::Layout(layout) => (Some(hex(&layout)), None),
            Binding::Program(program) => (None, Some(hex(&program))),
        };
        let key = hex(&head.key.to_bytes());
        Ok((layout, program, key, head.images, head.public))
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
    /// Identity of the secret that decrypts it: 32 hexadecimal digits, zeros if it does not state
    /// one.
    #[getter]
    fn key(&self, py: Python<'_>) -> PyResult<String> {
        let key = guard(py, || self.answer.key())?;
        Ok(hex(&key.to_bytes()))
    }

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

    /// The program that answered, the hash of the query, the identity of the secret, and the number
    /// of images, of an answer's file.
    #[staticmethod]
    fn head(py: Python<'_>, data: &[u8]) -> PyResult<(String, String, String, usize)> {
        let head = guard(py, || files::answer_head(data))?;
        let (program, query) = (hex(&head.program), hex(&head.query));
        Ok((program, query, hex(&head.key.to_bytes()), head.images))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, terms: Known, data: &[u8]) -> PyResult<Self> {
        let exchange = terms.0;
        let answer = guard(py, || files::answer_from_bytes(&exchange, data))?;
        Ok(Self { exchange, answer })
    }
}
