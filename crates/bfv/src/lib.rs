//! BFV: exact arithmetic modulo `t` on encrypted coefficients or slots, the message in the high
//! bits.
//!
//! *Concept.* A ciphertext is one of [`exact`], with the phase `(Q K + r) / t`. BFV reads the
//! message from `K`, which is the message times the [`factor`](Ciphertext::factor) `mu`. Each end
//! has its product:
//! - [`Evaluator::mul`] is the scale-invariant product. It works at the whole modulus for any
//!   noise, and extends the basis for that. Only BFV has it.
//! - [`mul_and_switch`](exact::Evaluator::mul_and_switch) multiplies residuals: `t (c x c') mod Q`
//!   has the residual `r r'`, which is right if `|r r'| < Q / 2`. It needs no second basis. A
//!   modulus switch makes the residual small again. It is BGV's product, applied to a BFV
//!   ciphertext.
//!
//! *May use* `exact` and the layers below it. *Invariant*: operands of an operation have the
//! parameters of the evaluator.
//!
//! *Sources.* Fan, Vercauteren, "Somewhat Practical Fully Homomorphic Encryption", 2012; Halevi,
//! Polyakov, Shoup, CT-RSA 2019.

#![forbid(unsafe_code)]
#![warn(clippy::missing_panics_doc)]

mod evaluator;
mod product;

pub use evaluator::Evaluator;
pub use exact::{
    Ciphertext, Encoder, Error, LEAST_BUDGET, Params, Plaintext, Result, T_FERMAT, decrypt,
    decrypt_unchecked, encrypt, encrypt_public, measure, noise, residuals, trivial,
};
pub use rlwe::PublicKey;
