//! The client, which has the secrets.

use crate::error::{Error, Result, same};
use crate::evaluation::EvaluationKeys;
use crate::gates::Bit;
use crate::integer::Integer;
use crate::lwe::{Lwe, LweList};
use crate::params::{Encoding, Params};
use crate::radix::Radix;
use crate::secret::{GlweSecret, LweSecret};
use rand::CryptoRng;
use ring::torus::{Multiplier, Torus};
use rlwe::KeyId;
use rlwe::bytes::Fingerprint;
use std::marker::PhantomData;

/// The secrets. They encrypt, decrypt and generate a server's keys. Overwritten when dropped.
#[derive(Clone)]
pub struct ClientKey<T> {
    params: Params,
    big: GlweSecret,
    small: LweSecret,
    /// The bits of `big`, as the secret of samples.
    samples: LweSecret,
    id: KeyId,
    word: PhantomData<T>,
}

impl<T: Torus> ClientKey<T> {
    /// Generates fresh secrets.
    ///
    /// # Errors
    /// [`Error::Word`] if `T` is not the word of the parameters.
    pub fn generate(params: &Params, rng: &mut impl CryptoRng) -> Result<Self> {
        params.check_word::<T>()?;
        let big = GlweSecret::generate(params.rank(), params.n(), rng);
        let small = LweSecret::generate(params.lwe_dimension(), rng);
        Ok(Self::from_secrets(
            params,
            (big, small),
            KeyId::generate(rng),
        ))
    }

    pub(crate) fn from_secrets(
        params: &Params,
        (big, small): (GlweSecret, LweSecret),
        id: KeyId,
    ) -> Self {
        Self {
            params: params.clone(),
            id,
            samples: big.to_lwe(),
            big,
            small,
            word: PhantomData,
        }
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Identity of the secrets, which everything made under them carries.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The ring secret. Ciphertexts are encrypted under its bits.
    pub fn big_secret(&self) -> &GlweSecret {
        &self.big
    }

    /// The small secret, of dimension `n`.
    pub fn small_secret(&self) -> &LweSecret {
        &self.small
    }

    /// Generates the keys that a server needs.
    ///
    /// # Errors
    /// [`Error::Multiplier`] if the multiplier is made for another ring degree.
    pub fn evaluation_keys<M: Multiplier<T>>(
        &self,
        multiplier: &M,
        rng: &mut impl CryptoRng,
    ) -> Result<EvaluationKeys<T>> {
        let secrets = (&self.big, &self.small);
        let keys = EvaluationKeys::generate(&self.params, secrets, multiplier, rng)?;
        Ok(keys.of_key(self.id))
    }

    fn encrypt_words(&self, words: &[T], rng: &mut impl CryptoRng) -> LweList<T> {
        LweList::encrypt(&self.samples, self.params.spec().ring_sigma, words, rng)
    }

    /// Encrypts bits. All masks expand from one seed.
    ///
    /// # Errors
    /// [`Error::Encoding`] if the parameters are not for gates.
    pub fn compress_bits(&self, bits: &[bool], rng: &mut impl CryptoRng) -> Result<Compressed<T>> {
        self.params.check_gates()?;
        let eighth = T::from_torus(0.125);
        let words: Vec<T> = bits
            .iter()
            .map(|&b| {
                if b {
                    eighth
                } else {
                    T::default().minus(eighth)
                }
            })
            .collect();
        Ok(self.compressed(&words, rng))
    }

    /// Encrypts messages. All masks expand from one seed.
    ///
    /// # Errors
    /// [`Error::Encoding`] if the parameters are not for integers, [`Error::Message`].
    pub fn compress(&self, messages: &[u64], rng: &mut impl CryptoRng) -> Result<Compressed<T>> {
        self.params.check_integers()?;
        let limit = self.params.messages() - 1;
        if let Some(&found) = messages.iter().find(|&&m| m > limit) {
            return Err(Error::Message { found, limit });
        }
        let words: Vec<T> = messages.iter().map(|&m| self.params.encode(m)).collect();
        Ok(self.compressed(&words, rng))
    }

    fn compressed(&self, words: &[T], rng: &mut impl CryptoRng) -> Compressed<T> {
        Compressed {
            params: self.params.clone(),
            list: self.encrypt_words(words, rng),
            key: self.id,
        }
    }

    /// Encrypts a bit.
    ///
    /// # Errors
    /// [`Error::Encoding`] if the parameters are not for gates.
    pub fn encrypt_bit(&self, bit: bool, rng: &mut impl CryptoRng) -> Result<Bit<T>> {
        Ok(self.compress_bits(&[bit], rng)?.bits()?.remove(0))
    }

    /// Encrypts a message, below `2^message_bits`.
    ///
    /// # Errors
    /// [`Error::Encoding`] if the parameters are not for integers, [`Error::Message`].
    pub fn encrypt(&self, message: u64, rng: &mut impl CryptoRng) -> Result<Integer<T>> {
        Ok(self.compress(&[message], rng)?.integers()?.remove(0))
    }

    /// Encrypts a number in `blocks` digits. Each digit is a message.
    ///
    /// # Errors
    /// [`Error::Encoding`] if the parameters are not for integers; [`Error::Message`] for a number
    /// that does not fit.
    pub fn encrypt_radix(
        &self,
        number: u64,
        blocks: usize,
        rng: &mut impl CryptoRng,
    ) -> Result<Radix<T>> {
        let digits = crate::radix::digits(number, blocks, self.params.messages())?;
        Radix::new(self.compress(&digits, rng)?.integers()?)
    }

    /// Decrypts a bit.
    ///
    /// # Errors
    /// [`Error::Fingerprint`] if the bit was made for other parameters, [`Error::KeyMismatch`] if
    /// it belongs to another secret.
    pub fn decrypt_bit(&self, bit: &Bit<T>) -> Result<bool> {
        same("a bit", bit.made_for(), self.params.fingerprint())?;
        bit.lwe().key().join("client key", self.id)?;
        Ok(self.phase(bit.lwe()).to_centred() >= 0)
    }

    /// Decrypts a value with its carry bits.
    ///
    /// # Errors
    /// [`Error::Fingerprint`] if the value was made for other parameters, [`Error::KeyMismatch`] if
    /// it belongs to another secret.
    pub fn decrypt_with_carry(&self, x: &Integer<T>) -> Result<u64> {
        same("an integer", x.made_for(), self.params.fingerprint())?;
        x.lwe().key().join("client key", self.id)?;
        let half = T::from_low_bits(self.params.encode::<T>(1).to_u64() / 2);
        let shift = T::BITS - 1 - self.params.values().ilog2();
        Ok((self.phase(x.lwe()).plus(half).to_u64() >> shift) % self.params.values())
    }

    /// Decrypts a value modulo `2^message_bits`.
    ///
    /// # Errors
    /// [`Error::Fingerprint`] if the value was made for other parameters, [`Error::KeyMismatch`] if
    /// it belongs to another secret.
    pub fn decrypt(&self, x: &Integer<T>) -> Result<u64> {
        Ok(self.decrypt_with_carry(x)? % self.params.messages())
    }

    /// Decrypts a number, modulo 2^64 if it has more bits.
    ///
    /// # Errors
    /// [`Error::Fingerprint`] if the number was made for other parameters, [`Error::KeyMismatch`]
    /// if it belongs to another secret.
    pub fn decrypt_radix(&self, number: &Radix<T>) -> Result<u64> {
        let bits = self.params.messages().ilog2();
        let mut sum = 0;
        for (i, block) in number.blocks().iter().enumerate() {
            sum |= self
                .decrypt(block)?
                .checked_shl(i as u32 * bits)
                .unwrap_or(0);
        }
        Ok(sum)
    }

    /// Phase of a sample under the big secret, for measuring noise. It reveals the secret.
    ///
    /// # Panics
    /// If the sample has another dimension.
    pub fn phase(&self, lwe: &Lwe<T>) -> T {
        self.samples.phase(lwe.words())
    }
}

/// Fresh ciphertexts whose masks expand from one seed: a word for each, and 32 bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Compressed<T> {
    params: Params,
    list: LweList<T>,
    key: KeyId,
}

