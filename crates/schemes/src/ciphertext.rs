//! Ciphertexts, with the keys to compute with them.

use crate::error::{Error, Result};
use crate::keys::EvaluationKeys;
use crate::params::Params;
use crate::scheme::Scheme;
use ring::sample::Seed;
use std::sync::Arc;

/// The places of a message's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// In the slots: operators work on each slot.
    #[default]
    Slots,
    /// In the coefficients of a polynomial: products are products of polynomials modulo `X^N + 1`.
    Coefficients,
}

impl Packing {
    fn words(self) -> &'static str {
        match self {
            Self::Slots => "slots",
            Self::Coefficients => "coefficients",
        }
    }
}

/// Encrypted values. Cheap to clone.
///
/// A ciphertext does not change: an operation returns a new one. Products with ciphertexts and
/// rotations need [keys](Ciphertext::with_keys), and results have the keys of their operands.
pub struct Ciphertext<S: Scheme> {
    params: Params<S>,
    raw: Arc<S::Raw>,
    packing: Packing,
    /// Seed of the mask, if the ciphertext is fresh.
    seed: Option<Seed>,
    keys: Option<EvaluationKeys<S>>,
}

impl<S: Scheme> Clone for Ciphertext<S> {
    fn clone(&self) -> Self {
        Self {
            params: self.params.clone(),
            raw: self.raw.clone(),
            packing: self.packing,
            seed: self.seed,
            keys: self.keys.clone(),
        }
    }
}

impl<S: Scheme> Ciphertext<S> {
    pub(crate) fn new(params: &Params<S>, raw: S::Raw, packing: Packing) -> Self {
        Self {
            params: params.clone(),
            raw: Arc::new(raw),
            packing,
            seed: None,
            keys: None,
        }
    }

    pub(crate) fn fresh(params: &Params<S>, raw: S::Raw, packing: Packing, seed: Seed) -> Self {
        Self {
            seed: Some(seed),
            ..Self::new(params, raw, packing)
        }
    }

    /// A ciphertext of the layer below, with its values in slots.
    ///
    /// # Errors
    /// If it is not over the moduli of these parameters.
    pub fn of_raw(params: &Params<S>, raw: S::Raw) -> Result<Self> {
        S::level(params.evaluator(), &raw)?;
        Ok(Self::new(params, raw, Packing::Slots))
    }

    /// The ciphertext of the layer below.
    pub fn raw(&self) -> &S::Raw {
        &self.raw
    }

    /// The result of an operation on this ciphertext.
    pub(crate) fn result(&self, raw: S::Raw) -> Self {
        Self {
            keys: self.keys.clone(),
            ..Self::new(&self.params, raw, self.packing)
        }
    }

    /// The same ciphertext, with keys to compute with it.
    #[must_use]
    pub fn with_keys(&self, keys: &EvaluationKeys<S>) -> Self {
        Self {
            keys: Some(keys.clone()),
            ..self.clone()
        }
    }

    /// The keys, if it has some.
    pub fn keys(&self) -> Option<&EvaluationKeys<S>> {
        self.keys.as_ref()
    }

    /// The parameters.
    pub fn params(&self) -> &Params<S> {
        &self.params
    }

    /// The places of the values.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// This ciphertext, read as one with its values in other places. Bytes do not have the places.
    #[must_use]
    pub fn of_packing(&self, packing: Packing) -> Self {
        Self {
            packing,
            ..self.clone()
        }
    }

    /// The level: how many levels are left.
    #[expect(
        clippy::missing_panics_doc,
        reason = "a ciphertext was checked when made"
    )]
    pub fn level(&self) -> usize {
        let level = S::level(self.params.evaluator(), &self.raw);
        level.expect("a ciphertext has a level of its parameters")
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        S::inner(&self.raw).byte_len()
    }

    pub(crate) fn seed(&self) -> Option<&Seed> {
        self.seed.as_ref()
    }

    /// Returns true if `self` and `other` are one ciphertext.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.raw, &other.raw)
    }

    /// The keys of this ciphertext, or else those of the other operand, if they are of these
    /// parameters.
    pub(crate) fn needed<'a>(&'a self, other: Option<&'a Self>) -> Result<&'a EvaluationKeys<S>> {
        let others = other.and_then(Self::keys);
        let keys = self.keys.as_ref().or(others).ok_or(Error::NoKeys)?;
        self.params.check("evaluation keys", keys.params())?;
        Ok(keys)
    }

    /// Checks that another operand is of these parameters, and holds its values likewise.
    pub(crate) fn check(&self, other: &Self) -> Result<()> {
        self.params.check("ciphertext", &other.params)?;
        if self.packing == other.packing {
            return Ok(());
        }
        Err(Error::OtherPacking {
            found: other.packing.words(),
            expected: self.packing.words(),
        })
    }
}

impl<S: Scheme> std::fmt::Debug for Ciphertext<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ciphertext(level {}, {})", self.level(), self.params)
    }
}
