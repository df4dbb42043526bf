//! The secret of a client, apart from any program.

use client::{Seal, StoredSecret, system_rng};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use seal::DerivationCost;

use crate::error::UsageError;
use crate::guard::{guard, guard_bytes};
use crate::program::hex;

/// The secret of a client as its file has it: open or sealed.
#[pyclass(frozen, module = "palladion", name = "Secret")]
pub(crate) struct ClientSecret(pub(crate) StoredSecret);

impl ClientSecret {
    /// The secret without its seal.
    ///
    /// # Errors
    /// If there is a seal.
    pub(crate) fn open(&self) -> PyResult<&client::ClientSecret> {
        self.0.secret().ok_or_else(|| {
            let (key, way) = (
                self.0.label().key,
                match self.0.seal() {
                    Seal::Wrapped { by } => format!("wrapped by {by}: give unwrap"),
                    _ => "sealed by a passphrase: give the passphrase".to_owned(),
                },
            );
            UsageError::new_err(format!("the secret of key {key} is {way}"))
        })
    }
}

#[pymethods]
impl ClientSecret {
    /// Generates a secret from the operating system's randomness. Times are seconds since 1970.
    #[staticmethod]
    #[pyo3(signature = (created=None, expires=None))]
    fn generate(py: Python<'_>, created: Option<u64>, expires: Option<u64>) -> PyResult<Self> {
        guard(py, || {
            let secret = client::ClientSecret::generate(&mut system_rng());
            Ok::<_, client::Error>(Self(secret.with_life(created, expires).into()))
        })
    }

    /// Identity of the secret: 32 hexadecimal digits.
    #[getter]
    fn key(&self) -> String {
        hex(&self.0.label().key.to_bytes())
    }

    /// When it was made, in seconds since 1970.
    #[getter]
    fn created(&self) -> Option<u64> {
        self.0.label().created
    }

    /// From when on it is not to be used, in seconds since 1970.
    #[getter]
    fn expires(&self) -> Option<u64> {
        self.0.label().expires
    }

    /// `"passphrase"`, `"wrapped"`, or `None` if whoever has the bytes has the secret.
    #[getter]
    fn seal(&self) -> Option<&'static str> {
        match self.0.seal() {
            Seal::None => None,
            Seal::Passphrase { .. } => Some("passphrase"),
            Seal::Wrapped { .. } => Some("wrapped"),
        }
    }

    /// Who wrapped it, in the user's words.
    #[getter]
    fn wrapped_by(&self) -> Option<String> {
        match self.0.seal() {
            Seal::Wrapped { by } => Some(by.clone()),
            _ => None,
        }
    }

    /// The secret with another life.
    #[pyo3(signature = (created=None, expires=None))]
    fn with_life(&self, created: Option<u64>, expires: Option<u64>) -> PyResult<Self> {
        Ok(Self(
            self.open()?.clone().with_life(created, expires).into(),
        ))
    }

    /// The secret, sealed by a passphrase.
    fn sealed(&self, py: Python<'_>, passphrase: &[u8]) -> PyResult<Self> {
        let secret = self.open()?;
        guard(py, || {
            seal::seal(
                secret,
                passphrase,
                DerivationCost::default(),
                &mut system_rng(),
            )
        })
        .map(Self)
    }

    /// The secret without the seal of a passphrase.
    fn unsealed(&self, py: Python<'_>, passphrase: &[u8]) -> PyResult<Self> {
        let secret = guard(py, || seal::unseal(&self.0, passphrase))?;
        Ok(Self(secret.into()))
    }

    /// The secret, wrapped by `wrap(seed, label)`, which returns the bytes to keep. `by` says who
    /// that is.
    fn wrapped(&self, py: Python<'_>, wrap: &Bound<'_, PyAny>, by: String) -> PyResult<Self> {
        let sealed = StoredSecret::sealed(self.open()?, Seal::Wrapped { by }, |head, seed| {
            let wrapped = wrap.call1((PyBytes::new(py, seed), PyBytes::new(py, head)))?;
            bytes_of(&wrapped, "wrap")
        });
        sealed.map(Self)
    }

    /// The secret without its wrapping, which `unwrap(wrapped, label)` takes off.
    fn unwrapped(&self, py: Python<'_>, unwrap: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (Seal::Wrapped { .. }, Some(wrapped)) = (self.0.seal(), self.0.sealed_seed()) else {
            return Err(UsageError::new_err("the secret is not wrapped"));
        };
        let label = PyBytes::new(py, self.0.head());
        let seed = unwrap.call1((PyBytes::new(py, wrapped), label))?;
        let seed = zeroize::Zeroizing::new(bytes_of(&seed, "unwrap")?);
        let secret = guard(py, || self.0.with_seed(&seed))?;
        Ok(Self(secret.into()))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || Ok::<_, PyErr>(self.0.to_bytes()))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        guard(py, || StoredSecret::from_bytes(data)).map(Self)
    }
}

fn bytes_of(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<u8>> {
    let found = value.get_type().name()?;
    let wrong = |_| PyTypeError::new_err(format!("{what} returned {found}, expected bytes"));
    value.extract().map_err(wrong)
}
