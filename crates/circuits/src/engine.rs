//! Values, and the engine that runs circuits on them.

use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::keys::{EvaluationKeys, Needs};
use bfv::noise::{Model, Noise};
use bfv::{Ciphertext, Evaluator, Params, Plaintext};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A noise this many bits above a rounding's is not worth another limb.
const SLACK_BITS: f64 = 1.5;

/// An encrypted value, or in a dry run what is known about it without encrypting.
#[derive(Clone, Debug)]
pub struct Value {
    ct: Option<Ciphertext>,
    level: usize,
    factor: u64,
    noise: Noise,
}

impl Value {
    /// An encrypted value with its predicted noise.
    pub fn encrypted(ct: Ciphertext, noise: Noise) -> Self {
        Self {
            level: ct.level(),
            factor: ct.factor(),
            ct: Some(ct),
            noise,
        }
    }

    /// What is known of a value of factor 1 at `level`.
    pub fn dry(level: usize, noise: Noise) -> Self {
        Self {
            ct: None,
            level,
            factor: 1,
            noise,
        }
    }

    /// This value without its ciphertext.
    #[must_use]
    pub fn to_dry(&self) -> Self {
        Self { ct: None, ..*self }
    }

    /// Factor of the message, as in [`bfv::Ciphertext::factor`].
    pub fn factor(&self) -> u64 {
        self.factor
    }

    /// The ciphertext; `None` in a dry run.
    pub fn ciphertext(&self) -> Option<&Ciphertext> {
        self.ct.as_ref()
    }

    /// Limbs minus one.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Predicted noise.
    pub fn noise(&self) -> Noise {
        self.noise
    }
}

/// A sum of products that is not yet relinearised.
#[derive(Clone, Debug)]
pub struct Product {
    pub(crate) ct: Option<Ciphertext>,
    pub(crate) level: usize,
    pub(crate) factor: u64,
    pub(crate) noise: Noise,
}

/// Runs circuits: on ciphertexts if it has keys, dry if not.
pub struct Engine<'k> {
    eval: Evaluator,
    model: Model,
    keys: Option<&'k EvaluationKeys>,
    log: Mutex<(Counts, Needs)>,
}

impl<'k> Engine<'k> {
    /// An engine on ciphertexts.
    pub fn new(params: &Params, keys: &'k EvaluationKeys) -> Self {
        Self::build(params, Some(keys))
    }

    /// An engine that only predicts levels, noise, counts and the keys that will be needed.
    pub fn dry(params: &Params) -> Self {
        Self::build(params, None)
    }

    fn build(params: &Params, keys: Option<&'k EvaluationKeys>) -> Self {
        Self {
            eval: Evaluator::new(params),
            model: Model::new(params),
            keys,
            log: Mutex::default(),
        }
    }

    /// Parameters.
    pub fn params(&self) -> &Params {
        self.eval.params()
    }

    /// Operations of the scheme.
    pub fn evaluator(&self) -> &Evaluator {
        &self.eval
    }

