//! BFV: exact arithmetic modulo `t` on encrypted coefficients or slots.
//!
//! *Concept.* The phase of a ciphertext modulo `Q` is `(Q K + r) / t`: the message sits in the high
//! bits as `K`, and the *residual* `r` is the small integer `t phase mod Q`. The message modulo
//! `t` can be read from either end, since `r = -Q K mod t`; noise is right as long as
//! `|r| < Q / 2`. `K = mu m`, where `m` is the user's message and `mu` the ciphertext's
//! [`factor`](Ciphertext::factor): 1, except after a [`mul_and_switch`](Evaluator::mul_and_switch).
//!
//! Two products follow from the two ends:
//! - [`Evaluator::mul`] is the scale-invariant product: it works at the whole modulus, whatever
//!   the noise, and extends the basis to do so;
//! - [`Evaluator::mul_and_switch`] multiplies residuals: `t (c x c') mod Q` has residual `r r'`,
//!   right as long as `|r r'| < Q / 2`, and needs no second basis. A modulus switch after it makes the
//!   residual small again. It is BGV's product, in BFV's clothes: both schemes are one up to a
//!   factor modulo `Q`.
//!
//! *May use* `rlwe` and `ring`. *Invariant*: operands of an operation have the parameters of the
//! evaluator.
//!
//! *Sources.* Fan, Vercauteren, "Somewhat Practical Fully Homomorphic Encryption", 2012; Brakerski,
//! Gentry, Vaikuntanathan, ITCS 2012; Alperin-Sheriff, Peikert, CRYPTO 2013, appendix A (the two
//! encodings are one); Halevi, Polyakov, Shoup, CT-RSA 2019.

#![forbid(unsafe_code)]

mod encoder;
mod encrypt;
mod error;
mod evaluator;
pub mod noise;
mod params;
mod product;

pub use encoder::{Encoder, Plaintext};
pub use encrypt::{Ciphertext, PublicKey, decrypt, encrypt, measure, trivial};
pub use error::{Error, Result};
pub use evaluator::Evaluator;
pub use params::{Params, T_FERMAT};
