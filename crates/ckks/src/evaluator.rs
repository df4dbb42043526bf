//! Operations on ciphertexts, without keys or with evaluation keys.

use crate::ciphertext::{Ciphertext, Plaintext, residue};
use crate::error::{Error, Result};
use crate::params::Params;
use num_complex::Complex64;
use ring::Poly;
use rlwe::{Decomposed, GaloisKeys, SwitchKey};

/// Scales with a smaller relative difference count as equal. The messages then differ by less than
/// the precision of doubles after a transform of all slots.
const SAME_SCALE: f64 = 1e-12;

/// CKKS operations for one set of parameters.
#[derive(Clone, Debug)]
pub struct Evaluator {
    params: Params,
}

impl Evaluator {
    /// Operations for `params`.
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
        }
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Level of a ciphertext: the number of rescales left.
    ///
    /// # Errors
    /// [`Error::OtherParameters`].
    pub fn level(&self, a: &Ciphertext) -> Result<usize> {
        self.params.level_of(a.rlwe())
    }

    /// `a + b`.
    ///
    /// # Errors
    /// If levels or scales differ.
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.check(&[a, b])?;
        check_scales(a.scale(), b.scale())?;
        let size = a.size().plus(b.size());
        Ok(Ciphertext::sized(a.rlwe().add(b.rlwe())?, a.scale(), size))
    }

    /// `a - b`.
    ///
    /// # Errors
    /// If levels or scales differ.
    pub fn sub(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.check(&[a, b])?;
        check_scales(a.scale(), b.scale())?;
        let size = a.size().minus(b.size());
        Ok(Ciphertext::sized(a.rlwe().sub(b.rlwe())?, a.scale(), size))
    }

    /// `a += b`.
    ///
    /// # Errors
    /// If levels or scales differ.
    pub fn add_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        self.check(&[a, b])?;
        check_scales(a.scale(), b.scale())?;
        a.rlwe_mut().add_assign(b.rlwe())?;
        a.set_size(a.size().plus(b.size()));
        Ok(())
    }

    /// `a -= b`.
    ///
    /// # Errors
    /// If levels or scales differ.
    pub fn sub_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        self.check(&[a, b])?;
        check_scales(a.scale(), b.scale())?;
        a.rlwe_mut().sub_assign(b.rlwe())?;
        a.set_size(a.size().minus(b.size()));
        Ok(())
    }

    /// `a = -a`.
    pub fn neg_assign(&self, a: &mut Ciphertext) {
        let parts = a.rlwe_mut().components_mut();
        parts.iter_mut().for_each(Poly::neg_assign);
        a.set_size(a.size().scaled(-1.0));
    }

    /// `a += m`.
    ///
    /// # Errors
    /// If levels or scales differ.
    pub fn add_plain_assign(&self, a: &mut Ciphertext, m: &Plaintext) -> Result<()> {
        check_scales(a.scale(), m.scale())?;
        self.check_limbs(a, m)?;
        a.rlwe_mut().components_mut()[0].add_assign(m.poly());
        a.set_size(a.size().plus(m.size()));
        Ok(())
    }

    /// `a *= m`. The scales multiply.
    ///
    /// # Errors
    /// If levels differ.
    pub fn mul_plain_assign(&self, a: &mut Ciphertext, m: &Plaintext) -> Result<()> {
        self.check_limbs(a, m)?;
        a.rlwe_mut().mul_poly_assign(m.poly());
        let size = a.size().times(m.size());
        a.restate(a.scale() * m.scale(), size);
        Ok(())
    }

    /// `a += c`, with the same number in every slot.
    ///
    /// # Errors
    /// [`Error::NotFinite`], and [`Error::Constant`] if the integer exceeds the modulus.
    pub fn add_const_assign(&self, a: &mut Ciphertext, c: Complex64) -> Result<()> {
        let [re, im] = [c.re, c.im].map(|part| integer(part * a.scale(), a));
        let (re, im) = (re?, im?);
        let body = &mut a.rlwe_mut().components_mut()[0];
        let basis = body.basis().clone();
        body.for_each_limb(|i, limb| {
            let q = basis.modulus(i);
            let c = residue(q, re);
            limb.iter_mut().for_each(|x| *x = q.add(*x, c));
        });
        if im != 0.0 {
            body.add_scaled_prefix(self.params.imaginary(), |i| residue(basis.modulus(i), im));
        }
        a.set_size(a.size().shifted(c));
        Ok(())
    }

    /// `a *= c`, with the number encoded at `scale`. The scales multiply.
    ///
    /// The ciphertext is multiplied by the integer `c * scale`, rounded. With scale 1, integers are
    /// exact and cost no level.
    ///
    /// # Errors
    /// [`Error::NotFinite`], and [`Error::Constant`] if the integer exceeds the modulus.
    pub fn mul_const_assign(&self, a: &mut Ciphertext, c: f64, scale: f64) -> Result<()> {
        let c = integer(c * scale, a)?;
        let size = a.size().scaled(c / scale);
        for part in a.rlwe_mut().components_mut() {
            let basis = part.basis().clone();
            part.scalar_mul_assign(|i| residue(basis.modulus(i), c));
        }
        a.restate(a.scale() * scale, size);
        Ok(())
    }

    /// `a += c b`. The number is encoded at the ratio of the two scales: the integer added is
    /// `c * a.scale / b.scale`, rounded.
    ///
    /// # Errors
    /// If levels differ, [`Error::NotFinite`], and [`Error::Constant`] if the integer exceeds the
    /// modulus.
    pub fn add_scaled_assign(&self, a: &mut Ciphertext, b: &Ciphertext, c: f64) -> Result<()> {
        self.check(&[a, b])?;
        let c = integer(c * a.scale() / b.scale(), a)?;
        let size = a.size().plus(b.size().scaled(c * b.scale() / a.scale()));
        let (left, right) = (a.rlwe().level(), b.rlwe().level());
        if left > right {
            return Err(rlwe::Error::LevelMismatch { left, right }.into());
        }
        a.rlwe().pair()?;
        let key = rlwe::Ciphertext::common_key([a.rlwe(), b.rlwe()])?;
        let other = b.rlwe().pair()?;
        let parts = a.rlwe_mut().components_mut().iter_mut();
        for (part, other) in parts.zip([other.0, other.1]) {
            let basis = part.basis().clone();
            part.add_scaled_prefix(other, |i| residue(basis.modulus(i), c));
        }
        a.rlwe_mut().set_key(key);
        a.set_size(size);
        Ok(())
    }

    /// `a *= i`: exact, without noise or level.
    pub fn mul_i_assign(&self, a: &mut Ciphertext) {
        let level = a.rlwe().level();
        let imaginary = self.params.imaginary().prefix(level + 1);
        a.rlwe_mut().mul_poly_assign(&imaginary);
    }

    /// `a b`, with three components. The scales multiply.
    ///
    /// # Errors
    /// If levels differ, or if an operand does not have two components.
    pub fn mul(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.check(&[a, b])?;
        let (left, right) = (a.rlwe().level(), b.rlwe().level());
        if left != right {
            return Err(rlwe::Error::LevelMismatch { left, right }.into());
        }
        let ((a0, a1), (b0, b1)) = (a.rlwe().pair()?, b.rlwe().pair()?);
        let parts = vec![a0.mul(b0), Poly::dot(&[a0, a1], &[b1, b0]), a1.mul(b1)];
        let key = rlwe::Ciphertext::common_key([a.rlwe(), b.rlwe()])?;
        let inner = rlwe::Ciphertext::new(parts).of_key(key);
        let size = if std::ptr::eq(a, b) {
            a.size().squared()
        } else {
            a.size().times(b.size())
        };
        Ok(Ciphertext::sized(inner, a.scale() * b.scale(), size))
    }

    /// Reduces a product to two components.
    ///
    /// # Errors
    /// If there are not three components, or the key was made for lower levels.
    pub fn relinearize(&self, a: &Ciphertext, key: &SwitchKey) -> Result<Ciphertext> {
        self.check(&[a])?;
        self.check_key("relinearization key", key)?;
        let inner = a.rlwe().relinearize(key, 0)?;
        Ok(Ciphertext::sized(inner, a.scale(), a.size()))
    }

    /// `a b`, relinearised and rescaled by one level, all in one division.
    ///
    /// # Errors
    /// The errors of [`Evaluator::mul`], [`Evaluator::relinearize`] and [`Evaluator::rescale`].
    pub fn mul_and_rescale(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        key: &SwitchKey,
    ) -> Result<Ciphertext> {
        self.check_key("relinearization key", key)?;
        let product = self.mul(a, b)?;
        let (dropped, divisor) = self.last_level(&product)?;
        let inner = product.rlwe().relinearize(key, dropped)?;
        let scale = product.scale() / divisor;
        Ok(Ciphertext::sized(inner, scale, product.size()))
    }

    /// Divides the ciphertext and its scale by the moduli of the last level.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] at level 0.
    pub fn rescale(&self, a: &mut Ciphertext) -> Result<()> {
        let (dropped, divisor) = self.last_level(a)?;
        let target = a.rlwe().level() - dropped;
        a.rlwe_mut().switch_to(self.params.rlwe(), target)?;
        a.restate(a.scale() / divisor, a.size());
        Ok(())
    }

    /// Level drop: the same message and scale modulo fewer moduli.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] if the level of `a` is lower than `level`.
    pub fn drop_to(&self, a: &mut Ciphertext, level: usize) -> Result<()> {
        let have = self.level(a)?;
        if level > have {
            return Err(Error::LevelExhausted { need: level, have });
        }
        Ok(a.rlwe_mut().drop_to(self.params.ring_level(level))?)
    }

    /// The message of `a` at another level and scale, computed by a product with 1 and a rescale.
    ///
    /// The method gives equal levels and scales to operands of a sum that were rescaled by
    /// different moduli. The number 1 is encoded as the integer `q scale / a.scale`, with `q` the
    /// modulus of `level + 1`. This integer should have about 20 bits or more.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] unless `level` is below that of `a`, or both levels and both
    /// scales are equal.
    pub fn adjust(&self, a: &Ciphertext, level: usize, scale: f64) -> Result<Ciphertext> {
        let mut a = a.clone();
        if self.level(&a)? == level && check_scales(a.scale(), scale).is_ok() {
            return Ok(a);
        }
        self.drop_to(&mut a, level + 1)?;
        let factor = scale * self.params.level_modulus(level + 1) / a.scale();
        self.mul_const_assign(&mut a, 1.0, factor)?;
        self.rescale(&mut a)?;
        a.restate(scale, a.size());
        Ok(a)
    }

    /// Two ciphertexts with one level and scale, ready for a sum. The higher one is
    /// [adjusted](Evaluator::adjust) to the lower.
    ///
    /// The adjustment costs no level, unless both ciphertexts are at the same level and differ in
    /// scale.
    ///
    /// # Errors
    /// [`Error::ScaleMismatch`] at level 0.
    pub fn align(&self, a: &Ciphertext, b: &Ciphertext) -> Result<[Ciphertext; 2]> {
        let (left, right) = (self.level(a)?, self.level(b)?);
        let (mut a, mut b) = (a.clone(), b.clone());
        let mut level = left.min(right);
        if let Err(differ) = check_scales(a.scale(), b.scale()) {
            if left == right {
                level = level.checked_sub(1).ok_or(differ)?;
            }
            if left > level {
                a = self.adjust(&a, level, b.scale())?;
            } else {
                b = self.adjust(&b, level, a.scale())?;
            }
        }
        self.drop_to(&mut a, level)?;
        self.drop_to(&mut b, level)?;
        Ok([a, b])
    }

    /// Rotates the slots left by `k`.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    pub fn rotate(&self, a: &Ciphertext, k: isize, keys: &GaloisKeys) -> Result<Ciphertext> {
        self.automorphism(a, self.params.encoder().rotation_element(k), keys)
    }

    /// The complex conjugate of every slot.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    pub fn conjugate(&self, a: &Ciphertext, keys: &GaloisKeys) -> Result<Ciphertext> {
        let mut conjugate =
            self.automorphism(a, self.params.encoder().conjugation_element(), keys)?;
        conjugate.set_size(a.size().conjugated());
        Ok(conjugate)
    }

    /// Rotations left by each of `steps`, with one shared decomposition.
    ///
    /// # Errors
    /// If a key is missing or was made for lower levels.
    pub fn rotate_hoisted(
        &self,
        a: &Ciphertext,
        steps: &[isize],
        keys: &GaloisKeys,
    ) -> Result<Vec<Ciphertext>> {
        self.check(&[a])?;
        let decomposed = Decomposed::new(self.params.rlwe(), a.rlwe().pair()?.1);
        let element = |&k: &isize| self.params.encoder().rotation_element(k);
        let rotated = steps.iter().map(element).map(|element| {
            self.check_galois(element, keys)?;
            let inner = a.rlwe().automorphism_hoisted(&decomposed, element, keys)?;
            Ok(Ciphertext::sized(inner, a.scale(), a.size()))
        });
        rotated.collect()
    }

    fn automorphism(&self, a: &Ciphertext, g: usize, keys: &GaloisKeys) -> Result<Ciphertext> {
        self.check(&[a])?;
        self.check_galois(g, keys)?;
        let inner = a.rlwe().automorphism(g, keys)?;
        Ok(Ciphertext::sized(inner, a.scale(), a.size()))
    }

    fn check(&self, operands: &[&Ciphertext]) -> Result<()> {
        operands.iter().try_for_each(|a| self.level(a).map(drop))
    }

    fn check_key(&self, what: &'static str, key: &SwitchKey) -> Result<()> {
        let (found, expected) = (key.params(), self.params.rlwe());
        if found == expected {
            return Ok(());
        }
        Err(Error::OtherKey {
            what,
            found: format!("{found:?}"),
            expected: format!("{expected:?}"),
        })
    }

    /// Checks the parameters of the key for `element`. Keys may be missing here: the operation that
    /// needs one reports it, and element 1 needs none.
    fn check_galois(&self, element: usize, keys: &GaloisKeys) -> Result<()> {
        keys.get(element)
            .map_or(Ok(()), |(key, _)| self.check_key("Galois key", key))
    }

    fn check_limbs(&self, a: &Ciphertext, m: &Plaintext) -> Result<()> {
        self.check(&[a])?;
        let (left, right) = (a.rlwe().level(), m.poly().limbs() - 1);
        if left != right {
            return Err(rlwe::Error::LevelMismatch { left, right }.into());
        }
        if m.poly().basis() != a.rlwe().components()[0].basis() {
            return Err(self.params.other(m.poly().limbs(), m.poly().n()));
        }
        Ok(())
    }

    /// The limbs and the modulus of the level that a rescale of `a` drops.
    fn last_level(&self, a: &Ciphertext) -> Result<(usize, f64)> {
        let level = self.level(a)?;
        if level == 0 {
            return Err(Error::LevelExhausted { need: 1, have: 0 });
        }
        let dropped = self.params.ring_level(level) - self.params.ring_level(level - 1);
        Ok((dropped, self.params.level_modulus(level)))
    }
}

/// The integer nearest to `value`, if it is below the modulus of `a`.
fn integer(value: f64, a: &Ciphertext) -> Result<f64> {
    let limit = a.rlwe().components()[0].basis().log2() - 1.0;
    let value = value.round();
    let found = value.abs().log2();
    if found < limit {
        Ok(value)
    } else if value.is_finite() {
        Err(Error::Constant { found, limit })
    } else {
        Err(Error::NotFinite {
            index: 0,
            found: value.to_string(),
        })
    }
}

/// Checks that two scales count as equal.
///
/// # Errors
/// [`Error::ScaleMismatch`].
pub fn check_scales(left: f64, right: f64) -> Result<()> {
    if (left / right - 1.0).abs() < SAME_SCALE {
        Ok(())
    } else {
        let [left, right] = [left, right].map(f64::log2);
        Err(Error::ScaleMismatch { left, right })
    }
}
