//! Evaluation keys, by rotation, and keys that re-encrypt.

use crate::error::{Error, Result};
use crate::params::Params;
use crate::scheme::Scheme;
use crate::secret::SecretKey;
use exchange::circuit::{Keys, SparseKeys};
use rand::CryptoRng;
use rlwe::{GaloisKeys, galois, store};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The operations for which evaluation keys are made. By default those of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs<'a> {
    /// Rotations to the left. Negative ones are to the right.
    pub rotations: &'a [isize],
    /// Products of two ciphertexts.
    pub relinearize: bool,
    /// The complex conjugation of CKKS, and the swap of rows of BFV and BGV.
    pub conjugate: bool,
}

impl Default for Needs<'_> {
    fn default() -> Self {
        Self {
            rotations: &[],
            relinearize: true,
            conjugate: false,
        }
    }
}

impl Needs<'_> {
    /// The Galois elements of the rotations and of the conjugation, each once.
    fn elements(&self, n: usize) -> BTreeSet<usize> {
        let rotations = self.rotations.iter();
        let rotations = rotations.map(|&k| galois::rotation_element(n, k));
        let conjugation = self.conjugate.then(|| galois::conjugation_element(n));
        let elements = rotations.chain(conjugation);
        elements.filter(|&element| element != 1).collect()
    }

    /// Bytes in memory of the keys.
    pub fn byte_len<S: Scheme>(&self, params: &Params<S>) -> usize {
        let rlwe = params.rlwe();
        let one = rlwe::SwitchKey::byte_len_at(rlwe, rlwe.max_level());
        let count = self.elements(rlwe.n()).len() + usize::from(self.relinearize);
        one.saturating_mul(count)
    }
}

/// Evaluation keys: public, for whoever computes. Cheap to clone.
pub struct EvaluationKeys<S: Scheme>(Arc<Inner<S>>);

struct Inner<S: Scheme> {
    params: Params<S>,
    keys: Keys,
}

impl<S: Scheme> Clone for EvaluationKeys<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Scheme> EvaluationKeys<S> {
    pub(crate) fn generate(
        secret: &SecretKey<S>,
        needs: &Needs<'_>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let (params, key) = (secret.params(), secret.raw());
        let (n, top) = (params.n(), params.rlwe().max_level());
        let relinearization = needs.relinearize.then(|| key.relinearization_key(top, rng));
        let mut galois = GaloisKeys::new();
        for element in needs.elements(n) {
            galois.insert(element, key.galois_key(element, top, rng));
        }
        let keys = Keys {
            relinearization,
            galois,
            sparse: None,
        };
        Self::of_raw(params, keys)
    }

    /// Keys of the layer below, made for these parameters.
    pub fn of_raw(params: &Params<S>, keys: Keys) -> Self {
        let params = params.clone();
        Self(Arc::new(Inner { params, keys }))
    }

    /// The keys of the layer below.
    pub fn raw(&self) -> &Keys {
        &self.0.keys
    }

    /// The parameters.
    pub fn params(&self) -> &Params<S> {
        &self.0.params
    }

    /// The rotations for which there are keys, from the farthest right to the farthest left.
    pub fn rotations(&self) -> Vec<isize> {
        let n = self.params().n();
        let quarter = (n / 4) as isize;
        let held = |k: &isize| self.has(galois::rotation_element(n, *k));
        (-quarter + 1..=quarter).filter(held).collect()
    }

    /// Returns true if there is a key for the conjugation, or the swap of rows.
    pub fn conjugation(&self) -> bool {
        self.has(galois::conjugation_element(self.params().n()))
    }

    /// Bytes in memory. [`EvaluationKeys::to_bytes`] returns about half as many.
    pub fn byte_len(&self) -> usize {
        self.raw().byte_len()
    }

    fn has(&self, element: usize) -> bool {
        self.raw().galois.get(element).is_ok()
    }

    /// The relinearization key.
    ///
    /// # Errors
    /// [`Error::MissingKey`].
    pub fn relinearization(&self) -> Result<&rlwe::SwitchKey> {
        let key = self.raw().relinearization.as_ref();
        key.ok_or_else(|| self.missing("relinearization key for products".into()))
    }

