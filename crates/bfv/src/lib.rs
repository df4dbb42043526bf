//! BFV: exact arithmetic modulo `t` on encrypted coefficients or slots, the message in the high bits.
//!
//! *Concept.* A ciphertext is one of [`exact`], with the phase `(Q K + r) / t`, and BFV reads its
//! message from `K`, times the [`factor`](Ciphertext::factor) `mu`. Two products follow from the two ends:
//! - [`Evaluator::mul`] is the scale-invariant product: it works at the whole modulus, whatever
//!   the noise, and extends the basis to do so. It alone is BFV's own;
//! - [`mul_and_switch`](exact::Evaluator::mul_and_switch) multiplies residuals: `t (c x c') mod Q`
//!   has residual `r r'`, right as long as `|r r'| < Q / 2`, and needs no second basis. A modulus
//!   switch after it makes the residual small again. It is BGV's product, in BFV's clothes.
//!
//! *May use* `exact` and what is beneath. *Invariant*: operands of an operation have the parameters of the
//! evaluator.
//!
//! *Sources.* Fan, Vercauteren, "Somewhat Practical Fully Homomorphic Encryption", 2012; Halevi,
//! Polyakov, Shoup, CT-RSA 2019.

#![forbid(unsafe_code)]

mod evaluator;
mod product;

pub use evaluator::Evaluator;
pub use exact::{
    Ciphertext, Encoder, Error, Params, Plaintext, Result, T_FERMAT, decrypt, encrypt,
    encrypt_public, measure, noise, trivial,
};
pub use rlwe::PublicKey;
