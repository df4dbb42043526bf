//! CKKS: approximate arithmetic on encrypted complex or real slots.
//!
//! *Concept.* The phase of a ciphertext is `Delta m + e`. The message of `N/2` complex slots, or
//! fewer, is a real polynomial `m`, multiplied by the *scale* `Delta`, and `e` is a small error. A
//! product has the product of the scales. A [rescale](Evaluator::rescale) divides by the moduli of
//! the last *level*, which brings the scale back. A level may have one modulus or several, so
//! scales beyond the word size of the kernels are possible: 60 bits are two limbs of 30.
//!
//! *May use* `rlwe` and `ring`. *Invariant*: a ciphertext has the limbs of one of the levels of its
//! parameters. The operands of a sum have one scale.
//!
//! *Sources.* Cheon, Kim, Kim, Song, "Homomorphic Encryption for Arithmetic of Approximate
//! Numbers", ASIACRYPT 2017; Cheon et al., "A Full RNS Variant of Approximate Homomorphic
//! Encryption", SAC 2018; Kim, Papadimitriou, Polyakov, "Approximate Homomorphic Encryption with
//! Reduced Approximation Error", CT-RSA 2022 (scales that follow the moduli exactly).

#![forbid(unsafe_code)]
#![warn(clippy::missing_panics_doc)]

mod ciphertext;
mod decrypt;
mod encoder;
mod error;
mod evaluator;
pub mod noise;
mod params;
mod size;

pub use ciphertext::{Ciphertext, Plaintext, encrypt, encrypt_public};
pub use decrypt::{Doubt, decrypt, decrypt_unchecked};
pub use encoder::Encoder;
pub use error::{Error, Result};
pub use evaluator::{Evaluator, check_scales};
pub use num_complex::Complex64;
pub use params::{Params, ParamsSpec};
pub use size::Size;
