//! Values of the encrypted run, and plaintexts encoded for each of their uses.

use super::scheme::Scheme;
use crate::error::Result;
use circuits::approximate::Diagonal;
use circuits::operations::RingOperations;
use program::circuit::Type;
use ring::{Eval, Poly};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The uses of a plaintext.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Uses {
    /// True if the plaintext is a factor of ciphertexts over the chain. `extended`: true if it is a
    /// factor over the special moduli too.
    pub(super) narrow: bool,
    pub(super) extended: bool,
    /// The factors of the ciphertexts to which the plaintext is added.
    pub(super) terms: BTreeSet<u64>,
}

/// A plaintext, encoded for each of its uses.
pub(super) struct Encoded {
    narrow: Option<Poly<Eval>>,
    extended: Option<Diagonal>,
    terms: BTreeMap<u64, Poly<Eval>>,
}

impl Encoded {
    /// Encodes the slots of a circuit, which repeat, at the level and scale of `ty`.
    pub(super) fn new<S: Scheme>(
        params: &S,
        slots: &[S::Slot],
        ty: Type,
        uses: &Uses,
    ) -> Result<Self> {
        let narrow = uses.narrow.then(|| params.factor(slots, ty));
        let extended = uses.extended.then(|| params.diagonal(slots, ty));
        let term = |&factor: &u64| Ok((factor, params.term(slots, ty, factor)?));
        Ok(Self {
            narrow: narrow.transpose()?,
            extended: extended.transpose()?,
            terms: uses.terms.iter().map(term).collect::<Result<_>>()?,
        })
    }

    pub(super) fn narrow(&self) -> &Poly<Eval> {
        self.narrow.as_ref().expect("encoded as planned")
    }

    pub(super) fn extended(&self) -> &Diagonal {
        self.extended.as_ref().expect("encoded as planned")
    }

    pub(super) fn term(&self, factor: u64) -> &Poly<Eval> {
        &self.terms[&factor]
    }

    pub(super) fn byte_len(&self) -> usize {
        let whole = self.narrow.iter().chain(self.terms.values());
        let whole: usize = whole.map(|poly| size_of_val(poly.words())).sum();
        whole + self.extended.as_ref().map_or(0, Diagonal::byte_len)
    }
}

/// A value of the run, in the mode `O` of operations. Its type states its scale, and the plan its
/// factor.
pub(super) enum Held<'a, O: RingOperations> {
    Plaintext(Arc<Encoded>),
    /// A ciphertext of two components, or of three before a relinearisation.
    Ciphertext(Cow<'a, O::Ciphertext>),
    Extended(O::Extended),
}

impl<O: RingOperations> Clone for Held<'_, O> {
    fn clone(&self) -> Self {
        match self {
            Self::Plaintext(encoded) => Self::Plaintext(encoded.clone()),
            Self::Ciphertext(x) => Self::Ciphertext(x.clone()),
            Self::Extended(x) => Self::Extended(x.clone()),
        }
    }
}

impl<O: RingOperations> Held<'_, O> {
    pub(super) fn of(inner: O::Ciphertext) -> Self {
        Self::Ciphertext(Cow::Owned(inner))
    }

    pub(super) fn plaintext(&self) -> &Encoded {
        match self {
            Self::Plaintext(encoded) => encoded,
            _ => unreachable!("types say which values are plaintexts"),
        }
    }

    /// Multiplies the value by an integer.
    pub(super) fn scaled(mut self, operations: &O, c: i64) -> Self {
        match &mut self {
            _ if c == 1 => {}
            Self::Plaintext(_) => unreachable!("factors of ciphertexts are matched"),
            Self::Extended(x) => operations.scale_extended(x, c.into()),
            Self::Ciphertext(x) => operations.scale_assign(x.to_mut(), c.into()),
        }
        self
    }
}
