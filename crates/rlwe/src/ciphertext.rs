//! RLWE ciphertexts, and operations on them that need no key.

use crate::error::{Error, Result};
use crate::key_id::KeyId;
use crate::params::Params;
use ring::sample::{self, Seed};
use ring::{Eval, Poly};

/// A ciphertext. Its components `c_0, c_1, ..` are in the evaluation domain, and its phase is
/// `c_0 + c_1 s + ..`. It carries the [identity](KeyId) of its secret. Two ciphertexts are equal if
/// their components are.
#[derive(Clone, Debug)]
pub struct Ciphertext {
    components: Vec<Poly<Eval>>,
    key: KeyId,
}

impl PartialEq for Ciphertext {
    fn eq(&self, other: &Self) -> bool {
        let Self { components, key: _ } = self;
        *components == other.components
    }
}

impl Eq for Ciphertext {}

impl Ciphertext {
    /// A ciphertext with the given components, which belongs to any secret until
    /// [`of_key`](Self::of_key) says to which.
    ///
    /// # Panics
    /// If there are no components, or if their bases differ.
    pub fn new(components: Vec<Poly<Eval>>) -> Self {
        let basis = components
            .first()
            .expect("a ciphertext has a component")
            .basis();
        assert!(
            components.iter().all(|c| c.basis() == basis),
            "components over one basis"
        );
        Self {
            components,
            key: KeyId::ANY,
        }
    }

    /// This ciphertext, marked as belonging to the secret with the given identity.
    #[must_use]
    pub fn of_key(mut self, key: KeyId) -> Self {
        self.key = key;
        self
    }

    /// Sets the identity of its secret.
    pub fn set_key(&mut self, key: KeyId) {
        self.key = key;
    }