    /// Noise formulas.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The evaluation keys; `None` in a dry run.
    pub fn keys(&self) -> Option<&'k EvaluationKeys> {
        self.keys
    }

    /// Whether nothing is encrypted.
    pub fn is_dry(&self) -> bool {
        self.keys.is_none()
    }

    /// Operations run so far.
    pub fn counts(&self) -> Counts {
        self.log().0
    }

    /// Keys used so far, with the highest level of each.
    pub fn needs(&self) -> Needs {
        self.log().1.clone()
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, (Counts, Needs)> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Digits of a key switch at `level`, and the special moduli.
    fn digits(&self, level: usize) -> (usize, usize) {
        let rlwe = self.params().rlwe();
        (
            rlwe::SwitchKey::digit_count(rlwe, level),
            rlwe.special().len(),
        )
    }

    fn bits_of(&self, limb: usize) -> f64 {
        let basis = self.params().rlwe().basis(self.params().rlwe().max_level());
        (basis.modulus(limb).value() as f64).log2()
    }

    /// Limbs to drop so that `noise` comes down to about that of one rounding.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`] if that would leave none.
    fn settling_drop(&self, circuit: &'static str, level: usize, noise: Noise) -> Result<usize> {
        let floor = self.model.rounding().bits() + SLACK_BITS;
        let (mut dropped, mut bits) = (0, noise.bits());
        while bits > floor {
            if dropped == level {
                let need = ((bits - floor) / self.bits_of(0)).ceil() as usize;
                return Err(Error::OutOfLevels { circuit, need });
            }
            bits -= self.bits_of(level - dropped);
            dropped += 1;
        }
        Ok(dropped)
    }

    fn after_drop(&self, noise: Noise, level: usize, dropped: usize) -> Noise {
        if dropped == 0 {
            return noise;
        }
        let bits = (level + 1 - dropped..=level).map(|i| self.bits_of(i)).sum();
        self.model.switched(noise, bits)
    }

    /// `sum_k a_k b_k`, not relinearised. Operands may be at different levels.
    ///
    /// # Errors
    /// From the scheme, if factors do not fit.
    pub fn tensor_sum(&self, a: &[&Value], b: &[&Value]) -> Result<Product> {
        let level = a.iter().chain(b).map(|v| v.level).min().unwrap_or(0);
        let noise = a.iter().zip(b).fold(Noise::ZERO, |sum, (x, y)| {
            sum.plus(self.model.tensor(x.noise, y.noise, std::ptr::eq(*x, *y)))
        });
        self.log().0.tensors(level + 1, a.len());
        let ct = match (ciphertexts(a), ciphertexts(b)) {
            (Some(a), Some(b)) => Some(self.eval.tensor_sum(&a, &b)?),
            _ => None,
        };
        let factor = match (a.first(), b.first()) {
            (Some(x), Some(y)) => self.product_factor(x, y, level),
            _ => 1,
        };
        Ok(Product {
            ct,
            level,
            factor,
            noise,
        })
    }

    /// Relinearises, and switches down until the noise is about that of one rounding.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`], and a missing key.
    pub fn relinearize(&self, circuit: &'static str, product: &Product) -> Result<Value> {
        let level = product.level;
        let noise = product.noise.plus(self.model.key_switch(level));
        let dropped = self.settling_drop(circuit, level, noise)?;
        let noise = match dropped {
            0 => noise.plus(self.model.rounding()),
            _ => self.after_drop(noise, level, dropped),
        };
        {
            let (counts, needs) = &mut *self.log();
            counts.relinearizations += 1;
            let (digits, special) = self.digits(level);
            counts.key_switch(level + 1, digits, special, dropped);
            needs.relinearize(level);
        }
        let ct = match (&product.ct, self.keys) {
            (Some(ct), Some(keys)) => Some(self.eval.relinearize_and_switch(
                ct,
                keys.relinearization()?,
                dropped,
            )?),
            _ => None,
        };
        Ok(Value {
            ct,
            level: level - dropped,
            factor: product.factor,
            noise,
        })
    }

    /// Factor of a value when dropped to `level`.
    pub(crate) fn factor_at(&self, a: &Value, level: usize) -> u64 {
        let (t, basis) = (self.params().t(), self.params().rlwe().basis(a.level));
        (level + 1..=a.level).fold(a.factor, |mu, i| {
            t.mul(mu, t.reduce(basis.modulus(i).value()))
        })
    }

    /// Factor of the product of residuals of two values at `level`.
    fn product_factor(&self, a: &Value, b: &Value, level: usize) -> u64 {
        let t = self.params().t();
        let factors = t.mul(self.factor_at(a, level), self.factor_at(b, level));
        t.neg(t.mul(self.params().q_mod_t(level), factors))
    }

    /// `a b`, relinearised and switched down.
    ///
    /// # Errors
    /// As [`Engine::relinearize`].
    pub fn mul(&self, circuit: &'static str, a: &Value, b: &Value) -> Result<Value> {
        self.relinearize(circuit, &self.tensor_sum(&[a], &[b])?)
    }

    /// `sum_k p_k v_k` with plaintexts whose coefficients have the given sum of squares, at the
    /// lowest level of the values, not switched down. The result carries the factor `factor`.
    ///
    /// `plaintext(k, unit)` gives plaintext `k` multiplied by `unit`, which is how values of
    /// different factors are brought to one.
    ///
    /// # Errors
    /// From the scheme.
    pub fn mul_plain_sum(
        &self,
        values: &[&Value],
        sum_of_squares: f64,
        factor: u64,
        plaintext: impl Fn(usize, u64) -> Plaintext + Sync,
    ) -> Result<Value> {
        let level = values.iter().map(|v| v.level).min().unwrap_or(0);
        self.mul_plain_sum_at(level, values, sum_of_squares, factor, plaintext)
    }

    /// As [`Engine::mul_plain_sum`], at a level no higher than any of the values'.
    ///
    /// # Errors
    /// As [`Engine::mul_plain_sum`].
    pub fn mul_plain_sum_at(
        &self,
        level: usize,
        values: &[&Value],
        sum_of_squares: f64,
        factor: u64,
        plaintext: impl Fn(usize, u64) -> Plaintext + Sync,
    ) -> Result<Value> {
        let noise = values.iter().fold(Noise::ZERO, |sum, v| {
            sum.plus(self.model.mul_plain(v.noise, sum_of_squares))
        });
        let sum = Value {
            ct: None,
            level,
            factor,
            noise,
        };
        self.log().0.plaintexts(level + 1, values.len());
        match ciphertexts(values) {
            Some(cts) => self.combine(&cts, sum, plaintext),
            None => Ok(sum),
        }
    }

    /// The ciphertext of `sum`, by [`Engine::mul_plain_sum`]'s rule.
    pub(crate) fn combine(
        &self,
        cts: &[&Ciphertext],
        sum: Value,
        plaintext: impl Fn(usize, u64) -> Plaintext + Sync,
    ) -> Result<Value> {
        let (t, basis) = (self.params().t(), self.params().rlwe().basis(sum.level));
        let plains: Vec<Vec<i32>> = ring::par_map(cts.len(), |k| {
            let own = self.eval.factor_at(cts[k], sum.level);
            let unit = t.mul(sum.factor, t.inv(own).expect("factors are units"));
            let plaintext = plaintext(k, unit);
            let centred = plaintext.coefficients().iter().map(|&c| t.center(c));
            centred
                .map(|c| i32::try_from(c).expect("t is below 2^32"))
                .collect()
        });
        let parts = ring::dot_pairs_signed(basis, &plains, |i| {
            [0, 1].map(|part| {
                let components = cts.iter().map(|ct| &ct.rlwe().components()[part]);
                components.map(|c| c.limb(i)).collect()
            })
        });
        let total = rlwe::Ciphertext::new(parts.into());
        let ct = Some(Ciphertext::new(total, sum.factor));
        Ok(Value { ct, ..sum })
    }

    /// The constant 1 in every slot, encrypted by nobody: for sums of products.
    pub fn one(&self, level: usize) -> Value {
        let noise = Noise::free((self.params().t().value() as f64 / 2.0).powi(2));
        if self.is_dry() {
            return Value::dry(level, noise);
        }
        let message = self.params().encoder().coefficients(&[1]);
        Value::encrypted(bfv::trivial(self.params(), &message, level), noise)
    }

    /// `a += b`, at one level.
    ///
    /// # Errors
    /// If levels or factors differ.
    pub fn add_assign(&self, a: &mut Value, b: &Value) -> Result<()> {
        a.noise = a.noise.plus(b.noise);
        if let (Some(x), Some(y)) = (&mut a.ct, &b.ct) {
            self.eval.add_assign(x, y)?;
        }
        Ok(())
    }

    /// `a -= b`, at one level.
    ///
    /// # Errors
    /// As [`Engine::add_assign`].
    pub fn sub_assign(&self, a: &mut Value, b: &Value) -> Result<()> {
        a.noise = a.noise.plus(b.noise);
        if let (Some(x), Some(y)) = (&mut a.ct, &b.ct) {
            self.eval.sub_assign(x, y)?;
        }
        Ok(())
    }

    /// `a += m`.
    pub fn add_plain_assign(&self, a: &mut Value, m: impl FnOnce() -> Plaintext) {
        if let Some(ct) = &mut a.ct {
            self.eval.add_plain_assign(ct, &m());
        }
    }

    /// The automorphism of a Galois element.
    ///
    /// # Errors
    /// If the key is missing.
    pub fn automorphism(&self, a: &Value, element: usize) -> Result<Value> {
        self.note_rotation(element, a.level);
        let noise = self.rotated_noise(a);
        let ct = match (&a.ct, self.keys) {
            (Some(ct), Some(keys)) => Some(self.eval.automorphism(ct, element, keys.galois())?),
            _ => None,
        };
        Ok(Value { ct, noise, ..*a })
    }

    /// The automorphisms of several Galois elements, with one decomposition.
    ///
    /// # Errors
    /// If a key is missing.
    pub fn automorphisms(&self, a: &Value, elements: &[usize]) -> Result<Vec<Value>> {
        let shared = match &a.ct {
            Some(ct) => Some(self.eval.decompose(ct)?),
            None => None,
        };
        elements
            .iter()
            .map(|&element| {
                if element == 1 {
                    return Ok(a.clone());
                }
                self.note_rotation(element, a.level);
                let ct =
                    match (&a.ct, &shared, self.keys) {
                        (Some(ct), Some(shared), Some(keys)) => Some(
                            self.eval
                                .automorphism_hoisted(ct, shared, element, keys.galois())?,
                        ),
                        _ => None,
                    };
                let noise = self.rotated_noise(a);
                Ok(Value { ct, noise, ..*a })
            })
            .collect()
    }

    /// Counts a switch of a value at `level` to LWE samples, by `digits` digits.
    pub fn count_samples(&self, level: usize, digits: usize) {
        let (counts, _) = &mut *self.log();
        // The way down to one limb, that limb's digits, and back to coefficients.
        counts.transforms += 2 * level + 5 + digits;
        counts.limb_products += 2 * digits;
    }

    /// Counts a sum with a plaintext at `level`.
    pub fn count_sum(&self, level: usize) {
        self.log().0.transforms += level + 2;
    }

    fn note_rotation(&self, element: usize, level: usize) {
        let (counts, needs) = &mut *self.log();
        counts.rotations += 1;
        let (digits, special) = self.digits(level);
        counts.key_switch(level + 1, digits, special, 0);
        needs.galois(element, level);
    }

    fn rotated_noise(&self, a: &Value) -> Noise {
        let added = self.model.key_switch(a.level).plus(self.model.rounding());
        a.noise.plus(added)
    }

    /// Switches down until the noise is about that of one rounding.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`].
    pub fn settle(&self, circuit: &'static str, a: Value) -> Result<Value> {
        let dropped = self.settling_drop(circuit, a.level, a.noise)?;
        let level = a.level - dropped;
        self.switch_to(a, level)
    }

    /// Modulus switch to `level`.
    ///
    /// # Errors
    /// If the value's level is lower.
    pub fn switch_to(&self, a: Value, level: usize) -> Result<Value> {
        let dropped = a.level.checked_sub(level).ok_or(rlwe::Error::LevelTooLow {
            need: level,
            have: a.level,
        })?;
        let noise = self.after_drop(a.noise, a.level, dropped);
        let ct = match a.ct {
            Some(mut ct) => {
                self.eval.switch_to(&mut ct, level)?;
                Some(ct)
            }
            None => None,
        };
        Ok(Value {
            ct,
            level,
            factor: a.factor,
            noise,
        })
    }

    /// Level drop to `level`: the noise stays, the modulus shrinks.
    ///
    /// # Errors
    /// If the value's level is lower.
    pub fn drop_to(&self, mut a: Value, level: usize) -> Result<Value> {
        if level > a.level {
            return Err(rlwe::Error::LevelTooLow {
                need: level,
                have: a.level,
            }
            .into());
        }
        a.factor = self.factor_at(&a, level);
        if let Some(ct) = &mut a.ct {
            self.eval.drop_to(ct, level)?;
        }
        a.level = level;
        Ok(a)
    }

    /// Bits by which the predicted noise, six deviations of it, is below what decryption bears.
    pub fn margin_bits(&self, a: &Value) -> f64 {
        self.params().rlwe().log_q(a.level) - 1.0 - a.noise.bits() - 6.0f64.log2()
    }
}

/// The ciphertexts of values; `None` in a dry run.
fn ciphertexts<'a>(values: &[&'a Value]) -> Option<Vec<&'a Ciphertext>> {
    values.iter().map(|v| v.ct.as_ref()).collect()
}
