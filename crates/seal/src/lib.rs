//! Seals around a client's secret in its file.
//!
//! *Concept.* [`seal`] encrypts the seed of a secret under a passphrase, and [`unseal`] opens it. A
//! key of 32 bytes is derived from the passphrase by Argon2id (RFC 9106), and the seed is encrypted
//! by ChaCha20-Poly1305 (RFC 8439), which authenticates the label beside it. Both come from
//! libraries.
//!
//! *May use* `client`. A client that needs no passphrase does not need this crate. *Invariant*: the
//! derived key and the seed are overwritten when dropped. The library's own copy of the key is not.

#![forbid(unsafe_code)]

mod aead;

use argon2::{Algorithm, Argon2, Params, Version};
use client::{ClientSecret, Seal, StoredSecret};
use rand::CryptoRng;
use rlwe::KeyId;
use thiserror::Error;
use zeroize::Zeroizing;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of seals.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The passphrase is empty.
    #[error("the passphrase is empty: a seal with it would protect nothing")]
    Empty,
    /// The passphrase is wrong, or the file was changed.
    #[error(
        "the passphrase does not open the secret of key {key}: it is another one, or the file was changed"
    )]
    Passphrase {
        /// Identity that the file's label names.
        key: KeyId,
    },
    /// The secret has no seal, or one of another kind.
    #[error("the secret is {found}, expected one sealed by a passphrase")]
    Kind {
        /// How it is protected.
        found: String,
    },
    /// Costs of the derivation that are not allowed.
    #[error("{what} of the seal is {found}, expected {expected}")]
    Cost {
        /// The cost.
        what: &'static str,
        /// Value found.
        found: u32,
        /// Values allowed.
        expected: String,
    },
    /// The seed in the seal is not the secret that the label names.
    #[error(transparent)]
    Client(#[from] client::Error),
}

/// Costs of deriving a key from a passphrase: what a thief pays for each guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DerivationCost {
    /// Memory in KiB.
    pub memory: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Lanes, which could be computed side by side.
    pub lanes: u32,
}

impl Default for DerivationCost {
    /// The second choice of RFC 9106, section 4: 64 MiB, 3 passes, 4 lanes.
    fn default() -> Self {
        Self {
            memory: 64 << 10,
            passes: 3,
            lanes: 4,
        }
    }
}

/// Bounds of the costs that a file may ask for. They bound the memory and the time that a hostile
/// file takes.
const MAX_MEMORY: u32 = 1 << 20;
const MAX_PASSES: u32 = 64;
const MAX_LANES: u32 = 64;
/// Bytes of the tag behind a sealed seed.
const TAG: usize = 16;

/// Seals a secret under a passphrase.
///
/// # Errors
/// [`Error::Empty`], and [`Error::Cost`].
pub fn seal(
    secret: &ClientSecret,
    passphrase: &[u8],
    cost: DerivationCost,
    rng: &mut impl CryptoRng,
) -> Result<StoredSecret> {
    if passphrase.is_empty() {
        return Err(Error::Empty);
    }
    let (mut salt, mut nonce) = ([0; 16], [0; 12]);
    rng.fill_bytes(&mut salt);
    rng.fill_bytes(&mut nonce);
    let key = derived_key(passphrase, &salt, cost)?;
    let seal = Seal::Passphrase {
        memory: cost.memory,
        passes: cost.passes,
        lanes: cost.lanes,
        salt,
        nonce,
    };
    StoredSecret::sealed(secret, seal, |head, seed| {
        // The salt is fresh, so the key is, and no nonce meets it twice.
        let mut sealed = Vec::with_capacity(seed.len() + TAG);
        sealed.extend_from_slice(seed);
        aead::encrypt(&key, nonce, head, &mut sealed);
        Ok(sealed)
    })
}

/// Opens a secret that a passphrase seals.
///
/// # Errors
/// [`Error::Passphrase`], [`Error::Kind`] if no passphrase seals it, [`Error::Cost`] for a file
/// that asks for more than 1 GiB of memory or 64 passes.
pub fn unseal(stored: &StoredSecret, passphrase: &[u8]) -> Result<ClientSecret> {
    let (seal, sealed) = (stored.seal(), stored.sealed_seed());
    let (
        &Seal::Passphrase {
            memory,
            passes,
            lanes,
            ref salt,
            ref nonce,
        },
        Some(sealed),
    ) = (seal, sealed)
    else {
        let found = match seal {
            Seal::Wrapped { by } => format!("wrapped by {by}"),
            _ => "not sealed".into(),
        };
        return Err(Error::Kind { found });
    };
    let cost = DerivationCost {
        memory,
        passes,
        lanes,
    };
    let mut opened = Zeroizing::new(sealed.to_vec());
    let key = derived_key(passphrase, salt, cost)?;
    if !aead::decrypt(&key, *nonce, stored.head(), &mut opened) {
        let key = stored.label().key;
        return Err(Error::Passphrase { key });
    }
    Ok(stored.with_seed(&opened)?)
}

fn derived_key(
    passphrase: &[u8],
    salt: &[u8; 16],
    cost: DerivationCost,
) -> Result<Zeroizing<[u8; 32]>> {
    let allowed = [
        (
            "the memory in KiB",
            cost.memory,
            8 * cost.lanes.max(1),
            MAX_MEMORY,
        ),
        ("the number of passes", cost.passes, 1, MAX_PASSES),
        ("the number of lanes", cost.lanes, 1, MAX_LANES),
    ];
    for (what, found, least, most) in allowed {
        if !(least..=most).contains(&found) {
            return Err(Error::Cost {
                what,
                found,
                expected: format!("{least} to {most}"),
            });
        }
    }
    let mut key = Zeroizing::new([0; 32]);
    let params = Params::new(cost.memory, cost.passes, cost.lanes, Some(key.len()));
    let params = params.expect("costs within the bounds of the algorithm");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase, salt, key.as_mut())
        .expect("a passphrase and a salt within the bounds of the algorithm");
    Ok(key)
}

#[cfg(test)]
mod tests;
