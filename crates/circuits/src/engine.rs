//! Values, and the engine that runs circuits on them.

use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::keys::{EvaluationKeys, Needs};
use crate::residual::{Residual, Squares};
use bfv::noise::{Factors, Model, Noise};
use bfv::{Ciphertext, Evaluator, Params, Plaintext};
use rlwe::noise::{log2_sum, log2_two_sided_tail};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Noise this many bits above a rounding's is not worth another limb, unless parameters say otherwise.
pub(crate) const SLACK_BITS: f64 = 1.5;

/// log2 of the probability above which powers of a value may leave rounding size, if they are only divided by what its own
/// noise asks for.
const HOT: f64 = -52.0;

/// log2 of the least probability that is told: what is less is said to be this.
pub const LEAST_LOG2_FAILURE: f64 = -9999.0;

/// An encrypted value, or in a dry run what is known about it without encrypting.
#[derive(Clone, Debug)]
pub struct Value {
    ct: Option<Ciphertext>,
    level: usize,
    factor: u64,
    residual: Residual,
}

impl Value {
    /// An encrypted value with its predicted noise.
    pub fn encrypted(ct: Ciphertext, noise: Noise) -> Self {
        Self {
            level: ct.level(),
            factor: ct.factor(),
            ct: Some(ct),
            residual: Residual::even(noise),
        }
    }

    /// What is known of a value of factor 1 at `level`.
    pub fn dry(level: usize, noise: Noise) -> Self {
        Self {
            ct: None,
            level,
            factor: 1,
            residual: Residual::even(noise),
        }
    }

    /// This value with the factor 1, in a dry run.
    pub(crate) fn of_factor_1(self) -> Self {
        Self { factor: 1, ..self }
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

    /// Predicted noise, over all coefficients.
    pub fn noise(&self) -> Noise {
        self.residual.mean
    }

    /// Predicted noise of the largest coefficients, where sums of copies have gathered it.
    pub fn peak(&self) -> Noise {
        self.residual.peak
    }

    pub(crate) fn residual(&self) -> Residual {
        self.residual
    }
}

/// A sum of products that is not yet relinearised.
#[derive(Clone, Debug)]
pub struct Product {
    pub(crate) ct: Option<Ciphertext>,
    pub(crate) level: usize,
    pub(crate) factor: u64,
    pub(crate) residual: Residual,
    /// Whether a factor carries so much of earlier products that this one must come down to a rounding.
    pub(crate) hot: bool,
}

/// Runs circuits: on ciphertexts if it has keys, dry if not.
pub struct Engine<'k> {
    eval: Evaluator,
    model: Model,
    keys: Option<&'k EvaluationKeys>,
    slack_bits: f64,
    log: Mutex<Log>,
}

