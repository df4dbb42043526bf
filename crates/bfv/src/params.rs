//! BFV parameters: the ring's and the plaintext modulus.

use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::product::ProductTables;
use ring::{Cache, Modulus, ToModulus};
use rlwe::ParamsSpec;
use std::sync::Arc;

/// The Fermat prime 2^16 + 1: all slots exist up to `N = 2^15`.
pub const T_FERMAT: u64 = 65537;

/// Checked BFV parameters. Cheap to clone.
#[derive(Clone)]
pub struct Params(Arc<Inner>);

struct Inner {
    rlwe: rlwe::Params,
    t: Modulus,
    encoder: Encoder,
    to_t: Cache<usize, ToModulus>,
    product: Cache<usize, ProductTables>,
}

impl Params {
    /// Checks `spec` and the plaintext modulus, and builds the parameters.
    ///
    /// # Errors
    /// Those of [`rlwe::Params::new`], and [`Error::PlaintextModulus`].
    pub fn new(spec: &ParamsSpec, t: u64) -> Result<Self> {
        Self::build(rlwe::Params::new(spec)?, t)
    }

    /// As [`Params::new`], without the security check. For unit tests.
    ///
    /// # Errors
    /// As [`Params::new`], except for insecure ones.
    pub fn new_insecure(spec: &ParamsSpec, t: u64) -> Result<Self> {
        Self::build(rlwe::Params::new_insecure(spec)?, t)
    }

    fn build(rlwe: rlwe::Params, t: u64) -> Result<Self> {
        let n = rlwe.n();
        let whole = rlwe.extended(rlwe.max_level());
        let wrong = || Error::PlaintextModulus { t, n };
        if whole.values().contains(&t) {
            return Err(wrong());
        }
        let encoder = Encoder::new(n, t).ok_or_else(wrong)?;
        Ok(Self(Arc::new(Inner {
            t: *encoder.modulus(),
            rlwe,
            encoder,
            to_t: Cache::new(),
            product: Cache::new(),
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

    /// Ring degree, which is the number of slots.
    pub fn n(&self) -> usize {
        self.0.rlwe.n()
    }

    /// `Q mod t` at a level.
    pub fn q_mod_t(&self, level: usize) -> u64 {
        self.rlwe().basis(level).product_mod(self.t())
    }

    /// `t^{-1} mod q_i`.
    pub fn t_inverse(&self, i: usize) -> u64 {
        let q = self.rlwe().basis(self.rlwe().max_level()).modulus(i);
        q.inv(q.reduce(self.t().value()))
            .expect("t is no modulus of the chain")
    }

    pub(crate) fn product_tables(&self, level: usize) -> Arc<ProductTables> {
        self.0
            .product
            .get_or(&level, || ProductTables::new(self, level))
    }

    pub(crate) fn to_t(&self, level: usize) -> Arc<ToModulus> {
        self.0.to_t.get_or(&level, || {
            ToModulus::new(self.rlwe().basis(level), *self.t())
        })
    }
}

impl std::fmt::Debug for Params {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "bfv::Params({:?}, t = {})",
            self.0.rlwe,
            self.0.t.value()
        )
    }
}
