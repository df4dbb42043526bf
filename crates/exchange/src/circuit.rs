//! The evaluation keys of a circuit of CKKS, BGV or BFV.

use rlwe::{GaloisKeys, KeyId, SwitchKey};

/// Evaluation keys of a circuit: public, made by the client for the server.
#[derive(Clone, Default)]
pub struct Keys {
    /// Relinearization key.
    pub relinearization: Option<SwitchKey>,
    /// Galois keys.
    pub galois: GaloisKeys,
    /// Keys to the sparse secret of bootstrapping and back, for a circuit that bootstraps.
    pub sparse: Option<SparseKeys>,
}

/// Key from the secret to a sparse one, and the key back. Ciphertexts are raised under the sparse
/// secret.
#[derive(Clone)]
pub struct SparseKeys {
    encapsulate: SwitchKey,
    release: SwitchKey,
}

impl SparseKeys {
    /// Takes the key to the sparse secret, and the one back.
    pub fn new([encapsulate, release]: [SwitchKey; 2]) -> Self {
        Self {
            encapsulate,
            release,
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

impl Keys {
    /// Identity of the secret to which the keys belong, by the first of them that states one.
    pub fn id(&self) -> KeyId {
        let galois = self.galois.iter().map(|(_, key)| key);
        let ids = self.relinearization.iter().chain(galois);
        let mut ids = ids.map(|key| key.ids()[1]);
        ids.find(|&id| id != KeyId::ANY).unwrap_or_default()
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        let relinearization = self.relinearization.as_ref();
        let sparse = self.sparse.as_ref().map_or(0, SparseKeys::byte_len);
        self.galois.byte_len() + relinearization.map_or(0, SwitchKey::byte_len) + sparse
    }
}
