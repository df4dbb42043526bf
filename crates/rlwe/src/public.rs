//! Encryption under a public key.

use crate::ciphertext::Ciphertext;
use crate::error::Result;
use crate::key_id::KeyId;
use crate::keys::SecretKey;
use crate::params::Params;
use rand::CryptoRng;
use ring::sample::{self, Masks, Seed};
use ring::{Basis, Eval, Poly};
use zeroize::Zeroizing;

/// Public encryption key: an encryption of zero, at the highest level or below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    zero: Ciphertext,
    /// Seed of the mask.
    seed: Seed,
}

impl PublicKey {
    /// A public key for `secret`, which encrypts at every level.
    pub fn generate(secret: &SecretKey, rng: &mut impl CryptoRng) -> Self {
        Self::generate_at(secret, secret.params().max_level(), rng)
    }

    /// A public key that encrypts at `level` and below.
    ///
    /// # Panics
    /// If `level` is above the highest level.
    pub fn generate_at(secret: &SecretKey, level: usize, rng: &mut impl CryptoRng) -> Self {
        let mut masks = Masks::random(rng);
        Self {
            zero: secret.encrypt_zero(level, &mut masks, rng),
            seed: *masks.seed(),
        }
    }

    /// A key from its body and the seed of its mask.
    pub fn from_parts(body: Poly<Eval>, seed: Seed) -> Self {
        Self {
            zero: Ciphertext::from_seed(body, &seed, 0),
            seed,
        }
    }

    /// This key, marked as belonging to the secret with the given identity.
    #[must_use]
    pub fn of_key(mut self, id: KeyId) -> Self {
        self.zero = self.zero.of_key(id);
        self
    }

    /// Identity of its secret.
    pub fn key(&self) -> KeyId {
        self.zero.key()
    }

    /// The body, and the seed of the mask.
    pub fn parts(&self) -> (&Poly<Eval>, &Seed) {
        (&self.zero.components()[0], &self.seed)
    }

    /// Highest level at which the key encrypts.
    pub fn level(&self) -> usize {
        self.zero.level()
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        self.zero.byte_len()
    }

    /// Basis of the highest level at which the key encrypts.
    pub fn basis(&self) -> &Basis {
        self.zero.components()[0].basis()
    }

    /// Encrypts zero at `level`: `u pk + (e_0, e_1)`, with a ternary `u`.
    ///
    /// # Errors
    /// [`Error::LevelTooLow`](crate::Error::LevelTooLow) if `level` is above the highest level.
    pub fn encrypt_zero(
        &self,
        params: &Params,
        level: usize,
        rng: &mut impl CryptoRng,
    ) -> Result<Ciphertext> {
        let mut ct = self.zero.clone();
        ct.drop_to(level)?;
        let (basis, n) = (params.basis(level), params.n());
        let small = |coefficients: Zeroizing<Vec<i64>>| {
            Zeroizing::new(Poly::from_signed(basis, &coefficients).into_eval())
        };
        ct.mul_poly_assign(&small(sample::ternary(n, rng)));
        for c in ct.components_mut() {
            c.add_assign(&small(sample::gaussian(n, rng)));
        }
        Ok(ct)
    }
}
