//! Keys of a scheme, and their generation as an operation.

use common::scheme::Result;
use rlwe::{GaloisKeys, Params, PublicKey, SecretKey, SwitchKey};
use serde_json::Value;

pub struct Keys {
    pub secret: SecretKey,
    pub public: PublicKey,
    pub relinearization: SwitchKey,
    pub galois: GaloisKeys,
}

impl Keys {
    /// Keys for the highest level, with Galois keys of these elements.
    pub fn generate(params: &Params, elements: impl IntoIterator<Item = usize>) -> Self {
        let mut rng = rand::rng();
        let level = params.max_level();
        let secret = SecretKey::generate(params, &mut rng);
        let mut galois = GaloisKeys::new();
        for element in elements {
            galois.insert(element, secret.galois_key(element, level, &mut rng));
        }
        Self {
            public: PublicKey::generate(&secret, &mut rng),
            relinearization: secret.relinearization_key(level, &mut rng),
            galois,
            secret,
        }
    }
}

impl Result for Keys {
    fn slots(&self) -> Option<Value> {
        None
    }
}
