//! The keys of a server, whose masks are stored as seeds.

use crate::error::Result;
use crate::ggsw;
use crate::glwe::{GlweCipher, GlweList};
use crate::params::Params;
use crate::secret::{GlweSecret, LweSecret};
use crate::switch::SwitchKey;
use rand::CryptoRng;
use ring::torus::{Multiplier, Torus};
use rlwe::KeyId;

/// Bootstrapping key and key switching key. They are public. A [`ServerKey`](crate::ServerKey) is
/// made from them.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationKeys<T> {
    params: Params,
    bootstrap: GlweList<T>,
    switch: SwitchKey<T>,
    key: KeyId,
}

impl<T: Torus> EvaluationKeys<T> {
    /// Generates keys for the bits of `small` under `big`, and from `big` to `small`, on all
    /// threads of the pool.
    ///
    /// # Errors
    /// [`Error::Word`](crate::Error::Word), [`Error::Multiplier`](crate::Error::Multiplier).
    pub fn generate<M: Multiplier<T>>(
        params: &Params,
        (big, small): (&GlweSecret, &LweSecret),
        multiplier: &M,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        params.check_multiplier(multiplier)?;
        let cipher = GlweCipher::new(big, multiplier, params.spec().ring_sigma);
        Ok(Self {
            params: params.clone(),
            bootstrap: ggsw::encrypt(&cipher, params.spec().bootstrap, small.bits(), rng),
            switch: SwitchKey::generate(params, (big, small), multiplier, rng),
            key: KeyId::ANY,
        })
    }

    pub(crate) fn from_parts(
        params: &Params,
        bootstrap: GlweList<T>,
        switch: SwitchKey<T>,
    ) -> Self {
        Self {
            params: params.clone(),
            bootstrap,
            switch,
            key: KeyId::ANY,
        }
    }

    /// The same keys, as ones of the secret with the given identity.
    #[must_use]
    pub fn of_key(mut self, key: KeyId) -> Self {
        self.key = key;
        self
    }

    /// Identity of the secrets.
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// GGSW ciphertexts of the bits of the small secret, one after another.
    pub fn bootstrap(&self) -> &GlweList<T> {
        &self.bootstrap
    }

    /// The key switching key.
    pub fn switch(&self) -> &SwitchKey<T> {
        &self.switch
    }
}

/// Number of rows of the bootstrapping key at these parameters.
pub(crate) fn bootstrap_rows(params: &Params) -> usize {
    params.lwe_dimension() * (params.rank() + 1) * params.spec().bootstrap.levels() as usize
}
