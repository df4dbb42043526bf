//! Approximate arithmetic in any mode. It keeps levels and scales, which are the same in all modes.

use crate::error::Result;
use crate::operations::{RingOperations, RunRing};
use ckks::{Ciphertext, Error, Params, check_scales};
use program::recording::Scalar;

/// Arithmetic for one set of parameters in the mode `O`.
pub struct Arithmetic<'o, O> {
    params: &'o Params,
    operations: &'o O,
}

/// A ciphertext of a mode, with its level and scale.
#[derive(Clone, Debug)]
pub struct Scaled<C> {
    pub(crate) ct: C,
    level: usize,
    scale: f64,
}

/// A ciphertext of the mode `O`, with its level and scale.
pub type ScaledOf<O> = Scaled<<O as RingOperations>::Ciphertext>;

impl<C> Scaled<C> {
    /// Makes a ciphertext at a level, whose message has the scale `scale`.
    pub fn new(ct: C, level: usize, scale: f64) -> Self {
        Self { ct, level, scale }
    }

    /// The ciphertext.
    pub fn ciphertext(&self) -> &C {
        &self.ct
    }

    /// Number of rescalings left.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Scale of the message.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Changes the scale at which the message is read. The ciphertext does not change.
    pub fn set_scale(&mut self, scale: f64) {
        self.scale = scale;
    }
}

impl Arithmetic<'_, RunRing<'_>> {
    /// Converts a ciphertext into the form in which it is computed with.
    ///
    /// # Errors
    /// [`Error::OtherParameters`] if it belongs to other parameters.
    pub fn open(&self, ct: &Ciphertext) -> Result<Scaled<rlwe::Ciphertext>> {
        let level = self.params.level_of(ct.rlwe())?;
        Ok(Scaled::new(ct.rlwe().clone(), level, ct.scale()))
    }

    /// Converts a result into a ciphertext.
    pub fn close(&self, value: Scaled<rlwe::Ciphertext>) -> Ciphertext {
        Ciphertext::new(value.ct, value.scale)
    }
}

impl<'o, O: RingOperations> Arithmetic<'o, O> {
    /// Arithmetic in the mode of `operations`.
    pub fn of(params: &'o Params, operations: &'o O) -> Self {
        Self { params, operations }
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        self.params
    }

    /// The operations.
    pub fn operations(&self) -> &O {
        self.operations
    }

    /// `a += b`.
    ///
    /// # Errors
    /// If levels or scales differ.
    pub fn add_assign(&self, a: &mut ScaledOf<O>, b: &ScaledOf<O>) -> Result<()> {
        check_scales(a.scale, b.scale)?;
        check_levels(a, b)?;
        self.operations.begin_scale(a.scale);
        self.operations.add_assign(&mut a.ct, &b.ct)
    }

    /// `a -= b`.
    ///
    /// # Errors
    /// If levels or scales differ.
    pub fn sub_assign(&self, a: &mut ScaledOf<O>, b: &ScaledOf<O>) -> Result<()> {
        check_scales(a.scale, b.scale)?;
        check_levels(a, b)?;
        self.operations.begin_scale(a.scale);
        self.operations.sub_assign(&mut a.ct, &b.ct)
    }

    /// `a += c` in every slot.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a number that is not finite, and [`Error::Constant`] if the size of
    /// the integer is half the modulus or more.
    pub fn add_const_assign(&self, a: &mut ScaledOf<O>, c: f64) -> Result<()> {
        let c = self.integer(c * a.scale, a.level)?;
        self.operations.begin_scale(a.scale);
        self.operations.add_integer(&mut a.ct, c);
        Ok(())
    }

    /// `a *= c`. The number is encoded at `scale`: it takes effect as the integer `c * scale`,
    /// rounded. The scales multiply.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for a number that is not finite, and [`Error::Constant`] if the size of
    /// the integer is half the modulus or more.
    pub fn mul_const_assign(&self, a: &mut ScaledOf<O>, c: f64, scale: f64) -> Result<()> {
        let c = self.integer(c * scale, a.level)?;
        a.scale *= scale;
        self.operations.begin_scale(a.scale);
        self.operations.scale_assign(&mut a.ct, c);
        Ok(())
    }

