//! BGV: exact arithmetic modulo `t` on encrypted coefficients or slots, the message in the low
//! bits.
//!
//! *Concept.* A BGV ciphertext `(c_0, c_1)` has `c_0 + c_1 s = r mod Q` with the small *residual*
//! `r = f m + t e`: the message `m` times a [`factor`](Ciphertext::factor) `f`, and noise in
//! multiples of `t`. Here a BGV ciphertext is one of [`exact`], whose components are divided by
//! `t`, so that its phase is `r / t`. Then key switching needs no errors that are multiples of `t`,
//! and a division is rounded to the nearest integer as in every other scheme.
//! [`Ciphertext::textbook`] multiplies by `t`.
//!
//! *Factors.* A fresh ciphertext has `f = 1`. A product has `f f'`. A modulus switch by `D` gives
//! `f / D`. A level drop and an automorphism keep `f`. Sums need equal factors:
//! [`Evaluator::match_factors`] makes them equal. BFV's factor is `mu = -f / Q`. A ciphertext of
//! either scheme is one of the other, so [`Ciphertext::from_exact`] and [`Ciphertext::into_exact`]
//! are the whole conversion.
//!
//! Decryption is right if `|r| < Q / 2`. [`noise::Model`] predicts `r`, and [`measure`] measures
//! it.
//!
//! *May use* `exact` and the layers below it. Every mistake of a caller, operands of other
//! parameters included, is an [`Error`].
//!
//! *Sources.* Brakerski, Gentry, Vaikuntanathan, "(Leveled) fully homomorphic encryption without
//! bootstrapping", ITCS 2012; Gentry, Halevi, Smart, "Homomorphic evaluation of the AES circuit",
//! CRYPTO 2012 (residues modulo primes, the factor of a modulus switch); Alperin-Sheriff, Peikert,
//! CRYPTO 2013, appendix A (BFV and BGV are one).

#![forbid(unsafe_code)]
#![warn(clippy::missing_panics_doc)]

mod ciphertext;
mod encrypt;
mod evaluator;

pub use ciphertext::Ciphertext;
pub use encrypt::{decrypt, decrypt_unchecked, encrypt, encrypt_public, measure, trivial};
pub use evaluator::Evaluator;
pub use exact::{
    Encoder, Error, LEAST_BUDGET, Params, Plaintext, Result, T_FERMAT, noise, short_ratio,
};
pub use rlwe::PublicKey;
