//! BGV: exact arithmetic modulo `t` on encrypted coefficients or slots, the message in the low bits.
//!
//! *Concept.* A BGV ciphertext `(c_0, c_1)` has `c_0 + c_1 s = r mod Q` with the small *residual*
//! `r = f m + t e`: the message `m` times a [`factor`](Ciphertext::factor) `f`, and noise in multiples of `t`. Ours is
//! one of [`exact`], whose components are those divided by `t`, so that its phase is `r / t`: then key switching
//! needs no errors that are multiples of `t`, and a division is rounded to the nearest integer as in
//! every other scheme. [`Ciphertext::textbook`] multiplies by `t`.
//!
//! *Factors.* A fresh ciphertext has `f = 1`. A product has `f f'`, a modulus switch by `D` leaves `f / D`, a
//! level drop and an automorphism leave `f`. Sums ask for equal factors; [`Evaluator::match_factors`]
//! makes them so. BFV's name for the same unit is `mu = -f / Q`: a ciphertext of either scheme is one of the other,
//! [`Ciphertext::from_exact`] and [`Ciphertext::into_exact`] being the whole conversion.
//!
//! Decryption is right as long as `|r| < Q / 2`. [`noise::Model`] predicts `r`; [`measure`] measures it.
//!
//! *May use* `exact` and what is beneath. Whatever a caller can get wrong, operands of other parameters included, is an
//! [`Error`].
//!
//! *Sources.* Brakerski, Gentry, Vaikuntanathan, "(Leveled) fully homomorphic encryption without bootstrapping", ITCS
//! 2012; Gentry, Halevi, Smart, "Homomorphic evaluation of the AES circuit", CRYPTO 2012 (residues modulo
//! primes, the factor of a modulus switch); Alperin-Sheriff, Peikert, CRYPTO 2013, appendix A (BFV and BGV are one).

#![forbid(unsafe_code)]

mod ciphertext;
mod encrypt;
mod evaluator;

pub use ciphertext::Ciphertext;
pub use encrypt::{decrypt, encrypt, encrypt_public, measure, trivial};
pub use evaluator::Evaluator;
pub use exact::{Encoder, Error, Params, Plaintext, Result, T_FERMAT, noise, short_ratio};
pub use rlwe::PublicKey;
