//! The client's secret key and the server's evaluation keys.

use client::{Client, system_rng};
use exchange::{Exchange, files};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::fs::File;
use std::io::BufWriter;

use crate::error::ToPython;
use crate::guard::{guard, guard_bytes};
use crate::messages::{Answer, Query};
use crate::program::check_program;
use crate::room::room;
use crate::terms::{Known, Terms};

/// The client's key. It never leaves the client.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct SecretKey(pub(crate) Client);

/// The keys with which the server computes on ciphertexts. Public.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct EvaluationKeys {
    pub(crate) exchange: Exchange,
    pub(crate) keys: exchange::EvaluationKeys,
}

/// Generates the keys that a program needs.
#[pyfunction]
pub(crate) fn keygen(py: Python<'_>, terms: Known) -> PyResult<(SecretKey, EvaluationKeys)> {
    let exchange = terms.0;
    room_for_keys(&exchange)?;
    let (client, keys) = guard(py, || -> client::Result<_> {
        let client = Client::generate(&exchange);
        let keys = client.evaluation_keys()?;
        Ok((client, keys))
    })?;
    Ok((SecretKey(client), EvaluationKeys { exchange, keys }))
}

/// Checks that the keys that a program needs find room, and their bytes.
fn room_for_keys(exchange: &Exchange) -> PyResult<()> {
    let held = exchange.needs().byte_len(exchange.params());
    let written = files::keys_file_len(exchange.params(), &exchange.needs());
    let (held, written) = (
        held.map_err(ToPython::to_python)?,
        written.map_err(ToPython::to_python)?,
    );
    room(
        "holding the evaluation keys",
        held.saturating_add(written) as u64,
    )
}

/// One list of logits per image.
type Logits = Vec<Vec<i64>>;

#[pymethods]
impl SecretKey {
    /// Generates a key from the operating system's randomness.
    #[staticmethod]
    fn generate(py: Python<'_>, terms: Known) -> PyResult<Self> {
        guard(py, || {
            Ok::<_, client::Error>(Self(Client::generate(&terms.0)))
        })
    }

    /// Generates the evaluation keys that the program needs.
    fn evaluation_keys(&self, py: Python<'_>) -> PyResult<EvaluationKeys> {
        room_for_keys(self.0.exchange())?;
        let keys = guard(py, || self.0.evaluation_keys())?;
        let exchange = self.0.exchange().clone();
        Ok(EvaluationKeys { exchange, keys })
    }

    /// Generates the evaluation keys one at a time and writes them to a new file. Returns the
    /// length of the file in bytes.
    fn write_evaluation_keys(&self, py: Python<'_>, path: &str) -> PyResult<usize> {
        let exchange = self.0.exchange();
        let needed = exchange.needs().writing_byte_len(exchange.params());
        room("making the keys", needed as u64)?;
        guard(py, || -> client::Result<_> {
            let file = File::create(path).map_err(exchange::Error::from)?;
            let file = BufWriter::with_capacity(1 << 20, file);
            self.0.write_evaluation_keys(&mut system_rng(), file)?;
            Ok(files::keys_file_len(exchange.params(), &exchange.needs())?)
        })
    }

    fn encrypt(&self, py: Python<'_>, images: Vec<Vec<i64>>) -> PyResult<Query> {
        Ok(Query {
            exchange: self.0.exchange().clone(),
            query: guard(py, || self.0.encrypt(&images))?,
        })
    }

    /// The logits of each image of the query, and the noise margin left, in bits.
    fn decrypt(&self, py: Python<'_>, answer: &Answer, query: &Query) -> PyResult<(Logits, f64)> {
        check_program(self.0.exchange(), &answer.exchange, "encrypted results")?;
        let found = guard(py, || self.0.decrypt(&answer.answer, &query.query))?;
        Ok((found.logits, found.margin_bits))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || Ok::<_, PyErr>(self.0.to_bytes()))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, terms: Known, data: &[u8]) -> PyResult<Self> {
        guard(py, || Client::from_bytes(&terms.0, data)).map(Self)
    }
}

#[pymethods]
impl EvaluationKeys {
    /// The terms of the program for which the keys were made.
    fn terms(&self) -> Terms {
        Terms::of(&self.exchange)
    }

    /// Length of [`EvaluationKeys::to_bytes`].
    fn byte_len(&self, py: Python<'_>) -> PyResult<usize> {
        guard(py, || {
            files::keys_file_len(self.exchange.params(), &self.exchange.needs())
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || files::keys_to_bytes(&self.exchange, &self.keys))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, terms: Known, data: &[u8]) -> PyResult<Self> {
        let exchange = terms.0;
        room_for_keys(&exchange)?;
        let keys = guard(py, || files::keys_from_bytes(&exchange, data))?;
        Ok(Self { exchange, keys })
    }
}
