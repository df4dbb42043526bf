//! The query of a client: encrypted images.

use crate::error::Result;
use crate::files::query_to_bytes;
use crate::terms::Exchange;
use ring::sample::Seed;
use rlwe::bytes::{BytesError, Fingerprint, fingerprint};

/// Encrypted images of one run. The masks expand from the seed.
#[derive(Clone, Debug)]
pub struct Query {
    /// Fingerprint of the program that the images are for.
    pub fingerprint: Fingerprint,
    /// Seed of the masks.
    pub seed: Seed,
    /// Number of images, at most a batch.
    pub images: usize,
    /// The ciphertexts.
    pub ciphertexts: Vec<bfv::Ciphertext>,
}

impl Query {
    /// Hash of the whole query: SHA-256 of its byte form. Answers and checkpoints name their query
    /// by it.
    pub fn hash(&self) -> Fingerprint {
        fingerprint(&query_to_bytes(self))
    }

    /// Refuses images that were encrypted for another program.
    ///
    /// # Errors
    /// [`Error::Bytes`](crate::Error::Bytes) with both fingerprints.
    pub fn check_program(&self, exchange: &Exchange) -> Result<()> {
        let expected = exchange.fingerprint();
        if self.fingerprint == *expected {
            return Ok(());
        }
        let error = BytesError::other_program("encrypted images", &self.fingerprint, expected);
        Err(error.into())
    }
}
