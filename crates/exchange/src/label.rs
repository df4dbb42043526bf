//! Labels of keys: the secret they belong to, and their life.

use crate::error::{Error, Result};
use rlwe::KeyId;
use serde::{Deserialize, Serialize};

/// Largest size of a label in a file, in bytes.
pub(crate) const MAX_LABEL: usize = 1 << 12;

/// The name and the life of keys, in their file. Times are seconds since 1970, UTC.
///
/// Fields that are not known are passed over: a later version may have more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Label {
    /// Identity of the secret.
    #[serde(with = "id")]
    pub key: KeyId,
    /// When the secret was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<u64>,
    /// From when on the keys are not to be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

impl Label {
    /// The label of keys without a known life.
    pub fn of_key(key: KeyId) -> Self {
        Self {
            key,
            ..Self::default()
        }
    }

    /// Refuses keys whose life has ended.
    ///
    /// # Errors
    /// [`Error::Expired`] if `now` is not before [`expires`](Self::expires).
    pub fn check(&self, what: &'static str, now: u64) -> Result<()> {
        match self.expires {
            Some(expires) if now >= expires => Err(Error::Expired {
                what,
                key: self.key,
                expires,
                now,
            }),
            _ => Ok(()),
        }
    }

    /// The label as JSON, in one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a label has no keys that are not strings")
    }

    /// Reads a label.
    ///
    /// # Errors
    /// [`program::Error::Json`] if the text is no label.
    pub fn from_json(text: &str) -> Result<Self> {
        let label = serde_json::from_str(text);
        Ok(label.map_err(|error| program::Error::Json(error.to_string()))?)
    }
}

/// An identity as 32 hexadecimal digits.
mod id {
    use crate::hex;
    use rlwe::KeyId;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(id: &KeyId, to: S) -> Result<S::Ok, S::Error> {
        hex::serialize(&id.to_bytes(), to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<KeyId, D::Error> {
        hex::deserialize(from).map(KeyId::from_bytes)
    }
}
