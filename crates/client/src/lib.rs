//! The client's half of a run. Only this half holds secrets.
//!
//! *Concept.* A [`Client`] is a [`ClientSecret`] at work for one program. It makes the evaluation
//! keys that the program needs, all at once or one at a time into an output, encrypts images into a
//! query and decrypts the answer. An [`Encryptor`] encrypts under the public key that the client
//! has given it, and decrypts nothing. A secret may serve many programs. Its file is a
//! [`StoredSecret`], which may have a [`Seal`]. [`circuit_keys`] makes the keys of a circuit.
//!
//! *May use* `exchange` and the layers beneath it, but no circuits, no lowering and no server. A
//! client in a browser is built from this crate, so the only thing it asks of the operating system
//! is randomness. *Invariant*: secrets are overwritten when dropped, and [`StoredSecret`] is their
//! only byte form.

#![forbid(unsafe_code)]

mod client;
mod decrypt;
mod encrypt;
mod error;
mod file;
mod keys;
mod secret;

pub use client::Client;
pub use decrypt::Decrypted;
pub use encrypt::Encryptor;
pub use error::{Error, Result};
pub use file::{Seal, StoredSecret};
pub use keys::{ClientKeys, circuit_keys};
pub use secret::ClientSecret;

use ring::sample::SecretRng;

/// Returns a generator seeded by the operating system. Its state is overwritten when dropped.
///
/// # Panics
/// If the operating system gives no randomness.
pub fn system_rng() -> SecretRng {
    SecretRng::from_os()
}
