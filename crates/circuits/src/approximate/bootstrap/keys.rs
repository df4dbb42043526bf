//! Keys of bootstrapping, and their bytes.

use super::{Bootstrapper, sparse_params};
use ckks::Params;
use rand::CryptoRng;
use rlwe::bytes::Fingerprint;
use rlwe::{GaloisKeys, SecretKey, SwitchKey, store};
use zeroize::Zeroizing;

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

    /// The relinearisation key, the Galois keys, and those of the sparse secret.
    pub fn into_parts(self) -> (SwitchKey, GaloisKeys, SparseKeys) {
        (self.relinearization, self.galois, self.sparse)
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        self.galois.byte_len() + self.relinearization.byte_len() + self.sparse.byte_len()
    }
}

/// Keys from the secret to a sparse one, under which ciphertexts are raised, and back.
#[derive(Clone)]
pub struct SparseKeys {
    encapsulate: SwitchKey,
    release: SwitchKey,
}

impl SparseKeys {
    /// Keys for a fresh sparse secret.
    ///
    /// # Errors
    /// Those of the parameters of the sparse secret, which [`Bootstrapper::new`] has too.
    pub fn generate(
        params: &Params,
        secret: &SecretKey,
        rng: &mut impl CryptoRng,
    ) -> rlwe::Result<Self> {
        Ok(Self::over(&sparse_params(params)?, secret, rng))
    }

    fn over(sparse: &rlwe::Params, secret: &SecretKey, rng: &mut impl CryptoRng) -> Self {
        let whole = secret.params();
        let below = SecretKey::generate(sparse, rng);
        let small = Zeroizing::new(below.coefficients().to_vec());
        let above = SecretKey::from_coefficients(whole, small);
        Self {
            encapsulate: below.switch_key(secret, sparse.max_level(), rng),
            release: secret.switch_key(&above, whole.max_level(), rng),
        }
    }

    /// The key to the sparse secret, and the one back.
    pub fn both(&self) -> [&SwitchKey; 2] {
        [&self.encapsulate, &self.release]
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        self.both().map(SwitchKey::byte_len).iter().sum()
    }
}

impl Bootstrapper {
    /// The keys, of all levels; relinearisation and rotation keys serve other circuits as well.
    pub fn generate_keys(&self, secret: &SecretKey, rng: &mut impl CryptoRng) -> BootstrapKeys {
        let params = &self.params;
        let (encoder, top) = (params.encoder(), params.rlwe().max_level());
        let sparse = SparseKeys::over(&self.sparse, secret, rng);
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
        let (relinearization, galois, [encapsulate, release]) =
            store::bootstrap_from_bytes(params, &self.sparse, made_for, bytes)?;
        Ok(BootstrapKeys {
            sparse: SparseKeys {
                encapsulate,
                release,
            },
            relinearization,
            galois,
        })
    }
}
