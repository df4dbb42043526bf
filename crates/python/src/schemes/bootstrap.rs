//! Bootstrapping of CKKS ciphertexts.

use circuits::approximate::{BootstrapSpec, Bootstrapper};
use circuits::operations::RunRing;
use client::system_rng;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::InScheme;
use super::ckks::CkksCiphertext;
use super::keys::{SchemeKeys, SchemeSecret};
use super::params::SchemeParams;
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

    /// Estimated security, including that of the sparse secret.
    fn security<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        security::to_dict(py, &self.tables.security())
    }

    fn output_level(&self) -> usize {
        self.tables.output_level()
    }

    /// Generates the keys of bootstrapping. They also serve for products and for the rotations
    /// among them.
    fn keys(&self, py: Python<'_>, secret: &SchemeSecret) -> PyResult<SchemeKeys> {
        self.params.check("secret key", &secret.params)?;
        guard(py, || {
            let keys = self.tables.generate_keys(&secret.key, &mut system_rng());
            Ok::<_, PyErr>(SchemeKeys::new(&self.params, keys.into()))
        })
    }

    /// Reads stored keys.
    fn keys_from_bytes(&self, py: Python<'_>, data: &[u8]) -> PyResult<SchemeKeys> {
        guard(py, || {
            let read = self.tables.keys_from_bytes(data, self.params.made_for());
            Ok::<_, PyErr>(SchemeKeys::new(&self.params, read.or_raise()?.into()))
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
        let (relinearization, sparse) = (keys.relinearization()?, keys.sparse()?);
        let ct = guard(py, || {
            let relinearization = Some(relinearization);
            let params = self.tables.params().rlwe();
            let mut operations = RunRing::new(params, relinearization, &keys.keys.galois);
            operations.add_sparse(sparse);
            let (room, n) = (x.ct().room(), params.n());
            let size = x.ct().size().refreshed(room, n).or_raise()?;
            let mut ct = self.tables.bootstrap_with(x.ct(), &operations).or_raise()?;
            ct.set_size(size);
            Ok::<_, PyErr>(ct)
        })?;
        Ok(CkksCiphertext::new(&self.params, ct))
    }
}
