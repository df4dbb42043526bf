//! Keys of bootstrapping, and their bytes.

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
        self.sparse.both()
    }

    /// The keys as bytes, sealed for a fingerprint of the parameters; about half of what they take in memory.
    pub fn to_bytes(&self, made_for: &Fingerprint) -> Vec<u8> {
        store::bootstrap_to_bytes(&self.relinearization, &self.galois, self.sparse(), made_for)
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        self.galois.byte_len() + self.relinearization.byte_len() + self.sparse.byte_len()
    }
}

/// They serve circuits too.
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
    /// The keys, of all levels; relinearisation and rotation keys serve other circuits as well.
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
        let (relinearization, galois, sparse) =
            store::bootstrap_from_bytes(params, &self.sparse, made_for, bytes)?;
        Ok(BootstrapKeys {
            sparse: SparseKeys::new(sparse),
            relinearization,
            galois,
        })
    }
}
