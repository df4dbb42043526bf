//! Public keys, under which anyone encrypts inputs of a program.

use client::Encryptor;
use exchange::{EncryptionKey, Exchange, files};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::ToPython;
use crate::guard::{guard, guard_bytes};
use crate::keys::{SecretKey, now};
use crate::messages::Query;
use crate::program::hex;
use crate::terms::{Known, Terms};

/// The public key of a secret, for inputs of a program. It encrypts and does not decrypt.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct PublicKey {
    exchange: Exchange,
    key: EncryptionKey,
}

#[pymethods]
impl PublicKey {
    /// Makes a public key of a secret, for the program that the secret is at work for.
    #[staticmethod]
    fn of(py: Python<'_>, secret: &SecretKey) -> PyResult<Self> {
        let exchange = secret.0.exchange().clone();
        let key = guard(py, || Ok::<_, client::Error>(secret.0.encryption_key()))?;
        Ok(Self { exchange, key })
    }

    /// The terms of the program with which it was read or made.
    fn terms(&self) -> Terms {
        Terms::of(&self.exchange)
    }

    /// Identity of the secret that decrypts: 32 hexadecimal digits.
    #[getter]
    fn key(&self) -> String {
        hex(&self.key.label().key.to_bytes())
    }

    /// From when on it is not to be used, in seconds since 1970.
    #[getter]
    fn expires(&self) -> Option<u64> {
        self.key.label().expires
    }

    /// Checks that the key may be used, and that the program takes inputs under it.
    fn check(&self) -> PyResult<()> {
        let label = self.key.label().check("the public key", now());
        label.map_err(ToPython::to_python)?;
        let program = self.key.check(&self.exchange);
        program.map_err(ToPython::to_python)
    }

    /// Encrypts the integers of images.
    fn encrypt(&self, py: Python<'_>, images: Vec<Vec<i64>>) -> PyResult<Query> {
        self.check()?;
        let query = guard(py, || {
            Encryptor::new(&self.exchange, &self.key)?.encrypt(&images)
        })?;
        Ok(Query {
            exchange: self.exchange.clone(),
            query,
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            Ok::<_, PyErr>(files::encryption_key_to_bytes(&self.key))
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, terms: Known, data: &[u8]) -> PyResult<Self> {
        let exchange = terms.0;
        let key = guard(py, || files::encryption_key_from_bytes(&exchange, data))?;
        Ok(Self { exchange, key })
    }

    /// The profile of a public key's file, as JSON; the identity of its secret, when that was made
    /// and until when the key may be used, in seconds since 1970.
    #[staticmethod]
    fn head(py: Python<'_>, data: &[u8]) -> PyResult<(String, String, Option<u64>, Option<u64>)> {
        let (profile, label) = guard(py, || files::encryption_key_head(data))?;
        let key = hex(&label.key.to_bytes());
        Ok((profile.to_json(), key, label.created, label.expires))
    }
}
