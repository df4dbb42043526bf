//! The evaluation keys of a circuit.

use super::scheme::Scheme;
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
}

impl Keys {
    /// Makes the keys a circuit [needs](program::circuit::Circuit::keys), each for the highest level it is used at, and no other.
    ///
    /// # Panics
    /// If a level is none of the parameters': of a circuit that a [`Runner`](super::Runner) takes, all are.
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
        Self {
            relinearization,
            galois,
        }
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        let relinearization = self.relinearization.as_ref();
        self.galois.byte_len() + relinearization.map_or(0, SwitchKey::byte_len)
    }
}
