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
    /// Generates fresh secrets from the operating system's randomness.
    pub fn generate(verified: &Verified) -> Self {
        Self::generate_from(verified, &mut system_rng())
    }

    /// Generates secrets from the given generator. For tests that must repeat.
    pub fn generate_from(verified: &Verified, rng: &mut impl CryptoRng) -> Self {
        Self::from_keys(verified, ClientKeys::generate(verified.params(), rng))
    }

    /// Makes a client from the given secrets.
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

    /// Makes the evaluation keys that the program needs, and no others.
    ///
    /// # Errors
    /// [`exchange::Error::Shape`] if the number of values of a packing is no power of two.
    pub fn evaluation_keys(&self) -> Result<EvaluationKeys> {
        let needs = self.verified.needs();
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
