//! The client of one program, and its evaluation keys.

use crate::error::Result;
use crate::keys::ClientKeys;
use crate::secret::ClientSecret;
use crate::system_rng;
use exchange::files::KeysWriter;
use exchange::{EncryptionKey, EvaluationKeys, Exchange, Needs};
use rand::CryptoRng;
use rlwe::PublicKey;
use rlwe::bytes::Fingerprint;
use std::io::Write;

/// The client of one program.
#[derive(Clone)]
pub struct Client {
    exchange: Exchange,
    secret: ClientSecret,
    keys: ClientKeys,
}

impl Client {
    /// Makes a client that has a secret already. Clients of several programs may share one.
    ///
    /// # Errors
    /// As [`ClientSecret::keys`].
    pub fn new(exchange: &Exchange, secret: &ClientSecret) -> Result<Self> {
        Ok(Self {
            exchange: exchange.clone(),
            keys: secret.keys(exchange.params())?,
            secret: secret.clone(),
        })
    }

    /// Generates a fresh secret from the operating system's randomness.
    pub fn generate(exchange: &Exchange) -> Self {
        Self::generate_from(exchange, &mut system_rng())
    }

    /// Generates a secret from the given generator. For tests that must repeat.
    #[expect(clippy::missing_panics_doc, reason = "a seed fits all parameters")]
    pub fn generate_from(exchange: &Exchange, rng: &mut impl CryptoRng) -> Self {
        Self::new(exchange, &ClientSecret::generate(rng)).expect("a seed fits all parameters")
    }

    /// The secret, apart from the program.
    pub fn secret(&self) -> &ClientSecret {
        &self.secret
    }

    /// The secrets for the parameters of the program.
    pub fn keys(&self) -> &ClientKeys {
        &self.keys
    }

    /// The terms of the program.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Makes the evaluation keys that the program needs, and no others.
    ///
    /// # Errors
    /// [`exchange::Error::Shape`] if the number of values of a packing is no power of two.
    pub fn evaluation_keys(&self) -> Result<EvaluationKeys> {
        let needs = self.exchange.needs();
        let keys = self.keys.evaluation_keys(&needs, &mut system_rng())?;
        ring::release_pool(); // runs need buffers of other sizes
        Ok(keys.labelled(*self.secret.label()))
    }

    /// Makes a public key for the inputs of the program, under which anyone can encrypt.
    pub fn encryption_key(&self) -> EncryptionKey {
        self.encryption_key_from(&mut system_rng())
    }

    /// As [`encryption_key`](Self::encryption_key), with randomness of the given generator. For
    /// tests that must repeat.
    pub fn encryption_key_from(&self, rng: &mut impl CryptoRng) -> EncryptionKey {
        let level = self.exchange.input_level();
        let key = PublicKey::generate_at(self.keys.secret(), level, rng);
        EncryptionKey::new(self.exchange.params(), *self.secret.label(), key)
    }

    /// Makes the evaluation keys `needs` and writes their file. Keys are made one at a time, and
    /// none stays in memory. The needs of the program are [`Exchange::needs`]; fewer are written
    /// where the server has some already, and more where the keys also serve other programs of the
    /// same parameters. Returns the digest of the file: SHA-256 of all its bytes.
    ///
    /// # Errors
    /// [`Error::Key`](crate::Error::Key) for a key that the parameters do not have,
    /// [`exchange::Error::Shape`] if the number of values of a packing is no power of two, and
    /// [`exchange::Error::Io`].
    pub fn write_evaluation_keys(
        &self,
        needs: &Needs,
        rng: &mut impl CryptoRng,
        out: impl Write,
    ) -> Result<Fingerprint> {
        let mut file = KeysWriter::new(self.exchange.params(), needs, self.secret.label(), out)?;
        self.keys.each_evaluation_key(needs, rng, |key| {
            file.write(key)?;
            ring::release_pool();
            Ok(())
        })?;
        Ok(file.end()?)
    }
}
