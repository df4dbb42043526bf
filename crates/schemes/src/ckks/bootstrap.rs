//! Bootstrapping: new levels for a ciphertext.

use super::{Ciphertext, EvaluationKeys, Params, SecretKey};
use crate::error::Result;
use circuits::approximate::{self, BootstrapSpec};
use circuits::operations::RunRing;
use rand::CryptoRng;
use rlwe::security::Security;

/// Gives ciphertexts new levels.
///
/// For [`Params::for_bootstrapping`](crate::Params::for_bootstrapping), at N = 2^16, keys and
/// tables take several GB of memory. Other parameters must have levels of the same sizes. The upper
/// levels are those that bootstrapping takes.
pub struct Bootstrapper {
    params: Params,
    tables: approximate::Bootstrapper,
}

impl Bootstrapper {
    /// Makes the tables for messages of all slots, or of `slots` slots, a power of two, that repeat
    /// in all slots. The latter take less work and fewer keys.
    ///
    /// # Errors
    /// For parameters that do not fit, and for another number of slots.
    pub fn new(params: &Params, slots: Option<usize>) -> Result<Self> {
        let spec = slots.map_or_else(BootstrapSpec::default, BootstrapSpec::for_slots);
        Ok(Self {
            params: params.clone(),
            tables: approximate::Bootstrapper::new(params.evaluator().params(), &spec)?,
        })
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The weaker of the securities of the parameters and of the sparse secret used inside.
    pub fn security(&self) -> Security {
        self.tables.security()
    }

    /// Level of the results.
    pub fn output_level(&self) -> usize {
        self.tables.output_level()
    }

    /// Generates the keys of bootstrapping. They also serve for products, for the conjugation, and
    /// for the rotations among them.
    ///
    /// # Errors
    /// For a secret key of other parameters.
    pub fn keys(&self, secret: &SecretKey, rng: &mut impl CryptoRng) -> Result<EvaluationKeys> {
        self.params.check("secret key", secret.params())?;
        let keys = self.tables.generate_keys(secret.raw(), rng);
        Ok(EvaluationKeys::of_raw(&self.params, keys.into()))
    }

    /// Reads keys from the bytes of [`EvaluationKeys::to_bytes`](crate::EvaluationKeys::to_bytes).
    ///
    /// # Errors
    /// Of the kind [`Format`](crate::ErrorKind::Format) for other bytes, or for keys of other
    /// parameters.
    pub fn keys_from_bytes(&self, bytes: &[u8]) -> Result<EvaluationKeys> {
        let keys = self.tables.keys_from_bytes(bytes, self.params.made_for())?;
        Ok(EvaluationKeys::of_raw(&self.params, keys.into()))
    }

    /// The message of `x`, slots up to 1, at [`Bootstrapper::output_level`].
    ///
    /// # Errors
    /// If `x` does not have the keys of [`Bootstrapper::keys`], and for a message that does not fit
    /// its modulus.
    pub fn bootstrap(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.params.check("ciphertext", x.params())?;
        let keys = x.needed(None)?;
        let (relinearization, sparse) = (keys.relinearization()?, keys.sparse()?);
        let params = self.tables.params().rlwe();
        let mut operations = RunRing::new(params, Some(relinearization), &keys.raw().galois);
        operations.add_sparse(sparse);
        let (room, n) = (x.raw().room(), params.n());
        let size = x.raw().size().refreshed(room, n)?;
        let mut ct = self.tables.bootstrap_with(x.raw(), &operations)?;
        ct.set_size(size);
        Ok(x.result(ct))
    }
}

impl std::fmt::Debug for Bootstrapper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bootstrapper({})", self.params)
    }
}
