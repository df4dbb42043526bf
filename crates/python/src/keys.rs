//! The client's secret key and the server's evaluation keys.

use client::{Client, StoredSecret, system_rng};
use exchange::{Exchange, Needs, Profile, files};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::fs::File;
use std::io::BufWriter;
use std::time::SystemTime;

use crate::error::ToPython;
use crate::guard::{guard, guard_bytes};
use crate::messages::{Answer, Query};
use crate::program::{check_program, hex};
use crate::room::room;
use crate::secret::ClientSecret;
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
    /// A secret at work for a program.
    #[staticmethod]
    fn of(py: Python<'_>, terms: Known, secret: &ClientSecret) -> PyResult<Self> {
        let secret = secret.open()?;
        guard(py, || Client::new(&terms.0, secret)).map(Self)
    }

    /// Generates a key from the operating system's randomness.
    #[staticmethod]
    fn generate(py: Python<'_>, terms: Known) -> PyResult<Self> {
        guard(py, || {
            Ok::<_, client::Error>(Self(Client::generate(&terms.0)))
        })
    }

    /// The secret, apart from the program.
    fn secret(&self) -> ClientSecret {
        ClientSecret(self.0.secret().clone().into())
    }

    /// Generates the evaluation keys that the program needs.
    fn evaluation_keys(&self, py: Python<'_>) -> PyResult<EvaluationKeys> {
        room_for_keys(self.0.exchange())?;
        let keys = guard(py, || self.0.evaluation_keys())?;
        let exchange = self.0.exchange().clone();
        Ok(EvaluationKeys { exchange, keys })
    }

    /// The number of evaluation keys that `also` and this program need beyond the profiles `have`,
    /// and the length of their file in bytes, 0 without keys.
    fn missing_keys(&self, also: Vec<Known>, have: Vec<String>) -> PyResult<(usize, usize)> {
        let needs = self.needs(&also, &have)?;
        let params = self.0.exchange().params();
        let bytes = match needs.each().count() {
            0 => 0,
            _ => files::keys_file_len(params, &needs).map_err(ToPython::to_python)?,
        };
        Ok((needs.each().count(), bytes))
    }

    /// Generates these keys one at a time and writes them to a new file. Returns its length.
    fn write_evaluation_keys(
        &self,
        py: Python<'_>,
        path: &str,
        also: Vec<Known>,
        have: Vec<String>,
    ) -> PyResult<usize> {
        let exchange = self.0.exchange();
        let needs = &self.needs(&also, &have)?;
        let needed = needs.writing_byte_len(exchange.params());
        room("making the keys", needed as u64)?;
        guard(py, || -> client::Result<_> {
            let file = File::create(path).map_err(exchange::Error::from)?;
            let file = BufWriter::with_capacity(1 << 20, file);
            self.0
                .write_evaluation_keys(needs, &mut system_rng(), file)?;
            Ok(files::keys_file_len(exchange.params(), needs)?)
        })
    }

    fn encrypt(&self, py: Python<'_>, images: Vec<Vec<i64>>) -> PyResult<Query> {
        let label = self.0.secret().label();
        label
            .check("the secret", now())
            .map_err(ToPython::to_python)?;
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

    /// The bytes of the secret, without a seal.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            let stored = StoredSecret::from(self.0.secret().clone());
            Ok::<_, PyErr>(stored.to_bytes())
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, terms: Known, data: &[u8]) -> PyResult<Self> {
        let stored = ClientSecret(guard(py, || StoredSecret::from_bytes(data))?);
        Self::of(py, terms, &stored)
    }
}

impl SecretKey {
    /// The keys that this program and the programs `also` need beyond the profiles `have`.
    fn needs(&self, also: &[Known], have: &[String]) -> PyResult<Needs> {
        let own = self.0.exchange().profile();
        let mut needs = own.needs();
        for other in also {
            let profile = other.0.profile();
            profile.check_parameters(own).map_err(ToPython::to_python)?;
            profile.needs().each().for_each(|need| needs.add(need));
        }
        for text in have {
            let profile = Profile::from_json(text).map_err(ToPython::to_python)?;
            profile.check_parameters(own).map_err(ToPython::to_python)?;
            needs = needs.without(&profile.needs());
        }
        Ok(needs)
    }
}

#[pymethods]
impl EvaluationKeys {
    /// The terms of the program with which it was read or made.
    fn terms(&self) -> Terms {
        Terms::of(&self.exchange)
    }

    /// Identity of the secret that the keys belong to: 32 hexadecimal digits, zeros if the keys do
    /// not state one.
    #[getter]
    fn key(&self) -> String {
        hex(&self.keys.label().key.to_bytes())
    }

    /// From when on they are not to be used, in seconds since 1970.
    #[getter]
    fn expires(&self) -> Option<u64> {
        self.keys.label().expires
    }

    /// The profile of the keys, as JSON.
    fn profile(&self) -> String {
        Profile::new(self.exchange.params(), &self.keys.needs()).to_json()
    }

    /// Length of [`EvaluationKeys::to_bytes`].
    fn byte_len(&self, py: Python<'_>) -> PyResult<usize> {
        guard(py, || {
            files::keys_file_len(self.exchange.params(), &self.keys.needs())
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            files::keys_to_bytes(self.exchange.params(), &self.keys)
        })
    }

    /// Reads keys from the bytes of one file, or of several that complete each other.
    #[staticmethod]
    #[pyo3(signature = (terms, data, *more))]
    fn from_bytes(
        py: Python<'_>,
        terms: Known,
        data: &[u8],
        more: Vec<PyBackedBytes>,
    ) -> PyResult<Self> {
        let exchange = terms.0;
        room_for_keys(&exchange)?;
        let keys = guard(py, || -> exchange::Result<_> {
            let mut keys = files::some_keys_from_bytes(&exchange, data)?;
            for data in &more {
                keys.merge(files::some_keys_from_bytes(&exchange, data)?)?;
            }
            keys.label().check("the evaluation keys", now())?;
            keys.check(&exchange.needs())?;
            Ok(keys)
        })?;
        Ok(Self { exchange, keys })
    }

    /// The profile of a file of keys, as JSON; the identity of its secret, when that was made and
    /// until when the keys may be used, in seconds since 1970.
    #[staticmethod]
    fn head(py: Python<'_>, data: &[u8]) -> PyResult<(String, String, Option<u64>, Option<u64>)> {
        let (profile, label) = guard(py, || files::keys_head(data))?;
        let key = hex(&label.key.to_bytes());
        Ok((profile.to_json(), key, label.created, label.expires))
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
