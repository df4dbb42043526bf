//! RLWE: the keys, ciphertexts and operations that every scheme over the ring shares.
//!
//! *Concept.* A [`Ciphertext`] is a list of components `c_0, c_1, ..` with the phase
//! `c_0 + c_1 s + ..`. The meaning of the phase depends on the scheme. This crate has the
//! parameters and their [security check](security), secret and evaluation keys, hybrid
//! [key switching](Decomposed) with special moduli and digits, the [external product](Rgsw) by the
//! same gadget, the [dimension switch](DimensionKey) to a smaller secret, the extraction of
//! [LWE samples](lwe), noise measurement, and the [byte form](bytes) of all objects.
//!
//! *May use* only the ring. *Invariant*: a ciphertext at level `l` is over the first `l + 1` moduli
//! of its parameters' chain.

#![forbid(unsafe_code)]
#![warn(clippy::missing_panics_doc)]

pub mod bytes;
mod ciphertext;
mod dimension;
mod error;
mod extended;
pub mod galois;
mod key_id;
mod keys;
pub mod lwe;
pub mod noise;
mod params;
mod public;
mod rgsw;
pub mod security;
pub mod store;
mod switch;
mod words;

pub use ciphertext::Ciphertext;
pub use dimension::{DimensionKey, DimensionParams};
pub use error::{Error, Result};
pub use extended::Extended;
pub use key_id::{KeyId, KeyMismatch};
pub use keys::{GaloisKeys, SecretKey, SwitchKey};
pub use params::{Params, ParamsSpec};
pub use public::PublicKey;
pub use rgsw::Rgsw;
pub use switch::{Decomposed, switch_coeff, switch_poly};
pub use words::Words;
