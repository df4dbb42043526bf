//! BFV: exact arithmetic on encrypted integers modulo a prime `t`.
//!
//! A ciphertext holds `N` integers in two rows of slots, and operators work on all of them at once.
//! A product works at the whole modulus and keeps the level. Each product costs the same number of
//! bits of the noise budget: `secret.budget(&y)` returns the number left.
//!
//! ```
//! use palladion_schemes::{Needs, bfv};
//!
//! let mut rng = palladion_schemes::rng();
//! let params = bfv::Params::named("exact-13")?;
//! let secret = params.generate_secret(&mut rng);
//! let keys = secret.keys(&Needs::default(), &mut rng)?;
//!
//! let x = secret.encrypt(&[1, 2, -3], &mut rng)?.with_keys(&keys);
//! let y = x.mul(&x)?.mul(&[10, 20, 30])?;
//! assert_eq!(secret.decrypt(&y)?[..3], [10, 80, 270]);
//! assert!(secret.budget(&y)? > 10.0);
//! # Ok::<(), palladion_schemes::Error>(())
//! ```
//!
//! [`Ciphertext::lookup`] applies any table to every slot.

mod lookup;

pub use crate::ExactOptions as Options;
pub use crate::ExactSizes as Sizes;
pub use ::exact::T_FERMAT;
pub use lookup::Table;

use crate::error::Result;
use crate::exact::{Exact, whole};
use crate::scheme::Bfv;
use ::bfv::Evaluator;
use ::exact::Plaintext;
use ::exact::noise::Model;
use rand::CryptoRng;
use ring::sample::Masks;

/// Parameters of BFV.
pub type Params = crate::Params<Bfv>;
/// A secret key of BFV.
pub type SecretKey = crate::SecretKey<Bfv>;
/// A public key of BFV.
pub type PublicKey = crate::PublicKey<Bfv>;
/// Evaluation keys of BFV.
pub type EvaluationKeys = crate::EvaluationKeys<Bfv>;
/// A key that re-encrypts for another secret of BFV.
pub type SwitchKey = crate::SwitchKey<Bfv>;
/// Encrypted integers.
pub type Ciphertext = crate::Ciphertext<Bfv>;

impl Exact for Bfv {
    const SCHEME: &'static str = "bfv";
    type Operations = Evaluator;

    fn operations(params: &::exact::Params) -> Evaluator {
        Evaluator::new(params)
    }

    fn exact(e: &Evaluator) -> &::exact::Evaluator {
        e
    }

    fn chain(model: &Model, depth: usize, limit: f64) -> Result<Vec<u32>> {
        whole(model, depth, limit)
    }

    fn encrypt_exact(
        e: &Evaluator,
        secret: &rlwe::SecretKey,
        (message, level): (&Plaintext, usize),
        masks: &mut Masks,
        rng: &mut impl CryptoRng,
    ) -> Result<::exact::Ciphertext> {
        Ok(::bfv::encrypt(
            e.params(),
            secret,
            message,
            level,
            masks,
            rng,
        )?)
    }

    fn encrypt_public_exact(
        e: &Evaluator,
        key: &rlwe::PublicKey,
        (message, level): (&Plaintext, usize),
        rng: &mut impl CryptoRng,
    ) -> Result<::exact::Ciphertext> {
        Ok(::bfv::encrypt_public(e.params(), key, message, level, rng)?)
    }

    fn mul_exact(
        e: &Evaluator,
        a: &::exact::Ciphertext,
        b: &::exact::Ciphertext,
        key: &rlwe::SwitchKey,
    ) -> Result<::exact::Ciphertext> {
        Ok(e.mul(a, b, key)?)
    }
}
