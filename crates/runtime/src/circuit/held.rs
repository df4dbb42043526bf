//! Values of the encrypted run, and the conversions between their forms.

use crate::error::Result;
use circuits::approximate::Diagonal;
use ckks::{Ciphertext, Complex64, Params, Plaintext};
use program::circuit::Type;
use rlwe::Extended;
use std::borrow::Cow;
use std::sync::Arc;

/// A plaintext in the forms that its uses ask for.
pub(super) struct Encoded {
    narrow: Option<Plaintext>,
    extended: Option<Diagonal>,
}

impl Encoded {
    /// Encodes slots, which repeat, at the level and scale of `ty`, without and with the special moduli.
    pub(super) fn new(
        params: &Params,
        slots: &[Complex64],
        ty: Type,
        (narrow, extended): (bool, bool),
    ) -> Result<Self> {
        let (level, scale) = (ty.level, ty.scale);
        let whole = || Plaintext::encode(params, slots, level, scale);
        let diagonal = || Diagonal::encode(params, slots, level, scale);
        Ok(Self {
            narrow: narrow.then(whole).transpose()?,
            extended: extended.then(diagonal).transpose()?,
        })
    }

    pub(super) fn narrow(&self) -> &Plaintext {
        self.narrow.as_ref().expect("encoded as planned")
    }

    pub(super) fn extended(&self) -> &Diagonal {
        self.extended.as_ref().expect("encoded as planned")
    }

    pub(super) fn byte_len(&self) -> usize {
        let narrow = self
            .narrow
            .as_ref()
            .map_or(0, |p| size_of_val(p.poly().words()));
        narrow + self.extended.as_ref().map_or(0, Diagonal::byte_len)
    }
}

/// A value. Its scale is that of its type.
#[derive(Clone)]
pub(super) enum Held<'a> {
    Plaintext(Arc<Encoded>),
    /// Two components, or three of a product.
    Ciphertext(Cow<'a, Ciphertext>),
    Extended(Extended),
}

impl Held<'_> {
    pub(super) fn of(inner: rlwe::Ciphertext, ty: Type) -> Self {
        Self::Ciphertext(Cow::Owned(Ciphertext::new(inner, ty.scale)))
    }

    pub(super) fn plaintext(&self) -> &Encoded {
        match self {
            Self::Plaintext(encoded) => encoded,
            _ => unreachable!("types say which values are plaintexts"),
        }
    }
}