impl<T: Torus> Compressed<T> {
    pub(crate) fn from_parts(params: &Params, list: LweList<T>, key: KeyId) -> Self {
        Self {
            params: params.clone(),
            list,
            key,
        }
    }

    /// Identity of the secret.
    pub fn key(&self) -> KeyId {
        self.key
    }

    pub(crate) fn list(&self) -> &LweList<T> {
        &self.list
    }

    pub(crate) fn made_for(&self) -> &Fingerprint {
        self.params.fingerprint()
    }

    fn samples(&self) -> impl Iterator<Item = Lwe<T>> {
        let sample = |i| Lwe::from_words(self.list.expand(i..i + 1)).of_key(self.key);
        (0..self.list.len()).map(sample)
    }

    /// Expands the ciphertexts to bits.
    ///
    /// # Errors
    /// [`Error::Encoding`] if the parameters are not for gates.
    pub fn bits(&self) -> Result<Vec<Bit<T>>> {
        self.params.check_gates()?;
        Ok(self
            .samples()
            .map(|lwe| Bit::new(lwe, self.made_for()))
            .collect())
    }

    /// Expands the ciphertexts to integers.
    ///
    /// # Errors
    /// [`Error::Encoding`] if the parameters are not for integers.
    pub fn integers(&self) -> Result<Vec<Integer<T>>> {
        match self.params.encoding() {
            Encoding::Integers { .. } => {}
            found @ Encoding::Gates => {
                return Err(Error::Encoding {
                    found,
                    expected: "integers",
                });
            }
        }
        let max = self.params.messages() - 1;
        Ok(self
            .samples()
            .map(|lwe| Integer::new(lwe, max, 1, self.made_for()))
            .collect())
    }
}
