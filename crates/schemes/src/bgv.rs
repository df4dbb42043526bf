//! BGV: exact arithmetic on encrypted integers modulo a prime `t`.
//!
//! A ciphertext holds `N` integers in two rows of slots, and operators work on all of them at once.
//! A product with a ciphertext divides modulus and noise, and takes a level: with levels left it
//! can go on, and `secret.budget(&y)` returns the bits by which the noise may still grow.
//!
//! ```
//! use palladion_schemes::{Needs, bgv};
//!
//! let mut rng = palladion_schemes::rng();
//! let params = bgv::Params::for_depth(13, 2, bgv::T_FERMAT)?;
//! let secret = params.generate_secret(&mut rng);
//! let needs = Needs { rotations: &[1], conjugate: true, ..Needs::default() };
//! let keys = secret.keys(&needs, &mut rng)?;
//!
//! let x = secret.encrypt(&[1, 2, 3], &mut rng)?.with_keys(&keys);
//! let y = x.mul(&x)?.add(&x.mul(3)?)?.sub(1)?; // x^2 + 3 x - 1
//! assert_eq!(secret.decrypt(&y.rotate(1)?)?[..2], [9, 17]);
//! assert_eq!(secret.decrypt(&y.swap_rows()?)?[params.row()..][..3], [3, 9, 17]);
//! assert_eq!(secret.decrypt_signed(&x.negate()?)?[..3], [-1, -2, -3]);
//! assert_eq!((x.level(), y.level()), (2, 1));
//! # Ok::<(), palladion_schemes::Error>(())
//! ```

pub use crate::ExactOptions as Options;
pub use crate::ExactSizes as Sizes;
pub use ::exact::T_FERMAT;

use crate::error::Result;
use crate::exact::{Exact, by_level};
use crate::scheme::Bgv;
use ::exact::noise::Model;
use ::exact::{Evaluator, Plaintext};
use rand::CryptoRng;
use ring::sample::Masks;

/// Parameters of BGV.
pub type Params = crate::Params<Bgv>;
/// A secret key of BGV.
pub type SecretKey = crate::SecretKey<Bgv>;
/// A public key of BGV.
pub type PublicKey = crate::PublicKey<Bgv>;
/// Evaluation keys of BGV.
pub type EvaluationKeys = crate::EvaluationKeys<Bgv>;
/// A key that re-encrypts for another secret of BGV.
pub type SwitchKey = crate::SwitchKey<Bgv>;
/// Encrypted integers.
pub type Ciphertext = crate::Ciphertext<Bgv>;

impl Exact for Bgv {
    const SCHEME: &'static str = "bgv";
    type Operations = Evaluator;

    fn operations(params: &::exact::Params) -> Evaluator {
        Evaluator::new(params)
    }

    fn exact(e: &Evaluator) -> &Evaluator {
        e
    }

    fn chain(model: &Model, depth: usize, limit: f64) -> Result<Vec<u32>> {
        by_level(model, depth, limit)
    }

    fn encrypt_exact(
        e: &Evaluator,
        secret: &rlwe::SecretKey,
        (message, level): (&Plaintext, usize),
        masks: &mut Masks,
        rng: &mut impl CryptoRng,
    ) -> Result<::exact::Ciphertext> {
        let ct = ::bgv::encrypt(e.params(), secret, message, level, masks, rng)?;
        Ok(ct.into_exact())
    }

    fn encrypt_public_exact(
        e: &Evaluator,
        key: &rlwe::PublicKey,
        (message, level): (&Plaintext, usize),
        rng: &mut impl CryptoRng,
    ) -> Result<::exact::Ciphertext> {
        let ct = ::bgv::encrypt_public(e.params(), key, message, level, rng)?;
        Ok(ct.into_exact())
    }

    fn mul_exact(
        e: &Evaluator,
        a: &::exact::Ciphertext,
        b: &::exact::Ciphertext,
        key: &rlwe::SwitchKey,
    ) -> Result<::exact::Ciphertext> {
        Ok(e.mul_and_switch(a, b, key, usize::from(a.level() > 0))?)
    }
}
