//! The public key under which inputs are encrypted.

use crate::error::{Error, Result};
use crate::label::Label;
use crate::needs::Needs;
use crate::params::LoopParams;
use crate::profile::Profile;
use crate::terms::Exchange;
use rlwe::PublicKey;

/// The public key of a secret, under which anyone can encrypt inputs. Only the secret decrypts.
///
/// It serves every program of the same parameters whose inputs have its level or a lower one. It
/// has no secret in it, and it proves nothing of who encrypts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncryptionKey {
    profile: Profile,
    label: Label,
    key: PublicKey,
}

impl EncryptionKey {
    /// Makes the key of its parts. The key belongs to the secret that the label names.
    pub fn new(params: &LoopParams, label: Label, key: PublicKey) -> Self {
        let mut needs = Needs::default();
        needs.public(key.level());
        Self {
            profile: Profile::new(params, &needs),
            key: key.of_key(label.key),
            label,
        }
    }

    /// The parameters, and the level of the key.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Name and life of the secret.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// The key.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Checks that the inputs of a program can be encrypted under this key.
    ///
    /// # Errors
    /// [`Error::Profile`] for other parameters, [`Error::Shape`] for a key of too low a level, and
    /// [`Error::PublicInputs`] if the program promises nothing of such inputs.
    pub fn check(&self, exchange: &Exchange) -> Result<()> {
        self.profile.check_parameters(exchange.profile())?;
        let (found, expected) = (self.key.level(), exchange.input_level());
        if found < expected {
            return Err(Error::Shape {
                what: "the level of the public key",
                found: found.to_string(),
                expected: format!(
                    "at least {expected}: the owner of the secret makes it with the client's file \
                     of this program"
                ),
            });
        }
        exchange.public_inputs().map(drop)
    }
}
