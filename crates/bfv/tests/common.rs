//! Parameters with a key, for tests of single operations.

use palladion_bfv::{Ciphertext, Evaluator, Params, Plaintext, decrypt, encrypt};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::sample::Masks;
use rlwe::SecretKey;

pub(crate) struct Setup {
    pub(crate) params: Params,
    pub(crate) eval: Evaluator,
    pub(crate) secret: SecretKey,
    pub(crate) rng: ChaCha20Rng,
}

impl Setup {
    pub(crate) fn of(params: Params, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        Self {
            eval: Evaluator::new(&params),
            secret: SecretKey::generate(params.rlwe(), &mut rng),
            params,
            rng,
        }
    }

    pub(crate) fn message(&self, slots: &[u64]) -> Plaintext {
        self.params.encoder().encode_slots(slots).unwrap()
    }

    pub(crate) fn encrypt(&mut self, slots: &[u64], level: usize) -> Ciphertext {
        let (message, mut masks) = (self.message(slots), Masks::random(&mut self.rng));
        let (params, secret) = (&self.params, &self.secret);
        encrypt(params, secret, &message, level, &mut masks, &mut self.rng).unwrap()
    }

    pub(crate) fn decrypt(&self, ct: &Ciphertext) -> Vec<u64> {
        let message = decrypt(&self.params, &self.secret, ct).unwrap();
        self.params.encoder().slots_of(&message)
    }
}
