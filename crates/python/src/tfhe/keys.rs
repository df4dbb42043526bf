//! The client's secrets and the server's keys.

use ::tfhe::{ClientKey, EvaluationKeys, ServerKey};
use client::system_rng;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::params::TfheParams;
use super::{BySize, Client, InScheme, Seeded, Server, each, on};
use crate::guard::{guard, guard_bytes};

/// Secrets of TFHE.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct TfheClient {
    pub(crate) params: TfheParams,
    pub(crate) key: Client,
}

/// Keys of a server, in stored form and ready for use.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct TfheServer {
    pub(crate) params: TfheParams,
    pub(crate) key: Server,
    pub(crate) seeded: Seeded,
}

/// Returns true if the parameters' words have 32 bits.
pub(crate) fn short(params: &TfheParams) -> bool {
    params.get().spec().word_bits == 32
}

#[pymethods]
impl TfheClient {
    #[staticmethod]
    fn generate(py: Python<'_>, params: &TfheParams) -> PyResult<Self> {
        let params = params.clone();
        guard(py, || {
            let (of, mut rng) = (params.get(), system_rng());
            let key = if short(&params) {
                BySize::Short(ClientKey::generate(of, &mut rng).or_raise()?)
            } else {
                BySize::Long(ClientKey::generate(of, &mut rng).or_raise()?)
            };
            Ok::<_, PyErr>(Self { params, key })
        })
    }

    fn params_of(&self) -> TfheParams {
        self.params.clone()
    }

    /// Generates the keys that a server needs.
    fn server_key(&self, py: Python<'_>) -> PyResult<TfheServer> {
        guard(py, || {
            let multiplier = self.params.multiplier()?;
            let seeded = each!(key = self.key => {
                key.evaluation_keys(&multiplier, &mut system_rng()).or_raise()?
            });
            TfheServer::new(&self.params, seeded)
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || Ok::<_, PyErr>(on!(key = self.key => key.to_bytes())))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &TfheParams, data: &[u8]) -> PyResult<Self> {
        let params = params.clone();
        guard(py, || {
            let key = if short(&params) {
                BySize::Short(ClientKey::from_bytes(params.get(), data).or_raise()?)
            } else {
                BySize::Long(ClientKey::from_bytes(params.get(), data).or_raise()?)
            };
            Ok::<_, PyErr>(Self { params, key })
        })
    }
}

impl TfheServer {
    fn new(params: &TfheParams, seeded: Seeded) -> PyResult<Self> {
        let key = each!(keys = seeded => ServerKey::new(keys, params.multiplier()?).or_raise()?);
        Ok(Self {
            params: params.clone(),
            key,
            seeded,
        })
    }
}

#[pymethods]
impl TfheServer {
    fn params_of(&self) -> TfheParams {
        self.params.clone()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            Ok::<_, PyErr>(on!(keys = self.seeded => keys.to_bytes()))
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &TfheParams, data: &[u8]) -> PyResult<Self> {
        guard(py, || {
            let seeded = if short(params) {
                BySize::Short(EvaluationKeys::from_bytes(params.get(), data).or_raise()?)
            } else {
                BySize::Long(EvaluationKeys::from_bytes(params.get(), data).or_raise()?)
            };
            Self::new(params, seeded)
        })
    }
}
