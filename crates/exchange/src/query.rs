//! The query of a client: encrypted images.

use crate::error::{Error, Result};
use crate::files::query_to_bytes;
use crate::terms::Exchange;
use ring::sample::Seed;
use rlwe::KeyId;
use rlwe::bytes::{BytesError, Fingerprint, fingerprint};

/// Encrypted images of one run, under the secret or under a public key.
#[derive(Clone, Debug)]
pub struct Query {
    /// The layout or the program that the images are for.
    pub binding: Binding,
    /// Seed of the masks. `None` for images under a public key, whose masks expand from no seed.
    pub seed: Option<Seed>,
    /// Number of images, at most a batch.
    pub images: usize,
    /// The ciphertexts. They carry the identity of their secret.
    pub ciphertexts: Vec<bfv::Ciphertext>,
}

/// The programs that take a query. The file of a query says it, and its hash depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// An [input layout](Exchange::input_layout): every program with this layout takes the query.
    Layout(Fingerprint),
    /// One program, by its fingerprint. Files before version 2 say no more.
    Program(Fingerprint),
}

impl Query {
    /// Hash of the whole query: SHA-256 of its byte form. Answers and checkpoints name their query
    /// by it.
    pub fn hash(&self) -> Fingerprint {
        fingerprint(&query_to_bytes(self))
    }

    /// Identity of the secret under which the images are encrypted.
    ///
    /// # Errors
    /// [`rlwe::Error::KeyMismatch`] if there are several.
    pub fn key(&self) -> Result<KeyId> {
        let parts = self.ciphertexts.iter().map(bfv::Ciphertext::rlwe);
        Ok(rlwe::Ciphertext::common_key(parts)?)
    }

    /// Returns true for images under a public key.
    pub fn is_public(&self) -> bool {
        self.seed.is_none()
    }

    /// Refuses images that a program does not take.
    ///
    /// # Errors
    /// As [`Binding::check`], and [`Error::PublicInputs`] for images under a public key if the
    /// program promises nothing of them.
    pub fn check_program(&self, exchange: &Exchange) -> Result<()> {
        self.binding.check(exchange)?;
        match self.is_public() {
            true => exchange.public_inputs().map(drop),
            false => Ok(()),
        }
    }

    /// Refuses images under a public key where masks are expanded from seeds: by traces, and by
    /// machines other than the CPU.
    ///
    /// # Errors
    /// [`Error::PublicMasks`].
    pub fn check_seeded(&self) -> Result<()> {
        match self.is_public() {
            true => Err(Error::PublicMasks),
            false => Ok(()),
        }
    }
}

impl Binding {
    /// Refuses a query that a program does not take.
    ///
    /// # Errors
    /// [`Error::Layout`] for images encrypted for another input layout, [`Error::Bytes`] for those
    /// of a file before version 2 that were encrypted for another program. Both fingerprints are in
    /// it.
    pub fn check(&self, exchange: &Exchange) -> Result<()> {
        match self {
            Self::Layout(found) => {
                let expected = exchange.input_layout();
                match *found == expected {
                    true => Ok(()),
                    false => Err(Error::other_layout(found, &expected)),
                }
            }
            Self::Program(found) => {
                let expected = exchange.fingerprint();
                match found == expected {
                    true => Ok(()),
                    false => {
                        Err(BytesError::other_program("encrypted images", found, expected).into())
                    }
                }
            }
        }
    }
}
