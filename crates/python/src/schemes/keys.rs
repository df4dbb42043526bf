//! Keys of the three schemes.

use std::collections::BTreeSet;

use client::system_rng;
use exchange::circuit::{Keys, SparseKeys};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rlwe::{GaloisKeys, PublicKey, SecretKey, SwitchKey, galois, store};

use super::InScheme;
use super::params::SchemeParams;
use crate::error::MissingKeyError;
use crate::guard::{guard, guard_bytes};
use crate::room::room;

/// A secret key of a scheme.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct SchemeSecret {
    pub(crate) params: SchemeParams,
    pub(crate) key: SecretKey,
}

/// A public encryption key of a scheme.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct SchemePublic {
    pub(crate) params: SchemeParams,
    pub(crate) key: PublicKey,
}

/// Evaluation keys of a scheme.
#[pyclass(frozen, module = "palladion._native")]
pub(crate) struct SchemeKeys {
    pub(crate) params: SchemeParams,
    pub(crate) keys: Keys,
}

#[pymethods]
impl SchemeSecret {
    fn params_of(&self) -> SchemeParams {
        self.params.clone()
    }

    #[staticmethod]
    fn generate(py: Python<'_>, params: &SchemeParams) -> PyResult<Self> {
        let params = params.clone();
        guard(py, || {
            let key = SecretKey::generate(params.rlwe(), &mut system_rng());
            Ok::<_, PyErr>(Self { params, key })
        })
    }

    fn public_key(&self, py: Python<'_>) -> PyResult<SchemePublic> {
        guard(py, || {
            Ok::<_, PyErr>(SchemePublic {
                params: self.params.clone(),
                key: PublicKey::generate(&self.key, &mut system_rng()),
            })
        })
    }

