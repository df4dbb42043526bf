//! Operations on ciphertexts, without keys or with evaluation keys.

use crate::encoder::Plaintext;
use crate::encrypt::{Ciphertext, scaled};
use crate::error::{Error, Result};
use crate::params::Params;
use ring::{Eval, Poly};
use rlwe::{Decomposed, GaloisKeys, SwitchKey};

/// Operations on residuals for one set of parameters. Operands and keys of other parameters give
/// [`Error::OtherParameters`], and those of another secret [`rlwe::Error::KeyMismatch`].
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

    /// `a + b`.
    ///
    /// # Errors
    /// If levels differ, or [`Error::FactorMismatch`] if factors differ.
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.check_sum(a, b)?;
        Ok(Ciphertext::new(a.rlwe().add(b.rlwe())?, a.factor()))
    }

    /// `a - b`.
    ///
    /// # Errors
    /// As [`Evaluator::add`].
    pub fn sub(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.check_sum(a, b)?;
        Ok(Ciphertext::new(a.rlwe().sub(b.rlwe())?, a.factor()))
    }

    /// `a += b`.
    ///
    /// # Errors
    /// If levels differ, or [`Error::FactorMismatch`] if factors differ.
    pub fn add_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        self.check_sum(a, b)?;
        Ok(a.rlwe_mut().add_assign(b.rlwe())?)
    }

    /// `a -= b`.
    ///
    /// # Errors
    /// As [`Evaluator::add_assign`].
    pub fn sub_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        self.check_sum(a, b)?;
        Ok(a.rlwe_mut().sub_assign(b.rlwe())?)
    }

    /// `a += m`.
    ///
    /// # Errors
    /// If `m` was encoded for other parameters.
    pub fn add_plain_assign(&self, a: &mut Ciphertext, m: &Plaintext) -> Result<()> {
        self.params.check_ciphertexts(&[a])?;
        self.params.check_message(m)?;
        let term = scaled(&self.params, m, a.level(), a.factor());
        a.rlwe_mut().components_mut()[0].add_assign(&term);
        Ok(())
    }

    /// `a *= m`, where [`Evaluator::lift`] has lifted the plaintext at the level of `a`.
    ///
    /// # Errors
    /// If the plaintext was lifted at another level, or for other parameters.
    pub fn mul_plain_assign(&self, a: &mut Ciphertext, m: &Poly<Eval>) -> Result<()> {
        self.params.check_ciphertexts(&[a])?;
        let (left, right) = (a.level(), m.limbs() - 1);
        if left != right {
            return Err(rlwe::Error::LevelMismatch { left, right }.into());
        }
        let basis = self.params.rlwe().basis(left);
        if m.basis() != basis {
            return Err(Error::other("lifted plaintext", m.basis(), basis));
        }
        a.rlwe_mut().mul_poly_assign(m);
        Ok(())
    }

    /// A plaintext in the form of a factor for ciphertexts at `level`.
    ///
    /// # Errors
    /// If `level` is above the highest level, or if `m` was encoded for other parameters.
    pub fn lift(&self, m: &Plaintext, level: usize) -> Result<Poly<Eval>> {
        self.params.check_level(level)?;
        self.params.check_message(m)?;
        let basis = self.params.rlwe().basis(level);
        Ok(self.params.encoder().lift(m, basis))
    }

    /// `a *= c` for an integer modulo `t`, which is centred first.
    ///
    /// # Errors
    /// [`Error::OtherParameters`].
    pub fn mul_scalar_assign(&self, a: &mut Ciphertext, c: u64) -> Result<()> {
        self.params.check_ciphertexts(&[a])?;
        let t = self.params.t();
        self.scale_assign(a, t.center(t.reduce(c)));
        Ok(())
    }

    /// Multiplies every component by an integer.
    pub(crate) fn scale_assign(&self, a: &mut Ciphertext, c: i64) {
        for part in a.rlwe_mut().components_mut() {
            let basis = part.basis().clone();
            part.scalar_mul_assign(|i| basis.modulus(i).from_i64(c));
        }
    }

    /// Modulus switch to `level`.
    ///
    /// # Errors
    /// If the level of `a` is lower than `level`.
    pub fn switch_to(&self, a: &mut Ciphertext, level: usize) -> Result<()> {
        self.params.check_ciphertexts(&[a])?;
        Ok(a.rlwe_mut().switch_to(self.params.rlwe(), level)?)
    }

    /// As [`Evaluator::switch_to`], of a copy.
    ///
    /// # Errors
    /// As [`Evaluator::switch_to`].
    pub fn switched_to(&self, a: &Ciphertext, level: usize) -> Result<Ciphertext> {
        self.params.check_ciphertexts(&[a])?;
        let inner = a.rlwe().switched_to(self.params.rlwe(), level)?;
        Ok(Ciphertext::new(inner, a.factor()))
    }

    /// The product of residuals `t (a x b)`, relinearised, and switched down by `dropped` limbs.
    ///
    /// # Errors
    /// If levels or degrees do not fit, or the key was made for lower levels.
    pub fn mul_and_switch(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        key: &SwitchKey,
        dropped: usize,
    ) -> Result<Ciphertext> {
        let product = self.tensor_sum(&[a], &[b])?;
        self.relinearize_and_switch(&product, key, dropped)
    }

    /// `sum_k t (a_k x b_k)`, not relinearised: three components, with the residual
    /// `sum_k r_k r'_k`.
    ///
    /// Operands may be at different levels. Each is treated as [dropped](Evaluator::drop_to) to the
    /// lowest.
    ///
    /// # Errors
    /// If degrees do not fit, or if the factors of the products differ.
    ///
    /// # Panics
    /// If there are no products.
    pub fn tensor_sum(&self, a: &[&Ciphertext], b: &[&Ciphertext]) -> Result<Ciphertext> {
        assert!(
            !a.is_empty() && a.len() == b.len(),
            "as many left factors as right ones"
        );
        let level = a
            .iter()
            .chain(b)
            .map(|ct| ct.level())
            .min()
            .expect("there are products");
        self.params.check_ciphertexts(a)?;
        self.params.check_ciphertexts(b)?;
        let key = rlwe::Ciphertext::common_key(a.iter().chain(b).map(|ct| ct.rlwe()))?;
        let factor = self.product_factor(a[0], b[0], level);
        let mut left = Vec::with_capacity(a.len());
        let mut right = Vec::with_capacity(a.len());
        for (&x, &y) in a.iter().zip(b) {
            let other = self.product_factor(x, y, level);
            if other != factor {
                return Err(Error::FactorMismatch {
                    left: factor,
                    right: other,
                });
            }
            left.push(<[&Poly<Eval>; 2]>::from(x.rlwe().pair()?));
            right.push(<[&Poly<Eval>; 2]>::from(y.rlwe().pair()?));
        }
        let t = self.params.t().value();
        let basis = self.params.rlwe().basis(level);
        let parts = ring::tensor_sum(basis, &left, &right, |_| t);
        let inner = rlwe::Ciphertext::new(parts.into()).of_key(key);
        Ok(Ciphertext::new(inner, factor))
    }

    /// `t sum_j (sum_i m[g][j][i] x_i) (x) y_j` for each group `g`, at `level`, not relinearised.
    /// This is the fused form of integer combinations followed by [`Evaluator::tensor_sum`]. The
    /// caller computes the factors. `matrix` is as in [`ring::tensor_combinations`].
    ///
    /// # Errors
    /// If an operand does not have two components.
    pub fn tensor_combinations(
        &self,
        level: usize,
        matrix: &[u64],
        x: &[&Ciphertext],
        y: &[&Ciphertext],
    ) -> Result<Vec<rlwe::Ciphertext>> {
        fn pairs<'a>(cts: &[&'a Ciphertext]) -> Result<Vec<ring::Pair<'a>>> {
            cts.iter().map(|ct| Ok(ct.rlwe().pair()?.into())).collect()
        }
        let key = rlwe::Ciphertext::common_key(x.iter().chain(y).map(|ct| ct.rlwe()))?;
        let basis = self.params.rlwe().basis(level);
        let t = self.params.t().value();
        let sums = ring::tensor_combinations(basis, matrix, &pairs(x)?, &pairs(y)?, |_| t);
        Ok(sums
            .into_iter()
            .map(|d| rlwe::Ciphertext::new(d.into()).of_key(key))
            .collect())
    }

    /// Level drop: the same residual modulo fewer moduli. It costs nothing, but the dropped moduli
    /// become part of the factor.
    ///
    /// # Errors
    /// If the level of `a` is lower than `level`.
    pub fn drop_to(&self, a: &mut Ciphertext, level: usize) -> Result<()> {
        self.params.check_ciphertexts(&[a])?;
        let have = a.level();
        if level > have {
            return Err(rlwe::Error::LevelTooLow { need: level, have }.into());
        }
        let factor = self.factor_at(a, level);
        a.rlwe_mut().drop_to(level)?;
        a.set_factor(factor);
        Ok(())
    }

    /// The factor that `a` has after a drop to `level`: `mu` times the dropped moduli.
    ///
    /// # Panics
    /// If the level of `a` is lower than `level`.
    pub fn factor_at(&self, a: &Ciphertext, level: usize) -> u64 {
        let (t, basis) = (self.params.t(), self.params.rlwe().basis(a.level()));
        (level + 1..=a.level()).fold(a.factor(), |mu, i| {
            t.mul(mu, t.reduce(basis.modulus(i).value()))
        })
    }

    /// Reduces a product to two components, and divides by the last `dropped` moduli.
    ///
    /// # Errors
    /// If the ciphertext does not have three components, or if the key was made for lower levels.
    pub fn relinearize_and_switch(
        &self,
        product: &Ciphertext,
        key: &SwitchKey,
        dropped: usize,
    ) -> Result<Ciphertext> {
        self.params.check_ciphertexts(&[product])?;
        self.params.check_key(key)?;
        let inner = product.rlwe().relinearize(key, dropped)?;
        Ok(Ciphertext::new(inner, product.factor()))
    }

    /// The automorphism of a Galois element: a rotation or the swap of the rows.
    /// [`Encoder::rotation_element`](crate::Encoder::rotation_element) computes such elements.
    ///
    /// # Errors
    /// If the key is missing or was made for lower levels.
    pub fn automorphism(
        &self,
        a: &Ciphertext,
        element: usize,
        keys: &GaloisKeys,
    ) -> Result<Ciphertext> {
        self.check_galois(a, element, keys)?;
        let inner = a.rlwe().automorphism(element, keys)?;
        Ok(Ciphertext::new(inner, a.factor()))
    }

    /// As [`Evaluator::automorphism`]. The decomposition of the second component of `a` is shared
    /// between calls.
    ///
    /// # Errors
    /// As [`Evaluator::automorphism`].
    pub fn automorphism_hoisted(
        &self,
        a: &Ciphertext,
        decomposed: &Decomposed,
        element: usize,
        keys: &GaloisKeys,
    ) -> Result<Ciphertext> {
        self.check_galois(a, element, keys)?;
        self.check_decomposed(a, decomposed)?;
        let inner = a.rlwe().automorphism_hoisted(decomposed, element, keys)?;
        Ok(Ciphertext::new(inner, a.factor()))
    }

    /// The decomposition that [`Evaluator::automorphism_hoisted`] shares.
    ///
    /// # Errors
    /// If the ciphertext does not have two components.
    pub fn decompose(&self, a: &Ciphertext) -> Result<Decomposed> {
        self.params.check_ciphertexts(&[a])?;
        Ok(Decomposed::new(self.params.rlwe(), a.rlwe().pair()?.1))
    }

    /// Checks parameters and factors of the operands of a sum.
    fn check_sum(&self, a: &Ciphertext, b: &Ciphertext) -> Result<()> {
        self.params.check_ciphertexts(&[a, b])?;
        check_factors(a, b)
    }

    /// Checks the parameters of a ciphertext, and of the key for `element`. A missing key is
    /// reported by the operation that needs it, and element 1 needs none.
    fn check_galois(&self, a: &Ciphertext, element: usize, keys: &GaloisKeys) -> Result<()> {
        self.params.check_ciphertexts(&[a])?;
        keys.get(element)
            .map_or(Ok(()), |(key, _)| self.params.check_key(key))
    }

    /// Checks that a decomposition is one of a ciphertext at the level of `a`.
    fn check_decomposed(&self, a: &Ciphertext, decomposed: &Decomposed) -> Result<()> {
        let (left, right) = (a.level(), decomposed.level());
        if left != right {
            return Err(rlwe::Error::LevelMismatch { left, right }.into());
        }
        if decomposed.params() != self.params.rlwe() {
            let (found, expected) = (decomposed.params(), self.params.rlwe());
            return Err(Error::other("decomposition", found, expected));
        }
        Ok(())
    }

    /// Factor of [`Evaluator::tensor_sum`] at `level`: `-Q mu mu' mod t`.
    fn product_factor(&self, a: &Ciphertext, b: &Ciphertext, level: usize) -> u64 {
        let t = self.params.t();
        let factors = t.mul(self.factor_at(a, level), self.factor_at(b, level));
        t.neg(t.mul(self.params.q_mod_t(level), factors))
    }
}

fn check_factors(a: &Ciphertext, b: &Ciphertext) -> Result<()> {
    let (left, right) = (a.factor(), b.factor());
    if left == right {
        Ok(())
    } else {
        Err(Error::FactorMismatch { left, right })
    }
}