    /// `a += c b`. The number is encoded at the ratio of the two scales: it takes effect as the
    /// integer `c * a.scale / b.scale`, rounded.
    ///
    /// # Errors
    /// If the level of `b` is lower; [`Error::NotFinite`] for a number that is not finite, and
    /// [`Error::Constant`] if the size of the integer is half the modulus or more.
    pub fn add_scaled_assign(&self, a: &mut ScaledOf<O>, b: &ScaledOf<O>, c: f64) -> Result<()> {
        let c = self.integer(c * a.scale / b.scale, a.level)?;
        self.operations.begin_scale(a.scale);
        self.operations.add_scaled(&mut a.ct, &b.ct, c)
    }

    /// `a *= i`. It is exact, adds no noise and takes no level.
    ///
    /// # Errors
    /// If `a` does not have two components.
    pub fn mul_i_assign(&self, a: &mut ScaledOf<O>) -> Result<()> {
        let limbs = self.params.ring_level(a.level) + 1;
        self.operations.begin_scale(a.scale);
        let imaginary = self.params.imaginary().prefix(limbs);
        a.ct = self.operations.mul_plain_sum(&[&a.ct], &[&imaginary])?;
        Ok(())
    }

    /// `a b`, relinearised. The scales multiply.
    ///
    /// # Errors
    /// If levels differ, or the key is missing or was made for lower ones.
    pub fn mul(&self, a: &ScaledOf<O>, b: &ScaledOf<O>) -> Result<ScaledOf<O>> {
        check_levels(a, b)?;
        self.operations.begin_scale(a.scale * b.scale);
        let product = self.operations.tensor_sum(&[&a.ct], &[&b.ct], None)?;
        let ct = self.operations.relinearize(&product, 0)?;
        Ok(Scaled::new(ct, a.level, a.scale * b.scale))
    }

    /// Divides the ciphertext and its scale by the moduli of the last level.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] at level 0.
    pub fn rescale(&self, a: ScaledOf<O>) -> Result<ScaledOf<O>> {
        let level = self.below(a.level)?;
        let scale = a.scale / self.params.level_modulus(a.level);
        self.operations.begin_scale(scale);
        let to = self.params.ring_level(level);
        let ct = self.operations.switch_to(a.ct, to)?;
        Ok(Scaled::new(ct, level, scale))
    }

    /// Returns the level below.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] at level 0.
    pub(crate) fn below(&self, level: usize) -> Result<usize> {
        let exhausted = Error::LevelExhausted { need: 1, have: 0 };
        Ok(level.checked_sub(1).ok_or(exhausted)?)
    }

    /// Level drop: keeps message and scale, modulo fewer moduli.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] if the level of `a` is lower.
    pub fn drop_to(&self, a: ScaledOf<O>, level: usize) -> Result<ScaledOf<O>> {
        if level > a.level {
            let (need, have) = (level, a.level);
            return Err(Error::LevelExhausted { need, have }.into());
        }
        self.operations.begin_scale(a.scale);
        let to = self.params.ring_level(level);
        let ct = self.operations.drop_to(a.ct, to)?;
        Ok(Scaled::new(ct, level, a.scale))
    }

    /// Rotates the slots left by `k`.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    pub fn rotate(&self, a: &ScaledOf<O>, k: isize) -> Result<ScaledOf<O>> {
        self.automorphism(a, self.params.encoder().rotation_element(k))
    }

    /// Conjugates every slot.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    pub fn conjugate(&self, a: &ScaledOf<O>) -> Result<ScaledOf<O>> {
        self.automorphism(a, self.params.encoder().conjugation_element())
    }

    fn automorphism(&self, a: &ScaledOf<O>, element: usize) -> Result<ScaledOf<O>> {
        self.operations.begin_scale(a.scale);
        let ct = self.operations.automorphism(&a.ct, element)?;
        Ok(Scaled::new(ct, a.level, a.scale))
    }

    /// The nearest integer, if its size is less than half the modulus of the level.
    fn integer(&self, value: f64, level: usize) -> Result<Scalar> {
        let limit = self.params.rlwe().log_q(self.params.ring_level(level)) - 1.0;
        let value = value.round();
        let found = value.abs().log2();
        if found < limit {
            Ok(Scalar::of_double(value))
        } else if value.is_finite() {
            Err(Error::Constant { found, limit }.into())
        } else {
            let found = value.to_string();
            Err(Error::NotFinite { index: 0, found }.into())
        }
    }
}

fn check_levels<C>(a: &Scaled<C>, b: &Scaled<C>) -> Result<()> {
    let (left, right) = (a.level, b.level);
    if left == right {
        return Ok(());
    }
    Err(Error::from(rlwe::Error::LevelMismatch { left, right }).into())
}
