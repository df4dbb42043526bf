//! CKKS: approximate arithmetic on encrypted complex or real slots.
//!
//! *Concept.* The phase of a ciphertext is `Delta m + e`: a message of `N/2` complex slots, or fewer, seen as a real
//! polynomial and multiplied by the *scale* `Delta`, plus a small error. A product has the product of the
//! scales; a [rescale](Evaluator::rescale) divides by the moduli of the last *level* and brings the scale back. A level
//! may be one modulus or several, so that scales beyond the word size of the kernels exist too: 60 bits are
//! two limbs of 30.
//!
//! *May use* `rlwe` and `ring`. *Invariant*: a ciphertext has the limbs of one of the levels of its
//! parameters; sums are of one scale.
//!
//! *Sources.* Cheon, Kim, Kim, Song, "Homomorphic Encryption for Arithmetic of Approximate Numbers", ASIACRYPT 2017;
//! Cheon et al., "A Full RNS Variant of Approximate Homomorphic Encryption", SAC 2018; Kim, Papadimitriou,
//! Polyakov, "Approximate Homomorphic Encryption with Reduced Approximation Error", CT-RSA 2022 (scales that follow
//! the moduli exactly).

#![forbid(unsafe_code)]

mod ciphertext;
mod encoder;
mod error;
mod evaluator;
pub mod noise;
mod params;

pub use ciphertext::{Ciphertext, Plaintext, decrypt, encrypt, encrypt_public};
pub use encoder::Encoder;
pub use error::{Error, Result};
pub use evaluator::{Evaluator, check_scales};
pub use num_complex::Complex64;
pub use params::{Params, ParamsSpec};
