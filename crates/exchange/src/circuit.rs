//! The evaluation keys of a circuit of CKKS, BGV or BFV.

use rlwe::{GaloisKeys, SwitchKey};

/// Evaluation keys of a circuit: public, made by the client for the server.
#[derive(Clone, Default)]
pub struct Keys {
    /// Relinearization key.
    pub relinearization: Option<SwitchKey>,
    /// Galois keys.
    pub galois: GaloisKeys,
}

impl Keys {
    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        let relinearization = self.relinearization.as_ref();
        self.galois.byte_len() + relinearization.map_or(0, SwitchKey::byte_len)
    }
}
