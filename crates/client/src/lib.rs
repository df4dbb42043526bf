//! The client's half of a run: it alone holds secrets.
//!
//! *Concept.* A [`Client`] has the secrets of one program. It makes the evaluation keys that the
//! program needs, all at once or one at a time into an output, encrypts images into a query and
//! decrypts the answer. Its secrets have a file of their own. [`circuit_keys`] makes the keys of a
//! circuit.
//!
//! *May use* `exchange`, with the layers beneath it: no circuits, no lowering, no server. A client
//! in a browser is built of this crate, so it asks the operating system for randomness alone.
//! *Invariant*: secrets are overwritten when dropped, and [`Client::to_bytes`] is their only byte
//! form.

#![forbid(unsafe_code)]

mod client;
mod decrypt;
mod encrypt;
mod error;
mod file;
mod keys;

pub use client::Client;
pub use decrypt::Decrypted;
pub use error::{Error, Result};
pub use keys::{ClientKeys, circuit_keys};

use ring::sample::SecretRng;

/// A generator seeded by the operating system, which is overwritten when dropped.
///
/// # Panics
/// If the operating system gives no randomness.
pub fn system_rng() -> SecretRng {
    SecretRng::from_os()
}
