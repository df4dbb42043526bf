//! The client's half for JavaScript, in a browser or elsewhere.
//!
//! *Concept.* JavaScript sees three classes: `Terms` are a client's file, `Secret` is the file of a
//! secret, and a `Client` is a secret at work for a program. The package in `web/` wraps them: it
//! runs them in a worker and talks to a service.
//!
//! *May use* `seal` and the layers beneath it: a client needs no program, no weights, no circuit.
//! *Invariant*: evaluation keys are made one at a time, so the memory is that of one key, whatever
//! their number.

mod client;
mod error;
mod keys;
mod secret;
mod terms;

pub use client::{Decrypted, WebClient};
pub use error::{Failure, Result};
pub use secret::WebSecret;
pub use terms::WebTerms;

/// Bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Seconds since 1970.
fn now() -> u64 {
    (js_sys::Date::now() / 1000.0) as u64
}
