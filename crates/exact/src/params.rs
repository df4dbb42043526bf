//! Parameters of exact schemes: the parameters of the ring, and the plaintext modulus.

use crate::encoder::{Encoder, Plaintext};
use crate::encrypt::Ciphertext;
use crate::error::{Error, Result};
use ring::{Cache, Modulus, ToModulus};
use rlwe::{ParamsSpec, SwitchKey};
use std::sync::Arc;

/// The Fermat prime 2^16 + 1. It gives all slots up to `N = 2^15`.
pub const T_FERMAT: u64 = 65537;

/// Checked parameters of the ring and the plaintext modulus. Cheap to clone.
#[derive(Clone)]
pub struct Params(Arc<Inner>);

struct Inner {
    rlwe: rlwe::Params,
    t: Modulus,
    encoder: Encoder,
    to_t: Cache<usize, ToModulus>,
}

impl Params {
    /// Checks `spec` and the plaintext modulus, and builds the parameters.
    ///
    /// # Errors
    /// The errors of [`rlwe::Params::new`], and [`Error::PlaintextModulus`].
    pub fn new(spec: &ParamsSpec, t: u64) -> Result<Self> {
        Self::with_slots(&rlwe::Params::new(spec)?, t)
    }

    /// As [`Params::new`], without the security check. For unit tests.
    ///
    /// # Errors
    /// As [`Params::new`], except for [`rlwe::Error::Insecure`].
    pub fn new_insecure(spec: &ParamsSpec, t: u64) -> Result<Self> {
        Self::with_slots(&rlwe::Params::new_insecure(spec)?, t)
    }

    fn with_slots(rlwe: &rlwe::Params, t: u64) -> Result<Self> {
        let n = rlwe.n();
        let params = Self::coefficients_only(rlwe, t);
        let params = params.map_err(|_| Error::PlaintextModulus { t, n })?;
        if params.encoder().has_slots() {
            Ok(params)
        } else {
            Err(Error::PlaintextModulus { t, n })
        }
    }

    /// Parameters with any odd plaintext modulus, for instance a power of a prime. Messages are
    /// coefficients, and there need not be slots.
    ///
    /// # Errors
    /// [`Error::CoefficientModulus`].
    pub fn coefficients_only(rlwe: &rlwe::Params, t: u64) -> Result<Self> {
        let whole = rlwe.extended(rlwe.max_level());
        let limit = whole.values().into_iter().min().unwrap_or(0);
        let encoder = Encoder::new(rlwe.n(), t).filter(|_| t < limit);
        let encoder = encoder.ok_or(Error::CoefficientModulus { t, limit })?;
        Ok(Self(Arc::new(Inner {
            t: *encoder.modulus(),
            rlwe: rlwe.clone(),
            encoder,
            to_t: Cache::new(),
        })))
    }

    /// Parameters of the ring.
    pub fn rlwe(&self) -> &rlwe::Params {
        &self.0.rlwe
    }

    /// Plaintext modulus.
    pub fn t(&self) -> &Modulus {
        &self.0.t
    }

    /// Encoder of coefficients and slots.
    pub fn encoder(&self) -> &Encoder {
        &self.0.encoder
    }

    /// Checks that a level exists.
    ///
    /// # Errors
    /// [`rlwe::Error::LevelTooLow`].
    pub fn check_level(&self, level: usize) -> Result<()> {
        let have = self.rlwe().max_level();
        if level <= have {
            return Ok(());
        }
        Err(rlwe::Error::LevelTooLow { need: level, have }.into())
    }

    /// Checks that `message` is a plaintext of these parameters: an encoder of others may have made
    /// it.
    ///
    /// # Errors
    /// [`Error::OtherParameters`] for another degree, [`Error::Message`] for a value that is no
    /// residue.
    pub fn check_message(&self, message: &Plaintext) -> Result<()> {
        let (found, expected) = (message.coefficients().len(), self.n());
        if found != expected {
            return Err(Error::other(
                "plaintext",
                format_args!("N = {found}"),
                format_args!("N = {expected}"),
            ));
        }
        self.encoder().check(message.coefficients())
    }

    /// Checks that ciphertexts are over the moduli of these parameters.
    ///
    /// # Errors
    /// [`Error::OtherParameters`].
    pub fn check_ciphertexts(&self, operands: &[&Ciphertext]) -> Result<()> {
        for ct in operands {
            let basis = ct.rlwe().components()[0].basis();
            if ct.level() > self.rlwe().max_level() || self.rlwe().basis(ct.level()) != basis {
                return Err(Error::other("ciphertext", basis, self));
            }
        }
        Ok(())
    }

    /// Checks that an evaluation key was made for the ring of these parameters.
    ///
    /// # Errors
    /// [`Error::OtherParameters`].
    pub fn check_key(&self, key: &SwitchKey) -> Result<()> {
        if key.params() == self.rlwe() {
            return Ok(());
        }
        Err(Error::other("evaluation key", key.params(), self.rlwe()))
    }

    /// Ring degree, which is also the number of slots.
    pub fn n(&self) -> usize {
        self.0.rlwe.n()
    }

    /// `Q mod t` at a level.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn q_mod_t(&self, level: usize) -> u64 {
        self.rlwe().basis(level).product_mod(self.t())
    }

    /// `t^{-1} mod q_i`.
    ///
    /// # Panics
    /// If there is no modulus `q_i`.
    pub fn t_inverse(&self, i: usize) -> u64 {
        let q = self.rlwe().basis(self.rlwe().max_level()).modulus(i);
        q.inv(q.reduce(self.t().value()))
            .expect("t is no modulus of the chain")
    }

    pub(crate) fn to_t(&self, level: usize) -> Arc<ToModulus> {
        self.0.to_t.get_or(&level, || {
            ToModulus::new(self.rlwe().basis(level), *self.t())
        })
    }
}

impl std::fmt::Debug for Params {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Params({:?}, t = {})", self.0.rlwe, self.0.t.value())
    }
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.rlwe == other.0.rlwe && self.t().value() == other.t().value())
    }
}

impl Eq for Params {}
