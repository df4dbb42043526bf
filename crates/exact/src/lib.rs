//! Exact arithmetic modulo `t` on encrypted coefficients or slots, shared by BFV and BGV.
//!
//! *Concept.* The phase of a ciphertext modulo `Q` is `(Q K + r) / t`. The message is in the high
//! bits, as `K`. The *residual* `r` is the small integer `t phase mod Q`. The message modulo `t`
//! can be read from either end, since `r = -Q K mod t`, and is right if `|r| < Q / 2`. `K = mu m`,
//! where `m` is the user's message and `mu` the ciphertext's [`factor`](Ciphertext::factor). The
//! factor is 1 except after products of residuals and level drops.
//!
//! BFV reads the message from the high end. BGV reads it from the low end, where it has the factor
//! `-Q mu`. All operations that treat the residual as an integer are here, for both schemes:
//! encoding, encryption, sums, [products of residuals](Evaluator::mul_and_switch), modulus
//! switches, automorphisms, and the [noise] of all of these.
//!
//! *May use* `rlwe` and `ring`. *Invariant*: operands of an operation have the parameters of the
//! evaluator.
//!
//! *Sources.* Fan, Vercauteren, "Somewhat Practical Fully Homomorphic Encryption", 2012; Brakerski,
//! Gentry, Vaikuntanathan, ITCS 2012; Alperin-Sheriff, Peikert, CRYPTO 2013, appendix A (the two
//! encodings are one).

#![forbid(unsafe_code)]
#![warn(clippy::missing_panics_doc)]

mod encoder;
mod encrypt;
mod error;
mod evaluator;
mod factors;
mod moments;
pub mod noise;
mod params;

pub use encoder::{Encoder, Plaintext};
pub use encrypt::{
    Ciphertext, LEAST_BUDGET, decrypt, decrypt_unchecked, encrypt, encrypt_public, measure,
    residuals, trivial,
};
pub use error::{Error, Result};
pub use evaluator::Evaluator;
pub use factors::short_ratio;
pub use params::{Params, T_FERMAT};
