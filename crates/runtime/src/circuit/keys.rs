//! The evaluation keys of a circuit.

use super::scheme::Scheme;
use circuits::approximate::{BootstrapKeys, SparseKeys};
use program::circuit::KeyNeeds;
use rand::CryptoRng;
use rlwe::{GaloisKeys, SecretKey, SwitchKey};

/// Evaluation keys.
#[derive(Clone, Default)]
pub struct Keys {
    /// Relinearization key.
    pub relinearization: Option<SwitchKey>,
    /// Galois keys.
    pub galois: GaloisKeys,
    /// Keys to the sparse secret of bootstrapping, and back.
    pub sparse: Option<SparseKeys>,
}

impl From<BootstrapKeys> for Keys {
    fn from(keys: BootstrapKeys) -> Self {
        let (relinearization, galois, sparse) = keys.into_parts();
        Self {
            relinearization: Some(relinearization),
            galois,
            sparse: Some(sparse),
        }
    }
}

impl Keys {
    /// Makes the keys a circuit [needs](program::circuit::Circuit::keys), each for the highest level it is used at, and no other.
    ///
    /// # Panics
    /// If a level is none of the parameters', or they have no bootstrapping that is needed: of a circuit that a [`Runner`](super::Runner) takes, they are and have.
    pub fn generate<S: Scheme>(
        params: &S,
        needs: &KeyNeeds,
        secret: &SecretKey,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let rotations = needs.rotations.iter();
        let rotations = rotations.map(|(&k, &level)| (params.rotation(k), level));
        let conjugation = needs.conjugation.map(|level| (params.reflection(), level));
        let mut galois = GaloisKeys::new();
        for (element, level) in rotations.chain(conjugation) {
            galois.insert(
                element,
                secret.galois_key(element, params.ring_level(level), rng),
            );
        }
        let relinearization = needs.relinearization;
        let relinearization =
            relinearization.map(|level| secret.relinearization_key(params.ring_level(level), rng));
        let sparse = needs.bootstrapping.then(|| params.sparse_keys(secret, rng));
        Self {
            relinearization,
            galois,
            sparse: sparse
                .map(|keys| keys.expect("parameters that bootstrap have a sparse secret")),
        }
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        let relinearization = self.relinearization.as_ref();
        let sparse = self.sparse.as_ref().map_or(0, SparseKeys::byte_len);
        self.galois.byte_len() + relinearization.map_or(0, SwitchKey::byte_len) + sparse
    }
}
