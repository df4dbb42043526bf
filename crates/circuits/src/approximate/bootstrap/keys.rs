//! Keys of bootstrapping, and their byte form.

use super::Bootstrapper;
use exchange::circuit::{Keys, SparseKeys};
use rand::CryptoRng;
use rlwe::bytes::Fingerprint;
use rlwe::{GaloisKeys, SecretKey, SwitchKey, store};

/// Evaluation keys of bootstrapping.
pub struct BootstrapKeys {
    pub(super) sparse: SparseKeys,
    pub(super) relinearization: SwitchKey,
    pub(super) galois: GaloisKeys,
}

impl BootstrapKeys {
    /// The relinearization key, at the highest level.
    pub fn relinearization(&self) -> &SwitchKey {
        &self.relinearization
    }

    /// The Galois keys, at the highest level.
    pub fn galois(&self) -> &GaloisKeys {
        &self.galois
    }

    /// Key to the sparse secret, and the key back.
    pub fn sparse(&self) -> [&SwitchKey; 2] {
        self.sparse.both()
    }

    /// Returns the byte form of the keys, sealed with a fingerprint of the parameters. It takes
    /// about half of the memory that the keys take.
    pub fn to_bytes(&self, made_for: &Fingerprint) -> Vec<u8> {
        store::bootstrap_to_bytes(&self.relinearization, &self.galois, self.sparse(), made_for)
    }

    /// Size in memory, in bytes.
    pub fn byte_len(&self) -> usize {
        self.galois.byte_len() + self.relinearization.byte_len() + self.sparse.byte_len()
    }
}

/// Circuits can use these keys too.
impl From<BootstrapKeys> for Keys {
    fn from(keys: BootstrapKeys) -> Self {
        Self {
            relinearization: Some(keys.relinearization),
            galois: keys.galois,
            sparse: Some(keys.sparse),
        }
    }
}

impl Bootstrapper {
    /// Generates the keys, for all levels. Other circuits can use the relinearization and Galois
    /// keys too.
    pub fn generate_keys(&self, secret: &SecretKey, rng: &mut impl CryptoRng) -> BootstrapKeys {
        let params = &self.params;
        let (encoder, top) = (params.encoder(), params.rlwe().max_level());
        let sparse = SparseKeys::new(secret.sparse_keys(&self.sparse, rng));
        let mut galois = GaloisKeys::new();
        let rotations = self.rotations().iter();
        let rotations = rotations.map(|&k| encoder.rotation_element(k as isize));
        for element in rotations.chain([encoder.conjugation_element()]) {
            galois.insert(element, secret.galois_key(element, top, rng));
        }
        BootstrapKeys {
            sparse,
            relinearization: secret.relinearization_key(top, rng),
            galois,
        }
    }

    /// Reads keys written by [`BootstrapKeys::to_bytes`].
    ///
    /// # Errors
    /// If the bytes are no such keys, or the keys were made for other parameters.
    pub fn keys_from_bytes(
        &self,
        bytes: &[u8],
        made_for: &Fingerprint,
    ) -> rlwe::Result<BootstrapKeys> {
        let params = self.params.rlwe();
        let (relinearization, galois, sparse) =
            store::bootstrap_from_bytes(params, &self.sparse, made_for, bytes)?;
        Ok(BootstrapKeys {
            sparse: SparseKeys::new(sparse),
            relinearization,
            galois,
        })
    }
}
