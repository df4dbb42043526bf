//! CKKS, BFV and BGV for users: named parameters, keys, values in and out, and bytes.
//!
//! The three schemes have one shape of calls, in the modules [`ckks`], [`bfv`] and [`bgv`]:
//! parameters give a secret, a secret encrypts and decrypts and makes keys, and ciphertexts that
//! have keys are computed with.
//!
//! ```
//! use palladion_schemes::{Needs, bgv};
//!
//! let mut rng = palladion_schemes::rng();
//! let params = bgv::Params::named("exact-13")?;
//! let secret = params.generate_secret(&mut rng);
//! let keys = secret.keys(&Needs { rotations: &[1], ..Needs::default() }, &mut rng)?;
//!
//! let x = secret.encrypt(&[1, 2, 3], &mut rng)?.with_keys(&keys);
//! let y = x.mul(&x)?.add(&x.mul(3)?)?.sub(1)?; // x^2 + 3 x - 1
//! assert_eq!(secret.decrypt(&y.rotate(1)?)?[..2], [9, 17]);
//! # Ok::<(), palladion_schemes::Error>(())
//! ```
//!
//! Operations are methods that return a [`Result`], not operators: a level may be used up and a key
//! may be missing, and [`Error::kind`] tells which. A right operand is a ciphertext, a number or
//! values: see [`Operand`].
//!
//! A server needs bytes alone. It reads parameters, keys and ciphertexts, and never sees a secret:
//!
//! ```
//! use palladion_schemes::{Needs, ckks};
//!
//! # let mut rng = palladion_schemes::rng();
//! let params = ckks::Params::for_depth(13, 1, 30)?;
//! let secret = params.generate_secret(&mut rng);
//! let keys = secret.keys(&Needs::default(), &mut rng)?;
//! let x = secret.encrypt(&[0.5, -1.5], &mut rng)?;
//! let sent = (params.to_bytes(), keys.to_bytes(), x.to_bytes()?);
//!
//! // The server.
//! let there = ckks::Params::from_bytes(&sent.0)?;
//! let server = ckks::EvaluationKeys::from_bytes(&there, &sent.1)?;
//! let query = ckks::Ciphertext::from_bytes(&there, &sent.2)?.with_keys(&server);
//! let answer = query.mul(&query)?.to_bytes()?;
//!
//! // The client again. The bytes do not say how large the message is, so it says so.
//! let answer = ckks::Ciphertext::from_bytes(&params, &answer)?.bounded(4.0)?;
//! let found = secret.decrypt_real(&answer)?;
//! assert!((found[1] - 2.25).abs() < 1e-3);
//! # Ok::<(), palladion_schemes::Error>(())
//! ```
//!
//! *May use* the schemes and the circuits on them. Types of the layers below are not needed, but
//! can be reached, by methods such as [`Params::evaluator`] and [`Ciphertext::raw`].

#![forbid(unsafe_code)]
#![warn(clippy::missing_panics_doc)]

mod arithmetic;
pub mod bfv;
pub mod bgv;
mod ciphertext;
pub mod ckks;
mod error;
mod exact;
mod keys;
mod operand;
mod params;
mod power;
mod scheme;
mod secret;
pub mod sets;
mod spec;
mod store;

pub use ciphertext::{Ciphertext, Packing};
pub use error::{Error, ErrorKind, Result};
pub use exact::{Exact as ExactScheme, ExactOptions, ExactSizes, residues};
pub use keys::{EvaluationKeys, Needs, SwitchKey};
pub use operand::Operand;
pub use params::{Params, scheme_of};
pub use rand::CryptoRng;
pub use rlwe::security::Security;
pub use scheme::{Bfv, Bgv, Ckks, Scheme};
pub use secret::{PublicKey, SecretKey};

/// A generator seeded by the operating system, for keys and ciphertexts. Its state is overwritten
/// when dropped.
///
/// # Panics
/// If the operating system gives no randomness.
pub fn rng() -> impl CryptoRng + use<> {
    ring::sample::SecretRng::from_os()
}
