//! Exact arithmetic modulo a prime, shared by BFV and BGV.

mod depth;
mod scheme;

pub(crate) use depth::{by_level, whole};
pub use scheme::Exact;

use crate::ciphertext::{Ciphertext, Packing};
use crate::error::{Error, Result};
use crate::params::Params;
use crate::scheme::Scheme;
use crate::secret::SecretKey;
use crate::sets;
use crate::spec::{Bits, Spec};

/// Options of the encoding of integers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactOptions {
    /// The level. By default the highest.
    pub level: Option<usize>,
    /// Places of the integers: slots, or the coefficients of a polynomial.
    pub packing: Packing,
}

/// Sizes of moduli, from which parameters of BFV and BGV are built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactSizes {
    /// log2 of the ring degree, 4 to 17. There are as many slots as its degree.
    pub log_n: u32,
    /// Bits of the modulus of each level, level 0 first. Up to 50 bits are fast, and 60 bits are
    /// the limit.
    pub levels: Vec<u32>,
    /// Bits of the special moduli of key switching. With more of them, it has fewer digits.
    pub special: Vec<u32>,
    /// Largest number of moduli in a digit of key switching. By default that of special moduli.
    pub digit_limbs: Option<usize>,
    /// The plaintext modulus: a prime with `t = 1 mod 2N`, below all moduli.
    pub t: u64,
}

impl ExactSizes {
    fn spec<S: Exact>(&self) -> Result<Spec> {
        let levels: Vec<Vec<u32>> = self.levels.iter().map(|&bits| vec![bits]).collect();
        let bits = Bits {
            log_n: self.log_n,
            levels: &levels,
            special: &self.special,
            digit_limbs: self.digit_limbs,
        };
        Spec::of_bits(S::NAME, self.t, &bits)
    }
}

impl<S: Exact> Params<S> {
    /// The set of this name: see [`Params::names`].
    ///
    /// # Errors
    /// [`Error::UnknownSet`] and [`Error::OtherSet`].
    pub fn named(name: &str) -> Result<Self> {
        Self::of_spec(sets::spec::<S>(name)?, false)
    }

    /// Parameters of these sizes.
    ///
    /// # Errors
    /// If no such parameters exist, and of the kind [`Security`](crate::ErrorKind::Security) below
    /// 128-bit security.
    pub fn new(sizes: &ExactSizes) -> Result<Self> {
        Self::of_spec(sizes.spec::<S>()?, false)
    }

    /// As [`Params::new`], without the check of security. For tests.
    ///
    /// # Errors
    /// As [`Params::new`], except for security.
    pub fn new_insecure(sizes: &ExactSizes) -> Result<Self> {
        Self::of_spec(sizes.spec::<S>()?, true)
    }

    /// Parameters of the layer below. They are as secure as those.
    ///
    /// # Errors
    /// For more moduli than a set may have.
    pub fn of_raw(params: &::exact::Params) -> Result<Self> {
        let (rlwe, ring) = (params.rlwe(), params.rlwe().spec());
        let spec = Spec {
            scheme: S::NAME,
            n: ring.n,
            levels: ring.q.iter().map(|&q| vec![q]).collect(),
            special: ring.p.clone(),
            digit_limbs: ring.digit_limbs,
            number: params.t().value(),
        };
        Self::of_spec(spec, !rlwe.is_secure())
    }

    /// The plaintext modulus.
    pub fn t(&self) -> u64 {
        self.number()
    }

    /// The operations that BFV and BGV share, of the layer below.
    pub fn exact(&self) -> &::exact::Evaluator {
        S::exact(self.evaluator())
    }
}

impl<S: Exact> SecretKey<S> {
    /// Decrypts to integers from `-(t // 2)` to `t // 2`. As [`SecretKey::decrypt`].
    ///
    /// # Errors
    /// As [`SecretKey::decrypt`].
    pub fn decrypt_signed(&self, x: &Ciphertext<S>) -> Result<Vec<i64>> {
        let t = self.params().t() as i64;
        let values = self.decrypt(x)?.into_iter();
        Ok(values.map(|v| if v > t / 2 { v - t } else { v }).collect())
    }

    /// The noise budget left: the bits by which the noise may still grow.
    ///
    /// # Errors
    /// As [`SecretKey::decrypt`].
    pub fn budget(&self, x: &Ciphertext<S>) -> Result<f64> {
        self.params().check("ciphertext", x.params())?;
        let (_, budget) = ::exact::measure(self.params().exact().params(), self.raw(), x.raw())?;
        Ok(budget)
    }
}

impl<S: Exact> Ciphertext<S> {
    /// Swaps the two rows of slots, as [`conjugate`](Ciphertext::conjugate).
    ///
    /// # Errors
    /// As [`conjugate`](Ciphertext::conjugate).
    pub fn swap_rows(&self) -> Result<Self> {
        self.conjugate()
    }

    /// The same message, `levels` levels lower. Modulus and noise are divided, noise down to a
    /// minimum.
    ///
    /// # Errors
    /// [`Error::Level`].
    pub fn switch_down(&self, levels: usize) -> Result<Self> {
        let have = self.level();
        let level = have.checked_sub(levels);
        self.drop_to(level.ok_or(Error::Level { need: levels, have })?)
    }
}

/// Integers of the plaintext space, from `-(t // 2)` to `t - 1`, as residues.
///
/// # Errors
/// [`Error::Value`] for the first integer outside of it.
pub fn residues(t: u64, values: &[i64]) -> Result<Vec<u64>> {
    let (t, least) = (t as i64, -((t / 2) as i64));
    let residue = |(index, &value): (usize, &i64)| {
        if (least..t).contains(&value) {
            return Ok(value.rem_euclid(t) as u64);
        }
        let (found, most) = (value, t - 1);
        Err(Error::Value {
            index,
            found,
            least,
            most,
        })
    };
    values.iter().enumerate().map(residue).collect()
}
