//! Ciphertexts as bytes.

use crate::ciphertext::{Ciphertext, Packing};
use crate::error::Result;
use crate::params::Params;
use crate::scheme::Scheme;
use rlwe::store;

impl<S: Scheme> Ciphertext<S> {
    /// The ciphertext as bytes, without keys. Half of a fresh one from a secret key is a seed.
    ///
    /// # Errors
    /// This version returns no error.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (raw, made_for) = (self.raw(), self.params().made_for());
        let (inner, number) = (S::inner(raw), S::number(raw));
        Ok(store::ciphertext_to_bytes(
            inner,
            self.seed(),
            number,
            made_for,
        )?)
    }

    /// Reads a ciphertext, with its values in slots. Bytes say neither where the values are (see
    /// [`Ciphertext::of_packing`]) nor how large they are.
    ///
    /// # Errors
    /// Of the kind [`Format`](crate::ErrorKind::Format) for damaged bytes, or those of other
    /// parameters.
    pub fn from_bytes(params: &Params<S>, bytes: &[u8]) -> Result<Self> {
        let stored = store::ciphertext_from_bytes(params.rlwe(), params.made_for(), bytes)?;
        let raw = S::open(params.evaluator(), stored.ct, stored.number)?;
        Ok(match stored.seed {
            Some(seed) => Self::fresh(params, raw, Packing::Slots, seed),
            None => Self::new(params, raw, Packing::Slots),
        })
    }
}
