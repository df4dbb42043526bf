//! Keys of bootstrapping, and their bytes.

use super::Bootstrapper;
use rand::CryptoRng;
use rlwe::bytes::Fingerprint;
use rlwe::{GaloisKeys, SecretKey, SwitchKey, store};
use zeroize::Zeroizing;

/// Evaluation keys of bootstrapping.
pub struct BootstrapKeys {
    /// From the secret to the sparse one.
    pub(super) encapsulate: SwitchKey,
    /// And back.
    pub(super) release: SwitchKey,
    pub(super) relinearization: SwitchKey,
    pub(super) galois: GaloisKeys,
}

impl BootstrapKeys {
    /// The relinearisation key, of the highest level.
    pub fn relinearization(&self) -> &SwitchKey {
        &self.relinearization
    }

    /// The Galois keys, of the highest level.
    pub fn galois(&self) -> &GaloisKeys {
        &self.galois
    }

    /// Keys to the sparse secret, and back.
    pub fn sparse(&self) -> [&SwitchKey; 2] {
        [&self.encapsulate, &self.release]
    }

    /// The keys as bytes, sealed for a fingerprint of the parameters; about half of what they take in memory.
    pub fn to_bytes(&self, made_for: &Fingerprint) -> Vec<u8> {
        store::bootstrap_to_bytes(&self.relinearization, &self.galois, self.sparse(), made_for)
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        let others = [&self.encapsulate, &self.release, &self.relinearization];
        self.galois.byte_len() + others.map(SwitchKey::byte_len).iter().sum::<usize>()
    }
}

impl Bootstrapper {
    /// The keys, of all levels; relinearisation and rotation keys serve other circuits as well.
    pub fn generate_keys(&self, secret: &SecretKey, rng: &mut impl CryptoRng) -> BootstrapKeys {
        let params = &self.params;
        let (encoder, top) = (params.encoder(), params.rlwe().max_level());
        let below = SecretKey::generate(&self.sparse, rng);
        let small = Zeroizing::new(below.coefficients().to_vec());
        let above = SecretKey::from_coefficients(params.rlwe(), small);
        let mut galois = GaloisKeys::new();
        let rotations = self.rotations();
        let rotations = rotations
            .iter()
            .map(|&k| encoder.rotation_element(k as isize));
        for element in rotations.chain([encoder.conjugation_element()]) {
            galois.insert(element, secret.galois_key(element, top, rng));
        }
        BootstrapKeys {
            encapsulate: below.switch_key(secret, self.sparse.max_level(), rng),
            release: secret.switch_key(&above, top, rng),
            relinearization: secret.relinearization_key(top, rng),
            galois,
        }
    }

    /// Reads what [`BootstrapKeys::to_bytes`] wrote.
    ///
    /// # Errors
    /// If the bytes are no such keys, or made for other parameters.
    pub fn keys_from_bytes(
        &self,
        bytes: &[u8],
        made_for: &Fingerprint,
    ) -> rlwe::Result<BootstrapKeys> {
        let params = self.params.rlwe();
        let (relinearization, galois, [encapsulate, release]) =
            store::bootstrap_from_bytes(params, &self.sparse, made_for, bytes)?;
        Ok(BootstrapKeys {
            encapsulate,
            release,
            relinearization,
            galois,
        })
    }
}
