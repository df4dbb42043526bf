//! Keys that re-encrypt from one secret to another.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use schemes::{Bfv, Bgv, Ckks, SwitchKey};

use super::one_of::{OneOf, each, map};
use super::params::SchemeParams;
use crate::guard::{guard, guard_bytes};

/// A public key from one secret to another.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct SchemeSwitch(pub(super) OneOf<SwitchKey<Ckks>, SwitchKey<Bfv>, SwitchKey<Bgv>>);

#[pymethods]
impl SchemeSwitch {
    pub(super) fn params_of(&self) -> SchemeParams {
        SchemeParams(map!(&self.0, key => key.params().clone()))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || Ok::<_, PyErr>(each!(&self.0, key => key.to_bytes())))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &SchemeParams, data: &[u8]) -> PyResult<Self> {
        guard(py, || {
            let key = map!(&params.0, p => SwitchKey::from_bytes(p, data)?);
            Ok::<_, schemes::Error>(Self(key))
        })
    }
}
