//! Operations on ciphertexts, without keys or with evaluation keys.

use crate::ciphertext::Ciphertext;
use exact::{Error, Params, Plaintext, Result};
use ring::{Eval, Poly};
use rlwe::{GaloisKeys, SwitchKey};

/// BGV operations for one set of parameters. Operands and keys of other parameters give
/// [`Error::OtherParameters`].
#[derive(Clone, Debug)]
pub struct Evaluator {
    exact: exact::Evaluator,
}

impl Evaluator {
    /// Operations for `params`.
    pub fn new(params: &Params) -> Self {
        Self {
            exact: exact::Evaluator::new(params),
        }
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        self.exact.params()
    }

    /// `a + b`.
    ///
    /// # Errors
    /// As [`Evaluator::add_assign`].
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.check_sum(a, b)?;
        Ok(Ciphertext::wrap(
            self.params(),
            self.exact.add(a.exact(), b.exact())?,
        ))
    }

    /// `a - b`.
    ///
    /// # Errors
    /// As [`Evaluator::add_assign`].
    pub fn sub(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.check_sum(a, b)?;
        Ok(Ciphertext::wrap(
            self.params(),
            self.exact.sub(a.exact(), b.exact())?,
        ))
    }

    /// `a += b`.
    ///
    /// # Errors
    /// If levels differ, or [`Error::FactorMismatch`] if factors differ.
    /// [`Evaluator::match_factors`] makes factors equal.
    pub fn add_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        self.check_sum(a, b)?;
        self.exact.add_assign(a.exact_mut(), b.exact())
    }

    /// `a -= b`.
    ///
    /// # Errors
    /// As [`Evaluator::add_assign`].
    pub fn sub_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        self.check_sum(a, b)?;
        self.exact.sub_assign(a.exact_mut(), b.exact())
    }

    /// Multiplies two ciphertexts of one level by small integers `x` and `y`, so that they have one
    /// factor, and returns `[x, y]`. The messages do not change. A sum of the ciphertexts has the
    /// noise `x^2 v_a + y^2 v_b`, with `x^2 + y^2 <= 2 t`.
    ///
    /// # Errors
    /// If levels differ.
    pub fn match_factors(&self, a: &mut Ciphertext, b: &mut Ciphertext) -> Result<[i64; 2]> {
        self.check(&[a, b])?;
        self.exact.match_factors(a.exact_mut(), b.exact_mut())
    }

    /// `a += m`.
    ///
    /// # Errors
    /// If `m` was encoded for other parameters.
    pub fn add_plain_assign(&self, a: &mut Ciphertext, m: &Plaintext) -> Result<()> {
        self.check(&[a])?;
        self.exact.add_plain_assign(a.exact_mut(), m)
    }

    /// A plaintext in the form of a factor for ciphertexts at `level`.
    ///
    /// # Errors
    /// If `level` is above the highest level, or if `m` was encoded for other parameters.
    pub fn lift(&self, m: &Plaintext, level: usize) -> Result<Poly<Eval>> {
        self.exact.lift(m, level)
    }

    /// `a *= m`, where [`Evaluator::lift`] has lifted the plaintext at the level of `a`.
    ///
    /// # Errors
    /// If the plaintext was lifted at another level.
    pub fn mul_plain_assign(&self, a: &mut Ciphertext, m: &Poly<Eval>) -> Result<()> {
        self.check(&[a])?;
        self.exact.mul_plain_assign(a.exact_mut(), m)
    }

    /// `a *= c` for an integer modulo `t`, which is centred first.
    ///
    /// # Errors
    /// [`Error::OtherParameters`].
    pub fn mul_scalar_assign(&self, a: &mut Ciphertext, c: u64) -> Result<()> {
        self.check(&[a])?;
        self.exact.mul_scalar_assign(a.exact_mut(), c)
    }

    /// `a b`, relinearised. The noise is the product of both noises, so a
    /// [switch](Evaluator::switch_to) is needed before the next product.
    ///
    /// Operands may be at different levels. In this and the other products, each is treated as
    /// [dropped](Evaluator::drop_to) to the lower level.
    ///
    /// # Errors
    /// If degrees do not fit, or the key was made for lower levels.
    pub fn mul(&self, a: &Ciphertext, b: &Ciphertext, key: &SwitchKey) -> Result<Ciphertext> {
        self.mul_and_switch(a, b, key, 0)
    }

    /// `a^2`, relinearised.
    ///
    /// # Errors
    /// As [`Evaluator::mul`].
    pub fn square(&self, a: &Ciphertext, key: &SwitchKey) -> Result<Ciphertext> {
        self.mul(a, a, key)
    }

    /// `a b`, relinearised and switched down by `dropped` limbs, in one division.
    ///
    /// # Errors
    /// As [`Evaluator::mul`], and [`rlwe::Error::LevelTooLow`] unless there are more limbs than
    /// `dropped`.
    pub fn mul_and_switch(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        key: &SwitchKey,
        dropped: usize,
    ) -> Result<Ciphertext> {
        self.check_key(key)?;
        let product = self.mul_no_relin(a, b)?;
        let ct = self
            .exact
            .relinearize_and_switch(product.exact(), key, dropped)?;
        Ok(self.wrap(ct))
    }

    /// `a b` with three components.
    ///
    /// # Errors
    /// If degrees do not fit.
    pub fn mul_no_relin(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.check(&[a, b])?;
        let product = self.exact.tensor_sum(&[a.exact()], &[b.exact()])?;
        Ok(self.wrap(product))
    }

    /// Reduces a product to two components.
    ///
    /// # Errors
    /// If the product does not have three components, or if the key was made for lower levels.
    pub fn relinearize(&self, product: &Ciphertext, key: &SwitchKey) -> Result<Ciphertext> {
        self.check(&[product])?;
        self.check_key(key)?;
        let ct = self.exact.relinearize_and_switch(product.exact(), key, 0)?;
        Ok(self.wrap(ct))
    }

    /// Modulus switch to `level`: the residual and the factor are divided by the dropped moduli.
    ///
    /// # Errors
    /// [`rlwe::Error::LevelTooLow`] if the level of `a` is lower than `level`.
    pub fn switch_to(&self, a: &mut Ciphertext, level: usize) -> Result<()> {
        self.check(&[a])?;
        self.exact.switch_to(a.exact_mut(), level)
    }

    /// Level drop: the same residual and factor modulo fewer moduli.
    ///
    /// # Errors
    /// [`rlwe::Error::LevelTooLow`] if the level of `a` is lower than `level`.
    pub fn drop_to(&self, a: &mut Ciphertext, level: usize) -> Result<()> {
        self.check(&[a])?;
        self.exact.drop_to(a.exact_mut(), level)
    }

    /// Rotates both rows of slots left by `k`, or right for negative `k`.
    ///
    /// # Errors
    /// [`rlwe::Error::MissingGaloisKey`], and as [`Evaluator::mul`].
    pub fn rotate(&self, a: &Ciphertext, k: isize, keys: &GaloisKeys) -> Result<Ciphertext> {
        self.automorphism(a, self.params().encoder().rotation_element(k), keys)
    }

    /// Swaps the rows of slots.
    ///
    /// # Errors
    /// As [`Evaluator::rotate`].
    pub fn swap_rows(&self, a: &Ciphertext, keys: &GaloisKeys) -> Result<Ciphertext> {
        self.automorphism(a, self.params().encoder().swap_element(), keys)
    }

    /// Several rotations of one ciphertext, which share its decomposition.
    ///
    /// # Errors
    /// As [`Evaluator::rotate`].
    pub fn rotate_hoisted(
        &self,
        a: &Ciphertext,
        steps: &[isize],
        keys: &GaloisKeys,
    ) -> Result<Vec<Ciphertext>> {
        self.check(&[a])?;
        let shared = self.exact.decompose(a.exact())?;
        steps
            .iter()
            .map(|&k| {
                let element = self.params().encoder().rotation_element(k);
                self.check_galois(element, keys)?;
                let ct = self
                    .exact
                    .automorphism_hoisted(a.exact(), &shared, element, keys)?;
                Ok(self.wrap(ct))
            })
            .collect()
    }

    fn automorphism(
        &self,
        a: &Ciphertext,
        element: usize,
        keys: &GaloisKeys,
    ) -> Result<Ciphertext> {
        self.check(&[a])?;
        self.check_galois(element, keys)?;
        let ct = self.exact.automorphism(a.exact(), element, keys)?;
        Ok(self.wrap(ct))
    }

    fn wrap(&self, ct: exact::Ciphertext) -> Ciphertext {
        Ciphertext::wrap(self.params(), ct)
    }

    fn check(&self, operands: &[&Ciphertext]) -> Result<()> {
        match operands.iter().find(|ct| ct.params() != self.params()) {
            None => Ok(()),
            Some(ct) => Err(Error::other("ciphertext", ct.params(), self.params())),
        }
    }

    fn check_sum(&self, a: &Ciphertext, b: &Ciphertext) -> Result<()> {
        self.check(&[a, b])?;
        let (left, right) = (a.level(), b.level());
        if left != right {
            return Err(rlwe::Error::LevelMismatch { left, right }.into());
        }
        let (left, right) = (a.factor(), b.factor());
        if left != right {
            return Err(Error::FactorMismatch { left, right });
        }
        Ok(())
    }

    fn check_key(&self, key: &SwitchKey) -> Result<()> {
        let rlwe = self.params().rlwe();
        if key.params() == rlwe {
            return Ok(());
        }
        Err(Error::other("evaluation key", key.params(), rlwe))
    }

    /// Checks the parameters of the key for `element`. Keys may be missing here: the operation that
    /// needs one reports it, and element 1 needs none.
    fn check_galois(&self, element: usize, keys: &GaloisKeys) -> Result<()> {
        keys.get(element)
            .map_or(Ok(()), |(key, _)| self.check_key(key))
    }
}