    /// Identity of its secret.
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// The identity that several ciphertexts have in common.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`].
    pub fn common_key<'a>(operands: impl IntoIterator<Item = &'a Self>) -> Result<KeyId> {
        let mut key = KeyId::ANY;
        for operand in operands {
            key = key.join("ciphertext", operand.key)?;
        }
        Ok(key)
    }

    /// The fresh ciphertext with the given body. Its mask expands from `seed` at `index`.
    pub fn from_seed(body: Poly<Eval>, seed: &Seed, index: u32) -> Self {
        let mask = sample::uniform_from_seed(body.basis(), seed, index);
        Self::new(vec![body, mask])
    }

    /// The level: the number of limbs minus one.
    pub fn level(&self) -> usize {
        self.components[0].limbs() - 1
    }

    /// The degree: the number of components minus one. It is 1 when fresh, 2 after a product.
    pub fn degree(&self) -> usize {
        self.components.len() - 1
    }

    /// The components.
    pub fn components(&self) -> &[Poly<Eval>] {
        &self.components
    }

    /// The components, mutable. The caller keeps their bases equal.
    pub fn components_mut(&mut self) -> &mut [Poly<Eval>] {
        &mut self.components
    }

    /// Returns the components without a copy.
    pub fn into_components(self) -> Vec<Poly<Eval>> {
        self.components
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        self.components.iter().map(|c| c.words().len() * 8).sum()
    }

    /// The two components of a ciphertext of degree 1.
    ///
    /// # Errors
    /// [`Error::Components`] for any other degree.
    pub fn pair(&self) -> Result<(&Poly<Eval>, &Poly<Eval>)> {
        match self.components.as_slice() {
            [c0, c1] => Ok((c0, c1)),
            other => Err(Error::Components {
                found: other.len(),
                expected: 2,
            }),
        }
    }

    fn check_level(&self, other: &Self) -> Result<()> {
        let (left, right) = (self.level(), other.level());
        if left == right {
            Ok(())
        } else {
            Err(Error::LevelMismatch { left, right })
        }
    }

    /// `self += other`. The degree becomes the larger of the two.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`], [`Error::KeyMismatch`].
    pub fn add_assign(&mut self, other: &Self) -> Result<()> {
        self.check_level(other)?;
        self.key = self.key.join("ciphertext", other.key)?;
        for (a, b) in self.components.iter_mut().zip(&other.components) {
            a.add_assign(b);
        }
        for extra in other.components.iter().skip(self.components.len()) {
            self.components.push(extra.clone());
        }
        Ok(())
    }

    /// `self -= other`. The degree becomes the larger of the two.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`], [`Error::KeyMismatch`].
    pub fn sub_assign(&mut self, other: &Self) -> Result<()> {
        self.check_level(other)?;
        self.key = self.key.join("ciphertext", other.key)?;
        for (a, b) in self.components.iter_mut().zip(&other.components) {
            a.sub_assign(b);
        }
        for extra in other.components.iter().skip(self.components.len()) {
            let mut extra = extra.clone();
            extra.neg_assign();
            self.components.push(extra);
        }
        Ok(())
    }

    /// `self + other`. The degree is the larger of the two.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`], [`Error::KeyMismatch`].
    pub fn add(&self, other: &Self) -> Result<Self> {
        self.check_level(other)?;
        let key = self.key.join("ciphertext", other.key)?;
        let (long, short) = if self.degree() >= other.degree() {
            (self, other)
        } else {
            (other, self)
        };
        let pairs = short.components.iter().zip(&long.components);
        let mut components: Vec<_> = pairs.map(|(a, b)| a.add(b)).collect();
        components.extend_from_slice(&long.components[components.len()..]);
        Ok(Self { components, key })
    }

    /// `self - other`, as [`Ciphertext::add`].
    ///
    /// # Errors
    /// [`Error::LevelMismatch`], [`Error::KeyMismatch`].
    pub fn sub(&self, other: &Self) -> Result<Self> {
        if self.degree() != other.degree() {
            let mut out = self.clone();
            out.sub_assign(other)?;
            return Ok(out);
        }
        self.check_level(other)?;
        let key = self.key.join("ciphertext", other.key)?;
        let pairs = self.components.iter().zip(&other.components);
        let components = pairs.map(|(a, b)| a.sub(b)).collect();
        Ok(Self { components, key })
    }

    /// Multiplies every component by a polynomial over the same basis.
    ///
    /// # Panics
    /// If the bases differ.
    pub fn mul_poly_assign(&mut self, factor: &Poly<Eval>) {
        for c in &mut self.components {
            c.mul_assign(factor);
        }
    }

    /// Level drop: the same phase modulo fewer moduli.
    ///
    /// # Errors
    /// [`Error::LevelTooLow`] if the level is below `level`.
    pub fn drop_to(&mut self, level: usize) -> Result<()> {
        self.check_at_least(level)?;
        for c in &mut self.components {
            c.truncate(level + 1);
        }
        Ok(())
    }

    /// Modulus switch: divides by the moduli above `level`, rounded, and drops them.
    ///
    /// The phase is divided too, up to a rounding error of variance `(1 + |s|^2) / 12`, where
    /// `|s|^2` is the squared norm of the secret.
    ///
    /// # Errors
    /// [`Error::LevelTooLow`] if the level is below `level`.
    pub fn switch_to(&mut self, params: &Params, level: usize) -> Result<()> {
        self.check_at_least(level)?;
        let dropped = self.level() - level;
        if dropped > 0 {
            let divider = params.divider(self.level(), dropped);
            let whole = std::mem::take(&mut self.components);
            self.components = whole.into_iter().map(|c| divider.divide(c)).collect();
        }
        Ok(())
    }

    /// As [`switch_to`](Self::switch_to), of a copy, for which only the moduli above `level` are
    /// copied.
    ///
    /// # Errors
    /// As [`switch_to`](Self::switch_to).
    pub fn switched_to(&self, params: &Params, level: usize) -> Result<Self> {
        self.check_at_least(level)?;
        let dropped = self.level() - level;
        if dropped == 0 {
            return Ok(self.clone());
        }
        let divider = params.divider(self.level(), dropped);
        let parts = self.components.iter().map(|c| divider.divided(c));
        Ok(Self::new(parts.collect()).of_key(self.key))
    }

    fn check_at_least(&self, level: usize) -> Result<()> {
        if level <= self.level() {
            Ok(())
        } else {
            Err(Error::LevelTooLow {
                need: level,
                have: self.level(),
            })
        }
    }
}
