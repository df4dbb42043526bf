//! Identities of secrets. They show that keys and ciphertexts do not belong together.
//!
//! The identity of a secret is random, drawn when the secret is generated, and stored with it.
//! Every key and ciphertext under a secret carries the secret's identity in the clear. Nothing of
//! the secret goes into its identity, so the identity helps nobody to guess a secret, however few
//! bits a secret has. The identity shows which keys and ciphertexts belong to one secret. Anyone
//! with an evaluation key can also see this from their numbers.
//!
//! The identity finds mistakes, not forgeries: anyone may write any identity.

use rand::CryptoRng;
use std::fmt;
use thiserror::Error;

/// Identity of a secret, or [`KeyId::ANY`] for objects that fit every secret: trivial ciphertexts,
/// and objects from files that do not state an identity.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyId(Option<[u8; KeyId::LEN]>);

/// An object does not belong to the secret of another one.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "the {what} belongs to key {found}, expected key {expected}: what meets in a computation must be made under one secret key"
)]
pub struct KeyMismatch {
    /// Name of the object that does not belong.
    pub what: &'static str,
    /// Identity of the object's secret.
    pub found: KeyId,
    /// Identity of the secret to which the other object belongs.
    pub expected: KeyId,
}

impl KeyId {
    /// Bytes of an identity.
    pub const LEN: usize = 16;
    /// Fits every identity.
    pub const ANY: Self = Self(None);

    /// A fresh identity.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut id = [0; Self::LEN];
        rng.fill_bytes(&mut id);
        Self::from_bytes(id)
    }

    /// The common identity of two objects that meet in a computation: an object with this identity,
    /// and the object `what` with the identity `found`.
    ///
    /// # Errors
    /// [`KeyMismatch`] if both are stated and differ.
    pub fn join(self, what: &'static str, found: Self) -> Result<Self, KeyMismatch> {
        match (self.0, found.0) {
            (Some(a), Some(b)) if a != b => Err(KeyMismatch {
                what,
                found,
                expected: self,
            }),
            (None, _) => Ok(found),
            _ => Ok(self),
        }
    }

    /// The bytes of the identity: zeros for [`KeyId::ANY`].
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        self.0.unwrap_or_default()
    }

    /// The identity with these bytes.
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self((bytes != [0; Self::LEN]).then_some(bytes))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("any"),
            Some(id) => id[..6].iter().try_for_each(|b| write!(f, "{b:02x}")),
        }
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}
