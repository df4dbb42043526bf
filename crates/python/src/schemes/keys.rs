//! Keys of the three schemes.

use exchange::circuit::Keys;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use schemes::{Bfv, Bgv, Ckks, EvaluationKeys, Needs, PublicKey, SecretKey, rng};

use super::InScheme;
use super::one_of::{OneOf, each, map};
use super::params::SchemeParams;
use super::switch::SchemeSwitch;
use crate::guard::{guard, guard_bytes};
use crate::room::room;

/// A secret key of a scheme.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct SchemeSecret(pub(super) OneOf<SecretKey<Ckks>, SecretKey<Bfv>, SecretKey<Bgv>>);

/// A public encryption key of a scheme.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct SchemePublic(pub(super) OneOf<PublicKey<Ckks>, PublicKey<Bfv>, PublicKey<Bgv>>);

/// Evaluation keys of a scheme.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct SchemeKeys(
    pub(super) OneOf<EvaluationKeys<Ckks>, EvaluationKeys<Bfv>, EvaluationKeys<Bgv>>,
);

impl SchemeSecret {
    /// The key of the layer below.
    pub(crate) fn raw(&self) -> &rlwe::SecretKey {
        each!(&self.0, key => key.raw())
    }
}

#[pymethods]
impl SchemeSecret {
    pub(crate) fn params_of(&self) -> SchemeParams {
        SchemeParams(map!(&self.0, key => key.params().clone()))
    }

    #[staticmethod]
    fn generate(py: Python<'_>, params: &SchemeParams) -> PyResult<Self> {
        let key = guard(py, || {
            Ok::<_, PyErr>(map!(&params.0, p => p.generate_secret(&mut rng())))
        });
        Ok(Self(key?))
    }

    fn public_key(&self, py: Python<'_>) -> PyResult<SchemePublic> {
        let key = guard(py, || {
            Ok::<_, PyErr>(map!(&self.0, key => key.public_key(&mut rng())))
        });
        Ok(SchemePublic(key?))
    }

    /// A relinearization key, and Galois keys for rotations and for the conjugation, which swaps
    /// rows in BFV and BGV.
    fn evaluation_keys(
        &self,
        py: Python<'_>,
        rotations: Vec<isize>,
        conjugation: bool,
    ) -> PyResult<SchemeKeys> {
        let needs = Needs {
            rotations: &rotations,
            relinearize: true,
            conjugate: conjugation,
        };
        guard(py, || {
            let bytes = each!(&self.0, key => needs.byte_len(key.params()));
            room("making the evaluation keys", bytes as u64)?;
            let keys = map!(&self.0, key => key.keys(&needs, &mut rng()).or_raise()?);
            Ok::<_, PyErr>(SchemeKeys(keys))
        })
    }

    /// The key that re-encrypts from the secret `of` for this one.
    fn switch_key(&self, py: Python<'_>, of: &Self) -> PyResult<SchemeSwitch> {
        let (own, others) = (self.params_of(), of.params_of());
        guard(py, || {
            let key = match (&self.0, &of.0) {
                (OneOf::Ckks(to), OneOf::Ckks(from)) => {
                    OneOf::Ckks(to.switch_key(from, &mut rng()).or_raise()?)
                }
                (OneOf::Bfv(to), OneOf::Bfv(from)) => {
                    OneOf::Bfv(to.switch_key(from, &mut rng()).or_raise()?)
                }
                (OneOf::Bgv(to), OneOf::Bgv(from)) => {
                    OneOf::Bgv(to.switch_key(from, &mut rng()).or_raise()?)
                }
                _ => return Err(own.mismatch("secret key", &others)),
            };
            Ok(SchemeSwitch(key))
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || Ok::<_, PyErr>(each!(&self.0, key => key.to_bytes())))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &SchemeParams, data: &[u8]) -> PyResult<Self> {
        guard(py, || {
            let key = map!(&params.0, p => SecretKey::from_bytes(p, data)?);
            Ok::<_, schemes::Error>(Self(key))
        })
    }
}

#[pymethods]
impl SchemePublic {
    pub(crate) fn params_of(&self) -> SchemeParams {
        SchemeParams(map!(&self.0, key => key.params().clone()))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || Ok::<_, PyErr>(each!(&self.0, key => key.to_bytes())))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &SchemeParams, data: &[u8]) -> PyResult<Self> {
        guard(py, || {
            let key = map!(&params.0, p => PublicKey::from_bytes(p, data)?);
            Ok::<_, schemes::Error>(Self(key))
        })
    }
}

impl SchemeKeys {
    /// Keys of the layer below.
    pub(crate) fn new(params: &SchemeParams, keys: Keys) -> Self {
        Self(map!(&params.0, p => EvaluationKeys::of_raw(p, keys)))
    }

    /// The keys of the layer below.
    pub(crate) fn raw(&self) -> &Keys {
        each!(&self.0, keys => keys.raw())
    }

    /// Raises if a key is missing that `needs` names, for the first such key.
    pub(crate) fn check(&self, needs: &program::circuit::KeyNeeds) -> PyResult<()> {
        let check = || {
            each!(&self.0, keys => {
                if needs.relinearization.is_some() {
                    keys.relinearization()?;
                }
                for &steps in needs.rotations.keys() {
                    keys.for_rotation(steps as isize)?;
                }
                if needs.conjugation.is_some() {
                    keys.for_conjugation("the conjugation, or the swap of rows")?;
                }
                if needs.bootstrapping {
                    keys.sparse()?;
                }
            });
            Ok::<_, schemes::Error>(())
        };
        check().or_raise()
    }
}

#[pymethods]
impl SchemeKeys {
    pub(crate) fn params_of(&self) -> SchemeParams {
        SchemeParams(map!(&self.0, keys => keys.params().clone()))
    }

    /// The rotations for which there are keys, from the farthest right to the farthest left.
    fn rotations(&self) -> Vec<isize> {
        each!(&self.0, keys => keys.rotations())
    }

    /// Returns true if there is a key for the conjugation, or the swap of rows.
    fn conjugation(&self) -> bool {
        each!(&self.0, keys => keys.conjugation())
    }

    /// Bytes in memory.
    fn nbytes(&self) -> usize {
        each!(&self.0, keys => keys.byte_len())
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            Ok::<_, PyErr>(each!(&self.0, keys => keys.to_bytes()))
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &SchemeParams, data: &[u8]) -> PyResult<Self> {
        guard(py, || {
            let keys = map!(&params.0, p => EvaluationKeys::from_bytes(p, data)?);
            Ok::<_, schemes::Error>(Self(keys))
        })
    }
}
