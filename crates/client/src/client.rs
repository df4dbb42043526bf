//! The client of one program, and its evaluation keys.

use crate::error::Result;
use crate::keys::ClientKeys;
use crate::system_rng;
use exchange::files::KeysWriter;
use exchange::{EvaluationKeys, Verified};
use rand::CryptoRng;
use std::io::Write;

/// The client of one program.
#[derive(Clone)]
pub struct Client {
    verified: Verified,
    keys: ClientKeys,
}

impl Client {
    /// Fresh secrets from the operating system's randomness.
    pub fn generate(verified: &Verified) -> Self {
        Self::generate_from(verified, &mut system_rng())
    }

    /// Secrets from the given generator: for tests that must repeat.
    pub fn generate_from(verified: &Verified, rng: &mut impl CryptoRng) -> Self {
        Self::from_keys(verified, ClientKeys::generate(verified.params(), rng))
    }

    /// A client with the given secrets.
    pub fn from_keys(verified: &Verified, keys: ClientKeys) -> Self {
        Self {
            verified: verified.clone(),
            keys,
        }
    }

    /// The secrets.
    pub fn keys(&self) -> &ClientKeys {
        &self.keys
    }

    /// The program.
    pub fn verified(&self) -> &Verified {
        &self.verified
    }

    /// The evaluation keys the program needs, and no others.
    ///
    /// # Errors
    /// If a packing is no power of two of values.
    pub fn evaluation_keys(&self) -> Result<EvaluationKeys> {
        let needs = self.verified.needs();
        self.keys.evaluation_keys(&needs, &mut system_rng())
    }

    /// Makes the evaluation keys that the program needs and writes their file, one key at a time:
    /// none stays in memory.
    ///
    /// # Errors
    /// If a packing is no power of two of values, and [`exchange::Error::Io`].
    pub fn write_evaluation_keys(&self, rng: &mut impl CryptoRng, out: impl Write) -> Result<()> {
        let mut file = KeysWriter::new(&self.verified, out)?;
        let needs = self.verified.needs();
        self.keys.each_evaluation_key(&needs, rng, |key| {
            file.write(key)?;
            ring::release_pool();
            Ok(())
        })?;
        Ok(file.end()?)
    }
}
