//! CKKS: approximate arithmetic on encrypted complex or real numbers.
//!
//! A ciphertext holds [`Params::slots`] numbers, and operators work on all of them at once. A
//! product with a ciphertext, with values or with a number that is no integer takes a level. Sums
//! bring the levels and scales of their operands together.
//!
//! ```
//! use palladion_schemes::{Needs, ckks};
//!
//! let mut rng = palladion_schemes::rng();
//! let params = ckks::Params::for_depth(13, 2, 30)?;
//! let secret = params.generate_secret(&mut rng);
//! let keys = secret.keys(&Needs { rotations: &[1], ..Needs::default() }, &mut rng)?;
//!
//! let x = secret.encrypt(&[0.5, -1.0, 2.0], &mut rng)?.with_keys(&keys);
//! let y = x.mul(&x)?.add(&x.mul(0.5)?)?.sub(1)?; // x^2 + x/2 - 1
//! let found = secret.decrypt_real(&y.rotate(1)?)?;
//! assert!((found[0] + 0.5).abs() < 1e-3 && (found[1] - 4.0).abs() < 1e-3);
//! assert_eq!((x.level(), y.level()), (2, 1));
//! # Ok::<(), palladion_schemes::Error>(())
//! ```
//!
//! Decrypted values carry the noise of the key. Whoever shares them with others than the key's
//! owner reveals the key (Li, Micciancio, EUROCRYPT 2021; see SECURITY.md).

mod bootstrap;
mod function;
mod matrix;
mod scheme;

pub use ::ckks::{Complex64, Doubt};
pub use bootstrap::Bootstrapper;
pub use function::{Series, approximate};
pub use matrix::Matrix;

use crate::error::{Error, Result};
use crate::scheme::Ckks;
use crate::sets;
use crate::spec::{Bits, Spec};

/// Parameters of CKKS.
pub type Params = crate::Params<Ckks>;
/// A secret key of CKKS.
pub type SecretKey = crate::SecretKey<Ckks>;
/// A public key of CKKS.
pub type PublicKey = crate::PublicKey<Ckks>;
/// Evaluation keys of CKKS.
pub type EvaluationKeys = crate::EvaluationKeys<Ckks>;
/// A key that re-encrypts for another secret of CKKS.
pub type SwitchKey = crate::SwitchKey<Ckks>;
/// Encrypted complex numbers.
pub type Ciphertext = crate::Ciphertext<Ckks>;

/// A number in every slot. A product with an integer is exact and takes no level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Integer(i64),
    /// A complex number.
    Complex(Complex64),
}

/// Options of the encoding of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The level. By default the highest.
    pub level: Option<usize>,
    /// The factor of the message. By default the one that products lead to at the level.
    pub scale: Option<f64>,
}

/// Sizes of moduli, from which parameters are built.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// log2 of the ring degree, 4 to 17. There are half as many slots.
    pub log_n: u32,
    /// Bits of the moduli of each level, level 0 first. A level may have several moduli. Moduli of
    /// up to 50 bits are fast, and 60 bits are the limit.
    pub levels: Vec<Vec<u32>>,
    /// Bits of the special moduli of key switching. With more of them, it has fewer digits.
    pub special: Vec<u32>,
    /// Largest number of moduli in a digit of key switching. By default that of special moduli.
    pub digit_limbs: Option<usize>,
    /// log2 of the factor of messages before they are rounded, about the bits of the upper levels.
    pub log_scale: f64,
}

impl crate::Params<Ckks> {
    /// The set of this name: see [`Params::names`](crate::Params::names).
    ///
    /// # Errors
    /// [`Error::UnknownSet`] and [`Error::OtherSet`].
    pub fn named(name: &str) -> Result<Self> {
        Self::of_spec(sets::spec::<Ckks>(name)?, false)
    }

    /// Parameters of these sizes.
    ///
    /// # Errors
    /// If no such parameters exist, and of the kind [`Security`](crate::ErrorKind::Security) below
    /// 128-bit security.
    pub fn new(sizes: &Sizes) -> Result<Self> {
        Self::of_spec(Spec::of_ckks_sizes(sizes)?, false)
    }

