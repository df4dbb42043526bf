//! Secret keys, and public keys that only encrypt.

use crate::ciphertext::Ciphertext;
use crate::error::Result;
use crate::keys::{EvaluationKeys, Needs, SwitchKey};
use crate::params::Params;
use crate::scheme::Scheme;
use rand::CryptoRng;
use ring::sample::Masks;
use rlwe::store;
use zeroize::Zeroizing;

/// A secret key: it encrypts, decrypts and makes keys, and never leaves its owner. It is
/// overwritten when dropped.
pub struct SecretKey<S: Scheme> {
    params: Params<S>,
    key: rlwe::SecretKey,
}

/// A public key, which encrypts and cannot decrypt.
pub struct PublicKey<S: Scheme> {
    params: Params<S>,
    key: rlwe::PublicKey,
}

impl<S: Scheme> SecretKey<S> {
    pub(crate) fn generate(params: &Params<S>, rng: &mut impl CryptoRng) -> Self {
        Self {
            params: params.clone(),
            key: rlwe::SecretKey::generate(params.rlwe(), rng),
        }
    }

    /// The parameters.
    pub fn params(&self) -> &Params<S> {
        &self.params
    }

    /// Encrypts at most [`slots`](Params::slots) values, padded with zeros, at the highest level.
    ///
    /// # Errors
    /// For too many values, and for values that are not finite, too large for the modulus, or
    /// outside the plaintext space.
    pub fn encrypt<V>(&self, values: &[V], rng: &mut impl CryptoRng) -> Result<Ciphertext<S>>
    where
        V: Copy + Into<S::Value>,
    {
        self.encrypt_with(values, &S::Options::default(), rng)
    }

    /// As [`SecretKey::encrypt`], at the level and in the form that the options ask for.
    ///
    /// # Errors
    /// As [`SecretKey::encrypt`], and for a level that does not exist.
    pub fn encrypt_with<V>(
        &self,
        values: &[V],
        options: &S::Options,
        rng: &mut impl CryptoRng,
    ) -> Result<Ciphertext<S>>
    where
        V: Copy + Into<S::Value>,
    {
        let (params, values) = (&self.params, values_of::<S, V>(values));
        let level = params.level(S::level_of(options))?;
        let message = S::encode(params.evaluator(), &values, level, options)?;
        let mut masks = Masks::random(rng);
        let at = (&message, level);
        let ct = S::encrypt(params.evaluator(), &self.key, at, &mut masks, rng)?;
        Ok(Ciphertext::fresh(
            params,
            ct,
            S::packing(options),
            *masks.seed(),
        ))
    }

    /// Decrypts all slots, or all coefficients if the ciphertext holds coefficients. Integers are
    /// from 0 to `t - 1`: see [`decrypt_signed`](SecretKey::decrypt_signed).
    ///
    /// Decrypted values of CKKS contain noise in their low bits, and whoever gets them learns
    /// something about the key: see SECURITY.md.
    ///
    /// # Errors
    /// Of the kind [`Noise`](crate::ErrorKind::Noise) if the message is lost, and
    /// [`KeyMismatch`](crate::ErrorKind::KeyMismatch) for a ciphertext of another secret.
    pub fn decrypt(&self, x: &Ciphertext<S>) -> Result<Vec<S::Value>> {
        self.params.check("ciphertext", x.params())?;
        S::decrypt(self.params.evaluator(), &self.key, x.raw(), x.packing())
    }

    /// Makes evaluation keys, which are public: for whoever computes.
    ///
    /// # Errors
    /// This version returns no error.
    pub fn keys(&self, needs: &Needs<'_>, rng: &mut impl CryptoRng) -> Result<EvaluationKeys<S>> {
        Ok(EvaluationKeys::generate(self, needs, rng))
    }

    /// Makes a public key.
    pub fn public_key(&self, rng: &mut impl CryptoRng) -> PublicKey<S> {
        PublicKey {
            params: self.params.clone(),
            key: rlwe::PublicKey::generate(&self.key, rng),
        }
    }

    /// Makes the key that re-encrypts ciphertexts of the secret `from` for this secret, by
    /// [`Ciphertext::switch_key`]. Only an owner of both secrets can make it, and it is public.
    ///
    /// # Errors
    /// [`Error::OtherParameters`](crate::Error::OtherParameters).
    pub fn switch_key(&self, from: &Self, rng: &mut impl CryptoRng) -> Result<SwitchKey<S>> {
        self.params.check("secret key", &from.params)?;
        let level = self.params.rlwe().max_level();
        let key = self.key.switch_key(&from.key, level, rng);
        Ok(SwitchKey::new(&self.params, key))
    }

    /// The key as bytes, which are overwritten when dropped. They are as secret as the key.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        store::secret_to_bytes(&self.key, self.params.made_for())
    }

    /// Reads a key.
    ///
    /// # Errors
    /// Of the kind [`Format`](crate::ErrorKind::Format) for damaged bytes, or those of other
    /// parameters.
    pub fn from_bytes(params: &Params<S>, bytes: &[u8]) -> Result<Self> {
        Ok(Self {
            params: params.clone(),
            key: store::secret_from_bytes(params.rlwe(), params.made_for(), bytes)?,
        })
    }

    /// The key of the layer below.
    pub fn raw(&self) -> &rlwe::SecretKey {
        &self.key
    }
}

impl<S: Scheme> std::fmt::Debug for SecretKey<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

impl<S: Scheme> PublicKey<S> {
    /// The parameters.
    pub fn params(&self) -> &Params<S> {
        &self.params
    }

    /// Encrypts as [`SecretKey::encrypt`].
    ///
    /// # Errors
    /// As [`SecretKey::encrypt`].
    pub fn encrypt<V>(&self, values: &[V], rng: &mut impl CryptoRng) -> Result<Ciphertext<S>>
    where
        V: Copy + Into<S::Value>,
    {
        self.encrypt_with(values, &S::Options::default(), rng)
    }

    /// Encrypts as [`SecretKey::encrypt_with`].
    ///
    /// # Errors
    /// As [`SecretKey::encrypt_with`].
    pub fn encrypt_with<V>(
        &self,
        values: &[V],
        options: &S::Options,
        rng: &mut impl CryptoRng,
    ) -> Result<Ciphertext<S>>
    where
        V: Copy + Into<S::Value>,
    {
        let (params, values) = (&self.params, values_of::<S, V>(values));
        let level = params.level(S::level_of(options))?;
        let message = S::encode(params.evaluator(), &values, level, options)?;
        let ct = S::encrypt_public(params.evaluator(), &self.key, (&message, level), rng)?;
        Ok(Ciphertext::new(params, ct, S::packing(options)))
    }

    /// The key as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        store::public_to_bytes(&self.key, self.params.made_for())
    }

    /// Reads a key.
    ///
    /// # Errors
    /// As [`SecretKey::from_bytes`].
    pub fn from_bytes(params: &Params<S>, bytes: &[u8]) -> Result<Self> {
        Ok(Self {
            params: params.clone(),
            key: store::public_from_bytes(params.rlwe(), params.made_for(), bytes)?,
        })
    }

    /// The key of the layer below.
    pub fn raw(&self) -> &rlwe::PublicKey {
        &self.key
    }
}

impl<S: Scheme> std::fmt::Debug for PublicKey<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PublicKey({})", self.params)
    }
}

fn values_of<S: Scheme, V: Copy + Into<S::Value>>(values: &[V]) -> Vec<S::Value> {
    values.iter().map(|&value| value.into()).collect()
}
