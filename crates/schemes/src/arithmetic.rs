//! Operations on ciphertexts, which are the same in all schemes.

use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::keys::SwitchKey;
use crate::operand::{Operand, Plain};
use crate::scheme::Scheme;

impl<S: Scheme> Ciphertext<S> {
    /// `self + other`, with a ciphertext, a number in every slot, or `&values`. Levels, and scales
    /// or factors, are made equal first.
    ///
    /// # Errors
    /// For an operand of other parameters, of another secret, or outside the plaintext space, and
    /// if scales differ at level 0.
    pub fn add<'a>(&self, other: impl Into<Operand<'a, S>>) -> Result<Self> {
        self.sum_of(other.into(), false)
    }

    /// `self - other`. As [`Ciphertext::add`].
    ///
    /// # Errors
    /// As [`Ciphertext::add`].
    pub fn sub<'a>(&self, other: impl Into<Operand<'a, S>>) -> Result<Self> {
        self.sum_of(other.into(), true)
    }

    fn sum_of(&self, other: Operand<'_, S>, subtract: bool) -> Result<Self> {
        let e = self.params().evaluator();
        let plain = match &other {
            Operand::Ciphertext(other) => {
                self.check(other)?;
                let sum = self.result(S::add(e, self.raw(), other.raw(), subtract)?);
                return Ok(sum.or_keys(other));
            }
            Operand::Number(number) => Plain::Number(*number),
            Operand::Values(values) => Plain::Values(values),
        };
        let sum = S::add_plain(e, self.raw(), plain, self.packing(), subtract)?;
        Ok(self.result(sum))
    }

    /// `-self`.
    ///
    /// # Errors
    /// This version returns no error.
    pub fn negate(&self) -> Result<Self> {
        Ok(self.result(S::negate(self.params().evaluator(), self.raw())?))
    }

    /// `self * other`, with a ciphertext, a number in every slot, or `&values`.
    ///
    /// A product with a ciphertext is relinearised, and operands are brought to the lower level. In
    /// CKKS a product takes a level, except with an integer. In BGV a product with a ciphertext
    /// takes one, if one is left. In BFV no product takes a level.
    ///
    /// # Errors
    /// As [`Ciphertext::add`], [`Error::NoKeys`] and [`Error::MissingKey`] for a product with a
    /// ciphertext, and in CKKS if no level is left.
    pub fn mul<'a>(&self, other: impl Into<Operand<'a, S>>) -> Result<Self> {
        let e = self.params().evaluator();
        let other = other.into();
        let plain = match &other {
            Operand::Ciphertext(other) => {
                self.check(other)?;
                let key = self.needed(Some(other))?.relinearization()?;
                let factors = [self.raw(), other.raw()];
                let product = self.result(S::mul(e, factors, self.is(other), key)?);
                return Ok(product.or_keys(other));
            }
            Operand::Number(number) => Plain::Number(*number),
            Operand::Values(values) => Plain::Values(values),
        };
        let product = S::mul_plain(e, self.raw(), plain, self.packing())?;
        Ok(self.result(product))
    }

    /// `self * self`, as [`Ciphertext::mul`].
    ///
    /// # Errors
    /// As [`Ciphertext::mul`].
    pub fn square(&self) -> Result<Self> {
        self.mul(self)
    }

    /// Rotates the slots left by `k`, or right for a negative `k`: slot `i` of the result is slot
    /// `i + k`, cyclically in each row.
    ///
    /// # Errors
    /// [`Error::NoKeys`] and [`Error::MissingKey`].
    pub fn rotate(&self, k: isize) -> Result<Self> {
        let mut rotated = self.rotations(&[k])?;
        // As many results as steps.
        rotated.pop().ok_or(Error::NoKeys)
    }

    /// Several rotations, which share most of their work.
    ///
    /// # Errors
    /// As [`Ciphertext::rotate`].
    pub fn rotations(&self, steps: &[isize]) -> Result<Vec<Self>> {
        let keys = self.needed(None)?;
        for &k in steps {
            keys.for_rotation(k)?;
        }
        let e = self.params().evaluator();
        let rotated = S::rotate(e, self.raw(), steps, &keys.raw().galois)?;
        Ok(rotated.into_iter().map(|raw| self.result(raw)).collect())
    }

    /// The complex conjugate of every slot in CKKS. The swap of the two rows in BFV and BGV.
    ///
    /// # Errors
    /// [`Error::NoKeys`] and [`Error::MissingKey`].
    pub fn conjugate(&self) -> Result<Self> {
        let galois = self.needed(None)?.for_conjugation(S::CONJUGATION)?;
        let raw = S::conjugate(self.params().evaluator(), self.raw(), galois)?;
        Ok(self.result(raw))
    }

    /// The same message at a lower level: smaller, and faster to compute with. In BFV and BGV this
    /// divides the noise, too, down to a minimum.
    ///
    /// # Errors
    /// [`Error::Level`], or CKKS's own, if the ciphertext is below `level`.
    pub fn drop_to(&self, level: usize) -> Result<Self> {
        let raw = S::lower(self.params().evaluator(), self.raw(), level)?;
        Ok(self.result(raw))
    }

    /// The same message under the secret that `key` leads to. The result has no keys.
    ///
    /// # Errors
    /// If the key is of other parameters, or does not belong to this ciphertext's secret.
    pub fn switch_key(&self, key: &SwitchKey<S>) -> Result<Self> {
        self.params().check("key to another secret", key.params())?;
        let inner = S::inner(self.raw()).switch_key(key.raw())?;
        let raw = S::with_inner(self.raw(), inner);
        Ok(Self::new(self.params(), raw, self.packing()))
    }

    /// This result, with the keys of the right operand if the left one has none.
    fn or_keys(self, other: &Self) -> Self {
        match (self.keys(), other.keys()) {
            (None, Some(keys)) => self.with_keys(keys),
            _ => self,
        }
    }
}
