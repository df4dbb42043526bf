//! BGV ciphertexts.

use exact::{Error, Params, Result};

/// A BGV ciphertext and the parameters it was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ciphertext {
    params: Params,
    exact: exact::Ciphertext,
}

impl Ciphertext {
    /// Turns a ciphertext of exact arithmetic, such as BFV's, into one of BGV. Nothing is computed.
    ///
    /// # Errors
    /// [`Error::OtherParameters`] if the ciphertext is not over the moduli of `params`.
    pub fn from_exact(params: &Params, exact: exact::Ciphertext) -> Result<Self> {
        let basis = exact.rlwe().components()[0].basis();
        let rlwe = params.rlwe();
        if exact.level() > rlwe.max_level() || rlwe.basis(exact.level()) != basis {
            return Err(Error::other("ciphertext", basis, params));
        }
        Ok(Self::wrap(params, exact))
    }

    pub(crate) fn wrap(params: &Params, exact: exact::Ciphertext) -> Self {
        Self {
            params: params.clone(),
            exact,
        }
    }

    /// Turns the ciphertext into one of exact arithmetic, as BFV reads it. Nothing is computed.
    pub fn into_exact(self) -> exact::Ciphertext {
        self.exact
    }

    /// As [`Ciphertext::into_exact`], by reference.
    pub fn exact(&self) -> &exact::Ciphertext {
        &self.exact
    }

    pub(crate) fn exact_mut(&mut self) -> &mut exact::Ciphertext {
        &mut self.exact
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Factor `f` modulo `t` of the message in the residual: `-Q mu`.
    pub fn factor(&self) -> u64 {
        let t = self.params.t();
        t.neg(t.mul(self.params.q_mod_t(self.level()), self.exact.factor()))
    }

    /// The level: the number of limbs minus one.
    pub fn level(&self) -> usize {
        self.exact.level()
    }

    /// The degree: the number of components minus one.
    pub fn degree(&self) -> usize {
        self.exact.degree()
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        self.exact.byte_len()
    }

    /// The components in the form of other libraries: `c_0 + c_1 s + .. = f m + t e` modulo `Q`.
    pub fn textbook(&self) -> rlwe::Ciphertext {
        let mut ct = self.exact.rlwe().clone();
        for c in ct.components_mut() {
            c.scalar_mul_assign(|_| self.params.t().value());
        }
        ct
    }
}
