//! The client of one program, and its evaluation keys.

use crate::error::Result;
use crate::keys::ClientKeys;
use crate::system_rng;
use exchange::files::KeysWriter;
use exchange::{EvaluationKeys, Exchange};
use rand::CryptoRng;
use std::io::Write;

/// The client of one program.
#[derive(Clone)]
pub struct Client {
    exchange: Exchange,
    keys: ClientKeys,
}

impl Client {
    /// Generates fresh secrets from the operating system's randomness.
    pub fn generate(exchange: &Exchange) -> Self {
        Self::generate_from(exchange, &mut system_rng())
    }

    /// Generates secrets from the given generator. For tests that must repeat.
    pub fn generate_from(exchange: &Exchange, rng: &mut impl CryptoRng) -> Self {
        Self::from_keys(exchange, ClientKeys::generate(exchange.params(), rng))
    }

    /// Makes a client from the given secrets.
    pub fn from_keys(exchange: &Exchange, keys: ClientKeys) -> Self {
        Self {
            exchange: exchange.clone(),
            keys,
        }
    }

    /// The secrets.
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
        Ok(keys)
    }

    /// Makes the evaluation keys that the program needs and writes their file. Keys are made one at
    /// a time, and none stays in memory.
    ///
    /// # Errors
    /// As [`evaluation_keys`](Self::evaluation_keys), and [`exchange::Error::Io`].
    pub fn write_evaluation_keys(&self, rng: &mut impl CryptoRng, out: impl Write) -> Result<()> {
        let mut file = KeysWriter::new(&self.exchange, out)?;
        let needs = self.exchange.needs();
        self.keys.each_evaluation_key(&needs, rng, |key| {
            file.write(key)?;
            ring::release_pool();
            Ok(())
        })?;
        Ok(file.end()?)
    }
}