    /// The keys to the sparse secret of bootstrapping, and back.
    ///
    /// # Errors
    /// [`Error::NoBootstrapKeys`].
    pub fn sparse(&self) -> Result<&SparseKeys> {
        self.raw().sparse.as_ref().ok_or(Error::NoBootstrapKeys)
    }

    /// The Galois keys, after a check that the one for the rotation by `k` is there.
    ///
    /// # Errors
    /// [`Error::MissingKey`].
    pub fn for_rotation(&self, k: isize) -> Result<&GaloisKeys> {
        let element = galois::rotation_element(self.params().n(), k);
        self.with(element, || format!("the rotation by {k}"))
    }

    /// The Galois keys, after a check that the one for the conjugation is there, which `words`
    /// names in the error.
    ///
    /// # Errors
    /// [`Error::MissingKey`].
    pub fn for_conjugation(&self, words: &str) -> Result<&GaloisKeys> {
        let element = galois::conjugation_element(self.params().n());
        self.with(element, || words.to_owned())
    }

    fn with(&self, element: usize, words: impl FnOnce() -> String) -> Result<&GaloisKeys> {
        if element == 1 || self.has(element) {
            return Ok(&self.raw().galois);
        }
        Err(self.missing(format!("Galois key for {}", words())))
    }

    fn missing(&self, what: String) -> Error {
        let held: Vec<String> = self.rotations().iter().map(isize::to_string).collect();
        Error::MissingKey {
            what,
            rotations: held.join(", "),
            conjugation: self.conjugation(),
        }
    }

    /// The keys as bytes. Half of them are seeds.
    pub fn to_bytes(&self) -> Vec<u8> {
        let made_for = self.params().made_for();
        let Keys {
            relinearization,
            galois,
            sparse,
        } = self.raw();
        match (relinearization, sparse) {
            (Some(relinearization), Some(sparse)) => {
                store::bootstrap_to_bytes(relinearization, galois, sparse.both(), made_for)
            }
            _ => store::evaluation_to_bytes(relinearization.as_ref(), galois, made_for),
        }
    }

    /// Reads keys. The bootstrapper reads the keys of bootstrapping.
    ///
    /// # Errors
    /// As [`SecretKey::from_bytes`].
    pub fn from_bytes(params: &Params<S>, bytes: &[u8]) -> Result<Self> {
        let read = store::evaluation_from_bytes(params.rlwe(), params.made_for(), bytes);
        let (relinearization, galois) = read?;
        let keys = Keys {
            relinearization,
            galois,
            sparse: None,
        };
        Ok(Self::of_raw(params, keys))
    }
}

impl<S: Scheme> std::fmt::Debug for EvaluationKeys<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (rotations, conjugation) = (self.rotations(), self.conjugation());
        write!(
            f,
            "EvaluationKeys(rotations {rotations:?}, conjugation {conjugation})"
        )
    }
}

/// A public key that re-encrypts from one secret to another: see [`SecretKey::switch_key`].
pub struct SwitchKey<S: Scheme> {
    params: Params<S>,
    key: rlwe::SwitchKey,
}

impl<S: Scheme> SwitchKey<S> {
    pub(crate) fn new(params: &Params<S>, key: rlwe::SwitchKey) -> Self {
        let params = params.clone();
        Self { params, key }
    }

    /// The parameters.
    pub fn params(&self) -> &Params<S> {
        &self.params
    }

    /// The key of the layer below.
    pub fn raw(&self) -> &rlwe::SwitchKey {
        &self.key
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        self.key.byte_len()
    }

    /// The key as bytes. Half of them are a seed.
    pub fn to_bytes(&self) -> Vec<u8> {
        store::switch_to_bytes(&self.key, self.params.made_for())
    }

    /// Reads a key.
    ///
    /// # Errors
    /// As [`SecretKey::from_bytes`].
    pub fn from_bytes(params: &Params<S>, bytes: &[u8]) -> Result<Self> {
        let key = store::switch_from_bytes(params.rlwe(), params.made_for(), bytes)?;
        Ok(Self::new(params, key))
    }
}

impl<S: Scheme> std::fmt::Debug for SwitchKey<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SwitchKey({})", self.params)
    }
}