    /// A relinearization key, and Galois keys for rotations and for the conjugation, which swaps
    /// rows in BFV and BGV.
    fn evaluation_keys(
        &self,
        py: Python<'_>,
        rotations: Vec<isize>,
        conjugation: bool,
    ) -> PyResult<SchemeKeys> {
        guard(py, || {
            let (rlwe, mut rng) = (self.params.rlwe(), system_rng());
            let (n, top) = (rlwe.n(), rlwe.max_level());
            let mut galois = GaloisKeys::new();
            let rotations = rotations.iter().map(|&k| galois::rotation_element(n, k));
            let elements = rotations.chain(conjugation.then(|| galois::conjugation_element(n)));
            let elements: BTreeSet<usize> = elements.filter(|&element| element != 1).collect();
            let relinearization = self.key.relinearization_key(top, &mut rng);
            let bytes = relinearization.byte_len().saturating_mul(elements.len());
            room("making the evaluation keys", bytes as u64)?;
            for element in elements {
                galois.insert(element, self.key.galois_key(element, top, &mut rng));
            }
            let keys = Keys {
                relinearization: Some(relinearization),
                galois,
                sparse: None,
            };
            Ok::<_, PyErr>(SchemeKeys::new(&self.params, keys))
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let made_for = self.params.made_for();
        guard_bytes(py, || {
            Ok::<_, PyErr>(store::secret_to_bytes(&self.key, made_for))
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &SchemeParams, data: &[u8]) -> PyResult<Self> {
        let params = params.clone();
        guard(py, || {
            let key =
                store::secret_from_bytes(params.rlwe(), params.made_for(), data).or_raise()?;
            Ok::<_, PyErr>(Self { params, key })
        })
    }
}

#[pymethods]
impl SchemePublic {
    fn params_of(&self) -> SchemeParams {
        self.params.clone()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let made_for = self.params.made_for();
        guard_bytes(py, || {
            Ok::<_, PyErr>(store::public_to_bytes(&self.key, made_for))
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &SchemeParams, data: &[u8]) -> PyResult<Self> {
        let params = params.clone();
        guard(py, || {
            let key =
                store::public_from_bytes(params.rlwe(), params.made_for(), data).or_raise()?;
            Ok::<_, PyErr>(Self { params, key })
        })
    }
}

impl SchemeKeys {
    pub(crate) fn new(params: &SchemeParams, keys: Keys) -> Self {
        let params = params.clone();
        Self { params, keys }
    }

    /// The keys to the sparse secret of bootstrapping, and back.
    pub(crate) fn sparse(&self) -> PyResult<&SparseKeys> {
        self.keys.sparse.as_ref().ok_or_else(|| {
            MissingKeyError::new_err(
                "no keys of bootstrapping: found those of products and rotations, expected those of Bootstrapper.keys, or of a circuit that bootstraps",
            )
        })
    }

    pub(crate) fn relinearization(&self) -> PyResult<&SwitchKey> {
        let key = self.keys.relinearization.as_ref();
        key.ok_or_else(|| self.missing("relinearization key for products"))
    }

    /// The Galois keys, after checking that the one for the rotation by `k` is there.
    pub(crate) fn for_rotation(&self, k: isize) -> PyResult<&GaloisKeys> {
        let element = galois::rotation_element(self.params.rlwe().n(), k);
        self.with(element, || format!("the rotation by {k}"))
    }

    /// The Galois keys, after checking that the one for the conjugation is there.
    pub(crate) fn for_conjugation(&self, words: &str) -> PyResult<&GaloisKeys> {
        let element = galois::conjugation_element(self.params.rlwe().n());
        self.with(element, || words.to_owned())
    }

    fn galois(&self) -> &GaloisKeys {
        &self.keys.galois
    }

    fn with(&self, element: usize, words: impl FnOnce() -> String) -> PyResult<&GaloisKeys> {
        let keys = self.galois();
        if element == 1 || keys.get(element).is_ok() {
            return Ok(keys);
        }
        Err(self.missing(&format!("Galois key for {}", words())))
    }

    fn missing(&self, what: &str) -> PyErr {
        let held = self.rotations();
        let held: Vec<String> = held.iter().map(isize::to_string).collect();
        MissingKeyError::new_err(format!(
            "no {what}: found keys of the rotations [{}]{}",
            held.join(", "),
            if self.conjugation() {
                " and of the conjugation"
            } else {
                ""
            }
        ))
    }
}

#[pymethods]
impl SchemeKeys {
    fn params_of(&self) -> SchemeParams {
        self.params.clone()
    }

    /// The rotations for which there are keys, from the farthest right to the farthest left.
    fn rotations(&self) -> Vec<isize> {
        let n = self.params.rlwe().n();
        let quarter = (n / 4) as isize;
        let held = |k: &isize| {
            let element = galois::rotation_element(n, *k);
            self.galois().get(element).is_ok()
        };
        (-quarter + 1..=quarter).filter(held).collect()
    }

    /// Whether there is a key for the conjugation, or the swap of rows.
    fn conjugation(&self) -> bool {
        let element = galois::conjugation_element(self.params.rlwe().n());
        self.galois().get(element).is_ok()
    }

    /// Bytes in memory.
    fn nbytes(&self) -> usize {
        self.keys.byte_len()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let made_for = self.params.made_for();
        guard_bytes(py, || {
            let Keys {
                relinearization,
                galois,
                sparse,
            } = &self.keys;
            Ok::<_, PyErr>(match (relinearization, sparse) {
                (Some(relinearization), Some(sparse)) => {
                    store::bootstrap_to_bytes(relinearization, galois, sparse.both(), made_for)
                }
                _ => store::evaluation_to_bytes(relinearization.as_ref(), galois, made_for),
            })
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, params: &SchemeParams, data: &[u8]) -> PyResult<Self> {
        let params = params.clone();
        guard(py, || {
            let (relinearization, galois) =
                store::evaluation_from_bytes(params.rlwe(), params.made_for(), data).or_raise()?;
            let keys = Keys {
                relinearization,
                galois,
                sparse: None,
            };
            Ok::<_, PyErr>(Self::new(&params, keys))
        })
    }
}
