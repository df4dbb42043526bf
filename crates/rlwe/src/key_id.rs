//! Identities of secrets, by which keys and ciphertexts that do not belong together are told apart.
//!
//! The identity of a secret is a part of a hash of its coefficients. So a secret that is read from
//! a file has the identity it had before. What is made under a secret carries its identity in the
//! clear: it shows which ciphertexts belong to one secret. A secret has more than a thousand bits
//! of entropy, so nobody finds it by trying hashes.

use sha2::{Digest, Sha256};
use std::fmt;
use thiserror::Error;

/// Identity of a secret, or [`KeyId::ANY`] for what belongs to every secret: trivial ciphertexts,
/// and objects from files that do not state an identity.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyId(Option<[u8; KeyId::LEN]>);

/// An object does not belong to the secret of another one.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "the {what} belongs to key {found}, expected key {expected}: what meets in a computation must be made under one secret key"
)]
pub struct KeyMismatch {
    /// The object.
    pub what: &'static str,
    /// Identity found.
    pub found: KeyId,
    /// Identity expected.
    pub expected: KeyId,
}

impl KeyId {
    /// Bytes of an identity.
    pub const LEN: usize = 16;
    /// Fits every identity.
    pub const ANY: Self = Self(None);

    /// The identity of the secret with these coefficients, which are at most 127 in size. `kind`
    /// separates the secrets of different schemes.
    pub fn of_secret(kind: &str, coefficients: impl IntoIterator<Item = i64>) -> Self {
        let mut hash = Sha256::new_with_prefix(b"palladion key identity ");
        hash.update(kind.as_bytes());
        for coefficient in coefficients {
            hash.update([coefficient as i8 as u8]);
        }
        let whole = hash.finalize();
        let mut id = [0; Self::LEN];
        id.copy_from_slice(&whole[..Self::LEN]);
        Self(Some(id))
    }

    /// The common identity of two objects that meet: that of `found`, which is `what`, and the
    /// expected one.
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
