//! RGSW: encrypted polynomials by which ciphertexts are multiplied.
//!
//! An RGSW ciphertext of `m` is a pair of [switch keys](SwitchKey), from `m` and from `m s`. Their
//! gadget is that of key switching. The digits of both components of a ciphertext are multiplied by
//! the rows of their key, summed, and divided by the special moduli. The phase of the result is
//! therefore `c_0 m + c_1 m s`, the phase of the ciphertext times `m`, and there is no
//! decomposition error.
//!
//! The noise per coefficient is that of the ciphertext times `m`, plus the product's own:
//! `2 sum_j N sigma^2 (D_j / P)^2 / 12` for digits of product `D_j`, and `(1 + |s|^2) / 12` from
//! the division. The product's own noise does not depend on the ciphertext. If `m` is a bit, the
//! noise of a chain of products adds up.
//!
//! Source: Gentry, Sahai, Waters, "Homomorphic Encryption from Learning with Errors:
//! Conceptually-Simpler, Asymptotically-Faster, Attribute-Based", CRYPTO 2013; Chillotti, Gama,
//! Georgieva, Izabachène, "TFHE: Fast Fully Homomorphic Encryption over the Torus", Journal of
//! Cryptology 33, 2020, section 3.3, for the external product.

use crate::ciphertext::Ciphertext;
use crate::error::Result;
use crate::keys::{SecretKey, SwitchKey};
use crate::noise::switch_variance;
use crate::params::Params;
use crate::switch::check;

/// An encrypted polynomial that multiplies ciphertexts of degree 1, up to a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rgsw {
    /// The keys from `m` and from `m s`.
    keys: [SwitchKey; 2],
}

impl Rgsw {
    /// An RGSW ciphertext made of its keys, which multiply the first and the second component.
    ///
    /// # Panics
    /// If the keys have different parameters or levels.
    pub fn from_keys(keys: [SwitchKey; 2]) -> Self {
        assert!(
            keys[0].level() == keys[1].level() && keys[0].params() == keys[1].params(),
            "keys of one level and of the same parameters"
        );
        Self { keys }
    }

    /// The keys that multiply the first and the second component.
    pub fn keys(&self) -> &[SwitchKey; 2] {
        &self.keys
    }

    /// The highest level at which it multiplies.
    pub fn level(&self) -> usize {
        self.keys[0].level()
    }

    /// The external product: a ciphertext of degree 1 times the encrypted polynomial, divided by
    /// the last `dropped` moduli.
    ///
    /// # Errors
    /// [`Error::Components`](crate::Error::Components) for another degree,
    /// [`Error::KeyLevel`](crate::Error::KeyLevel) for a ciphertext at a higher level,
    /// [`Error::LevelTooLow`](crate::Error::LevelTooLow) if no limb would be left.
    ///
    /// # Panics
    /// If the ciphertext is over other moduli than those of the parameters.
    pub fn external_product(&self, ct: &Ciphertext, dropped: usize) -> Result<Ciphertext> {
        let (c0, c1) = ct.pair()?;
        let (params, level) = (self.keys[0].params(), ct.level());
        check(&self.keys[0], level, dropped)?;
        let id = self.keys[0].check_key(ct)?;
        assert_eq!(
            c0.basis(),
            params.basis(level),
            "operand over the moduli of the keys"
        );
        let tables = params.switch_tables(level);
        let sums = tables.product(c0.to_coeff(), (Some(c0), [None; 2]), &self.keys[0]);
        let more = tables.product(c1.to_coeff(), (Some(c1), [None; 2]), &self.keys[1]);
        let divider = params.special_divider(level, dropped);
        let parts = sums.into_iter().zip(&more).map(|(mut sum, more)| {
            sum.add_assign(more);
            divider.divide(sum)
        });
        Ok(Ciphertext::new(parts.collect()).of_key(id))
    }

    /// Returns `yes` where the encrypted polynomial is 1 and `no` where it is 0, computed as `no`
    /// plus the external product with `yes - no`.
    ///
    /// # Errors
    /// As [`external_product`](Self::external_product), and
    /// [`Error::LevelMismatch`](crate::Error::LevelMismatch).
    pub fn choose(&self, yes: &Ciphertext, no: &Ciphertext) -> Result<Ciphertext> {
        let mut chosen = self.external_product(&yes.sub(no)?, 0)?;
        chosen.add_assign(no)?;
        Ok(chosen)
    }

    /// Variance per coefficient that an external product at a level adds to the noise of its
    /// operand, for a uniform ternary secret, before the last moduli are dropped.
    pub fn variance(params: &Params, level: usize) -> f64 {
        let uniform = 2.0 / 3.0 * params.n() as f64;
        let norm = params.weight().map_or(uniform, |weight| weight as f64);
        2.0 * switch_variance(params, level) + (1.0 + norm) / 12.0
    }
}

impl SecretKey {
    /// An RGSW ciphertext of a polynomial with small coefficients, for levels up to `level`.
    ///
    /// # Panics
    /// If there are not `N` coefficients.
    pub fn rgsw(&self, message: &[i64], level: usize, rng: &mut impl rand::CryptoRng) -> Rgsw {
        let keys = self.keys_from_multiples(message, level, rng);
        Rgsw::from_keys(keys)
    }
}
