//! Bootstrapping of CKKS ciphertexts.

use circuits::approximate::{BootstrapSpec, Bootstrapper};
use client::system_rng;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::InScheme;
use super::ckks::CkksCiphertext;
use super::keys::{Held, SchemeKeys, SchemeSecret};
use super::params::SchemeParams;
use crate::error::MissingKeyError;
use crate::guard::guard;
use crate::security;

/// Tables of bootstrapping.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct CkksBootstrapper {
    params: SchemeParams,
    tables: Bootstrapper,
}

#[pymethods]
impl CkksBootstrapper {
    #[new]
    #[pyo3(signature = (params, slots=None))]
    fn new(py: Python<'_>, params: &SchemeParams, slots: Option<usize>) -> PyResult<Self> {
        let params = params.clone();
        guard(py, || {
            let spec = slots.map_or_else(BootstrapSpec::default, BootstrapSpec::for_slots);
            let tables = Bootstrapper::new(params.ckks()?.params(), &spec).or_raise()?;
            Ok::<_, PyErr>(Self { params, tables })
        })
    }

    /// Estimated security, of the sparse secret as well.
    fn security<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        security::to_dict(py, &self.tables.security())
    }

    fn output_level(&self) -> usize {
        self.tables.output_level()
    }

    /// Keys of bootstrapping, which serve products and their rotations as well.
    fn keys(&self, py: Python<'_>, secret: &SchemeSecret) -> PyResult<SchemeKeys> {
        self.params.check("secret key", &secret.params)?;
        guard(py, || {
            let keys = self.tables.generate_keys(&secret.key, &mut system_rng());
            Ok::<_, PyErr>(SchemeKeys {
                params: self.params.clone(),
                held: Held::Bootstrap(keys),
            })
        })
    }

    /// Reads keys that were stored.
    fn keys_from_bytes(&self, py: Python<'_>, data: &[u8]) -> PyResult<SchemeKeys> {
        guard(py, || {
            let read = self.tables.keys_from_bytes(data, self.params.made_for());
            Ok::<_, PyErr>(SchemeKeys {
                params: self.params.clone(),
                held: Held::Bootstrap(read.or_raise()?),
            })
        })
    }

    fn bootstrap(
        &self,
        py: Python<'_>,
        x: &CkksCiphertext,
        keys: &SchemeKeys,
    ) -> PyResult<CkksCiphertext> {
        self.params.check("ciphertext", x.params())?;
        self.params.check("evaluation keys", &keys.params)?;
        let Held::Bootstrap(keys) = &keys.held else {
            return Err(MissingKeyError::new_err(
                "no keys of bootstrapping: found those of products and rotations, expected Bootstrapper.keys",
            ));
        };
        let ct = guard(py, || self.tables.bootstrap(x.ct(), keys).or_raise())?;
        Ok(CkksCiphertext::new(&self.params, ct))
    }
}