/// What an engine has noted of the operations run so far.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) counts: Counts,
    pub(crate) needs: Needs,
    /// log2 of the probability that a decision went wrong since it was last asked for.
    failure: f64,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            counts: Counts::default(),
            needs: Needs::default(),
            failure: f64::NEG_INFINITY,
        }
    }
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
            slack_bits: SLACK_BITS,
            log: Mutex::default(),
        }
    }

    /// This engine with another slack: noise up to `bits` bits above a rounding's is carried on.
    #[must_use]
    pub fn with_slack(self, bits: f64) -> Self {
        Self {
            slack_bits: bits,
            ..self
        }
    }

    /// A dry engine of the same parameters and slack.
    pub(crate) fn to_dry(&self) -> Engine<'static> {
        Engine::dry(self.params()).with_slack(self.slack_bits)
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
        self.log().counts
    }

    /// Keys used so far, with the highest level of each.
    pub fn needs(&self) -> Needs {
        self.log().needs.clone()
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// log2 of a bound on the probability that one of the operations since the last call left a wrong
    /// value: the sum over all values made, and over what [`note_failure`](Self::note_failure) was told.
    pub fn take_failure(&self) -> f64 {
        std::mem::replace(&mut self.log().failure, f64::NEG_INFINITY)
    }

    /// Adds the probability `2^log2` of a wrong value.
    pub fn note_failure(&self, log2: f64) {
        let failure = &mut self.log().failure;
        *failure = log2_sum(*failure, log2);
    }

    /// A value made by an operation, with the probability that its residual has reached half of the
    /// modulus somewhere: of that many coefficients, each is a Gaussian of at most the peak's deviation.
    fn made(&self, value: Value) -> Value {
        self.note_residual(value.level, value.residual);
        value
    }

    fn note_residual(&self, level: usize, residual: Residual) {
        let rlwe = self.params().rlwe();
        let deviations = (rlwe.log_q(level) - 1.0 - residual.peak.bits()).exp2();
        self.note_failure((rlwe.n() as f64).log2() + log2_two_sided_tail(deviations));
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
        let floor = self.model.rounding().bits() + self.slack_bits;
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

    /// As [`settling_drop`](Self::settling_drop), of a product. One of hot factors drops more, until it is
    /// not hot itself: then nothing of earlier products grows from product to product.
    fn cooling_drop(
        &self,
        circuit: &'static str,
        hot: bool,
        level: usize,
        residual: Residual,
    ) -> Result<usize> {
        let mut dropped = self.settling_drop(circuit, level, residual.mean)?;
        while hot && self.is_hot(self.after_drop(residual, level, dropped)) {
            if dropped == level {
                return Err(Error::OutOfLevels { circuit, need: 1 });
            }
            dropped += 1;
        }
        Ok(dropped)
    }

    /// Whether a value carries so much of earlier products that another one must not carry it on.
    pub(crate) fn is_hot(&self, residual: Residual) -> bool {
        residual.log2_escape(self.params().n()) > HOT
    }

    fn after_drop(&self, residual: Residual, level: usize, dropped: usize) -> Residual {
        if dropped == 0 {
            return residual;
        }
        let bits = (level + 1 - dropped..=level).map(|i| self.bits_of(i)).sum();
        residual.switched(&self.model, bits)
    }

    /// `sum_k a_k b_k`, not relinearised. Operands may be at different levels.
    ///
    /// # Errors
    /// From the scheme, if factors do not fit.
    pub fn tensor_sum(&self, a: &[&Value], b: &[&Value]) -> Result<Product> {
        let level = a.iter().chain(b).map(|v| v.level).min().unwrap_or(0);
        let residual = a.iter().zip(b).fold(Residual::ZERO, |sum, (x, y)| {
            let factors = match std::ptr::eq(*x, *y) {
                true => Factors::Same,
                false => Factors::Alike,
            };
            let (x, y) = (x.residual, y.residual);
            sum.plus(Residual::tensor(&self.model, x, y, factors))
        });
        let hot = a.iter().chain(b).any(|v| self.is_hot(v.residual));
        self.log().counts.tensors(level + 1, a.len());
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
            residual,
            hot,
        })
    }

    /// Relinearises, and switches down until the noise is about that of one rounding.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`], and a missing key.
    pub fn relinearize(&self, circuit: &'static str, product: &Product) -> Result<Value> {
        let level = product.level;
        let switched = Residual::even(self.model.key_switch(level));
        let residual = product.residual.plus(switched);
        self.note_residual(level, residual);
        let dropped = self.cooling_drop(circuit, product.hot, level, residual)?;
        let residual = match dropped {
            0 => residual.plus(Residual::even(self.model.rounding())),
            _ => self.after_drop(residual, level, dropped),
        };
        if !self.is_hot(residual) {
            self.note_failure(residual.log2_escape(self.params().n()));
        }
        {
            let Log { counts, needs, .. } = &mut *self.log();
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
        Ok(self.made(Value {
            ct,
            level: level - dropped,
            factor: product.factor,
            residual,
        }))
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

    /// `sum_k p_k v_k` with plaintexts whose coefficients have the given squares, at the lowest
    /// level of the values, not switched down. The result carries the factor `factor`.
    ///
    /// `plaintext(k, unit)` gives plaintext `k` multiplied by `unit`, which is how values of
    /// different factors are brought to one.
    ///
    /// # Errors
    /// From the scheme.
    pub fn mul_plain_sum(
        &self,
        values: &[&Value],
        squares: Squares,
        factor: u64,
        plaintext: impl Fn(usize, u64) -> Plaintext + Sync,
    ) -> Result<Value> {
        let level = values.iter().map(|v| v.level).min().unwrap_or(0);
        self.mul_plain_sum_at(level, values, squares, factor, plaintext)
    }

    /// As [`Engine::mul_plain_sum`], at a level no higher than any of the values'.
    ///
    /// # Errors
    /// As [`Engine::mul_plain_sum`].
    pub fn mul_plain_sum_at(
        &self,
        level: usize,
        values: &[&Value],
        squares: Squares,
        factor: u64,
        plaintext: impl Fn(usize, u64) -> Plaintext + Sync,
    ) -> Result<Value> {
        let residual = values.iter().fold(Residual::ZERO, |sum, v| {
            sum.plus(v.residual.mul_plain(&self.model, squares))
        });
        let sum = self.made(Value {
            ct: None,
            level,
            factor,
            residual,
        });
        self.log().counts.plaintexts(level + 1, values.len());
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
        a.residual = a.residual.plus(b.residual);
        self.add_ciphertexts(a, b)
    }

    /// `a` plus its automorphism of a Galois element: noise gathers where both are largest.
    ///
    /// # Errors
    /// As [`Engine::automorphism`].
    pub fn add_automorphism(&self, a: &mut Value, element: usize) -> Result<()> {
        let rotated = self.automorphism(a, element)?;
        let added = self.switching_noise(a.level);
        a.residual = a.residual.plus_alike().plus(Residual::even(added));
        self.add_ciphertexts(a, &rotated)
    }

    fn add_ciphertexts(&self, a: &mut Value, b: &Value) -> Result<()> {
        self.note_residual(a.level, a.residual);
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
        a.residual = a.residual.plus(b.residual);
        self.note_residual(a.level, a.residual);
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
        self.count_automorphisms(element, a.level, 1);
        let residual = self.rotated(a);
        let ct = match (&a.ct, self.keys) {
            (Some(ct), Some(keys)) => Some(self.eval.automorphism(ct, element, keys.galois())?),
            _ => None,
        };
        Ok(self.made(Value { ct, residual, ..*a }))
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
                self.count_automorphisms(element, a.level, 1);
                let ct =
                    match (&a.ct, &shared, self.keys) {
                        (Some(ct), Some(shared), Some(keys)) => Some(
                            self.eval
                                .automorphism_hoisted(ct, shared, element, keys.galois())?,
                        ),
                        _ => None,
                    };
                let residual = self.rotated(a);
                Ok(self.made(Value { ct, residual, ..*a }))
            })
            .collect()
    }

    /// Counts a switch of a value at `level` to LWE samples, by `digits` digits.
    pub fn count_samples(&self, level: usize, digits: usize) {
        let counts = &mut self.log().counts;
        // The way down to one limb, that limb's digits, and back to coefficients.
        counts.transforms += 2 * level + 5 + digits;
        counts.limb_products += 2 * digits;
    }

    /// Counts a sum with a plaintext at `level`.
    pub fn count_sum(&self, level: usize) {
        self.log().counts.transforms += level + 2;
    }

    /// Counts `count` automorphisms of one Galois element, whose key is needed in any case.
    pub(crate) fn count_automorphisms(&self, element: usize, level: usize, count: usize) {
        let Log { counts, needs, .. } = &mut *self.log();
        counts.rotations += count;
        let (digits, special) = self.digits(level);
        for _ in 0..count {
            counts.key_switch(level + 1, digits, special, 0);
        }
        needs.galois(element, level);
    }

    fn rotated(&self, a: &Value) -> Residual {
        a.residual
            .plus(Residual::even(self.switching_noise(a.level)))
    }

    /// What an automorphism adds.
    fn switching_noise(&self, level: usize) -> Noise {
        self.model.key_switch(level).plus(self.model.rounding())
    }

    /// Switches down until the noise is about that of one rounding.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`].
    pub fn settle(&self, circuit: &'static str, a: Value) -> Result<Value> {
        let dropped = self.settling_drop(circuit, a.level, a.residual.mean)?;
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
        let residual = self.after_drop(a.residual, a.level, dropped);
        let ct = match a.ct {
            Some(mut ct) => {
                self.eval.switch_to(&mut ct, level)?;
                Some(ct)
            }
            None => None,
        };
        Ok(self.made(Value {
            ct,
            level,
            factor: a.factor,
            residual,
        }))
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
        Ok(self.made(a))
    }

    /// Bits by which six deviations of the largest coefficients' predicted noise are below what
    /// decryption bears.
    pub fn margin_bits(&self, a: &Value) -> f64 {
        self.params().rlwe().log_q(a.level) - 1.0 - a.residual.peak.bits() - 6.0f64.log2()
    }
}

/// log2 of the sum of the probabilities that steps are wrong, from those of each: as low as -9999, for a number to
/// print.
pub fn total_failure(steps: &[f64]) -> f64 {
    let total = steps.iter().copied().fold(f64::NEG_INFINITY, log2_sum);
    total.max(LEAST_LOG2_FAILURE)
}

/// The ciphertexts of values; `None` in a dry run.
fn ciphertexts<'a>(values: &[&'a Value]) -> Option<Vec<&'a Ciphertext>> {
    values.iter().map(|v| v.ct.as_ref()).collect()
}