    /// As [`Params::new`], without the check of security. For tests.
    ///
    /// # Errors
    /// As [`Params::new`], except for security.
    pub fn new_insecure(sizes: &Sizes) -> Result<Self> {
        Self::of_spec(Spec::of_ckks_sizes(sizes)?, true)
    }

    /// A secure set of degree `2^log_n` for `depth` products in a row, at a scale of `scale_bits`
    /// bits. Coefficients of messages may reach `2^9` at level 0.
    ///
    /// # Errors
    /// Of the kind [`Security`](crate::ErrorKind::Security) if the degree is too small for the
    /// depth.
    pub fn for_depth(log_n: u32, depth: usize, scale_bits: u32) -> Result<Self> {
        if !(10..=17).contains(&log_n) {
            return Err(Error::argument("log_n", log_n, "10 to 17"));
        }
        let spec = ::ckks::ParamsSpec::for_depth(1 << log_n, depth, scale_bits)?;
        Self::of_spec(Spec::of_ckks(&spec), false)
    }

    /// The secure set for bootstrapping, of degree 2^16. It leaves 9 levels of 40 bits and 23 bits
    /// of precision, or, if `precise`, 6 levels of 44 bits and 28 bits.
    ///
    /// # Errors
    /// This version returns no error.
    pub fn for_bootstrapping(precise: bool) -> Result<Self> {
        Self::named(if precise {
            "ckks-bootstrap-precise"
        } else {
            "ckks-bootstrap"
        })
    }

    /// Parameters of the layer below. They are as secure as those.
    ///
    /// # Errors
    /// For more moduli than a set may have.
    pub fn of_raw(params: &::ckks::Params) -> Result<Self> {
        Self::of_spec(Spec::of_ckks(params.spec()), !params.rlwe().is_secure())
    }

    /// Scale of level 0, from which the scales of the other levels follow.
    pub fn scale(&self) -> f64 {
        self.evaluator().params().scale()
    }
}

impl Spec {
    fn of_ckks(spec: &::ckks::ParamsSpec) -> Self {
        Self {
            scheme: "ckks",
            n: spec.n,
            levels: spec.levels.clone(),
            special: spec.special.clone(),
            digit_limbs: spec.digit_limbs,
            number: spec.log_scale.to_bits(),
        }
    }

    fn of_ckks_sizes(sizes: &Sizes) -> Result<Self> {
        let bits = Bits {
            log_n: sizes.log_n,
            levels: &sizes.levels,
            special: &sizes.special,
            digit_limbs: sizes.digit_limbs,
        };
        Self::of_bits("ckks", sizes.log_scale.to_bits(), &bits)
    }
}

impl crate::SecretKey<Ckks> {
    /// The real parts of all slots. As [`decrypt`](crate::SecretKey::decrypt).
    ///
    /// # Errors
    /// As [`decrypt`](crate::SecretKey::decrypt).
    pub fn decrypt_real(&self, x: &Ciphertext) -> Result<Vec<f64>> {
        let slots = self.decrypt(x)?.into_iter();
        Ok(slots.map(|slot| slot.re).collect())
    }

    /// All slots, and a doubt if the slots may be wrong. There is a doubt if the sizes of the
    /// operands do not show that the message fits, and the message comes close to half of its
    /// modulus. [`Ciphertext::bounded`] states a size.
    ///
    /// # Errors
    /// As [`decrypt`](crate::SecretKey::decrypt).
    pub fn decrypt_with_doubt(&self, x: &Ciphertext) -> Result<(Vec<Complex64>, Option<Doubt>)> {
        self.params().check("ciphertext", x.params())?;
        let params = self.params().evaluator().params();
        let message = ::ckks::decrypt(self.raw(), x.raw())?;
        Ok((message.decode(params, params.slots())?, message.doubt()))
    }
}

impl crate::Ciphertext<Ckks> {
    /// The factor of the message.
    pub fn scale(&self) -> f64 {
        self.raw().scale()
    }

    /// The same ciphertext, whose slots are said to be at most `bound` in absolute value.
    ///
    /// By this bound decryption decides whether a result can be right. Operations compute the sizes
    /// of their results, and bytes contain none.
    ///
    /// # Errors
    /// For a bound that the modulus does not hold.
    pub fn bounded(&self, bound: f64) -> Result<Self> {
        Ok(self.result(self.raw().clone().bounded(bound)?))
    }
}
