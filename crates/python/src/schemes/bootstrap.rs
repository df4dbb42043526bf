//! Bootstrapping of CKKS ciphertexts.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use schemes::ckks::Bootstrapper;
use schemes::rng;

use super::ckks::CkksCiphertext;
use super::keys::{SchemeKeys, SchemeSecret};
use super::one_of::OneOf;
use super::params::SchemeParams;
use crate::guard::guard;
use crate::security;

/// Tables of bootstrapping.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct CkksBootstrapper(Bootstrapper);

impl CkksBootstrapper {
    fn params(&self) -> SchemeParams {
        SchemeParams(OneOf::Ckks(self.0.params().clone()))
    }
}

#[pymethods]
impl CkksBootstrapper {
    #[new]
    #[pyo3(signature = (params, slots=None))]
    fn new(py: Python<'_>, params: &SchemeParams, slots: Option<usize>) -> PyResult<Self> {
        let params = params.ckks()?;
        Ok(Self(guard(py, || Bootstrapper::new(params, slots))?))
    }

    /// Estimated security, including that of the sparse secret.
    fn security<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        security::to_dict(py, &self.0.security())
    }

    fn output_level(&self) -> usize {
        self.0.output_level()
    }

    /// Generates the keys of bootstrapping. They also serve for products and for the rotations
    /// among them.
    fn keys(&self, py: Python<'_>, secret: &SchemeSecret) -> PyResult<SchemeKeys> {
        let OneOf::Ckks(key) = &secret.0 else {
            return Err(self.params().mismatch("secret key", &secret.params_of()));
        };
        let keys = guard(py, || self.0.keys(key, &mut rng()));
        Ok(SchemeKeys(OneOf::Ckks(keys?)))
    }

    /// Reads stored keys.
    fn keys_from_bytes(&self, py: Python<'_>, data: &[u8]) -> PyResult<SchemeKeys> {
        let keys = guard(py, || self.0.keys_from_bytes(data));
        Ok(SchemeKeys(OneOf::Ckks(keys?)))
    }

    fn bootstrap(
        &self,
        py: Python<'_>,
        x: &CkksCiphertext,
        keys: &SchemeKeys,
    ) -> PyResult<CkksCiphertext> {
        let x = x.0.with_keys(x.keys(keys)?);
        Ok(CkksCiphertext(guard(py, || self.0.bootstrap(&x))?))
    }
}
