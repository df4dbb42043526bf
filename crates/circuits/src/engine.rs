//! Values, and the engine that runs circuits on them.

use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::operations::{Combination, Dry, Operations, Packing, Plain, Run, Words};
use crate::passes::{self, Encoding, Sizes};
use crate::residual::{Residual, Squares};
use bfv::noise::{Factors, Model, Noise};
use bfv::{Ciphertext, Params};
use exchange::{EvaluationKeys, LoopParams, Needs, SLACK_BITS};
use program::trace::Passes;
use rlwe::noise::{log2_sum, log2_two_sided_tail};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// log2 of the probability above which powers of a value may leave rounding size, if they are only divided by what its own
/// noise asks for.
const HOT: f64 = -52.0;

/// Limbs beyond those that a product's noise asks for on average, by which the product of a hot value is brought down.
const COOLING_LIMBS: f64 = 1.0;

/// Bits above a rounding's noise up to which a hot value is multiplied before it has come down: what is
/// carried then is less than the rounding, whatever it has in common with the other factor.
const CARRIED_BITS: f64 = 0.25;

/// log2 of the least probability that is told: what is less is said to be this.
pub const LEAST_LOG2_FAILURE: f64 = -9999.0;

/// A value of a circuit: a ciphertext in the form of a mode of [`Operations`], with what is known of it in all modes.
#[derive(Clone, Debug)]
pub struct Value<C> {
    ct: C,
    level: usize,
    factor: u64,
    residual: Residual,
}

/// A value of a run on ciphertexts.
pub type EncryptedValue = Value<Ciphertext>;

/// A value of the mode `O`.
pub type ValueOf<O> = Value<<O as Operations>::Ciphertext>;

/// A value of a dry run: what is known without encrypting.
pub type DryValue = Value<()>;

impl EncryptedValue {
    /// An encrypted value with its predicted noise.
    pub fn encrypted(ct: Ciphertext, noise: Noise) -> Self {
        let (level, factor) = (ct.level(), ct.factor());
        Self::new(ct, level, factor, noise)
    }
}

impl DryValue {
    /// What is known of a value of factor 1 at `level`.
    pub fn dry(level: usize, noise: Noise) -> Self {
        Self::new((), level, 1, noise)
    }
}

impl<C> Value<C> {
    /// A ciphertext with its level, factor and predicted noise.
    pub fn new(ct: C, level: usize, factor: u64, noise: Noise) -> Self {
        let residual = Residual::even(noise);
        Self {
            ct,
            level,
            factor,
            residual,
        }
    }

    /// This value without its ciphertext.
    #[must_use]
    pub fn to_dry(&self) -> DryValue {
        let Self {
            level,
            factor,
            residual,
            ..
        } = *self;
        Value {
            ct: (),
            level,
            factor,
            residual,
        }
    }

    /// This value with another factor: what is known of it, not its ciphertext.
    pub(crate) fn of_factor(self, factor: u64) -> Self {
        Self { factor, ..self }
    }

    /// Factor of the message, as in [`bfv::Ciphertext::factor`].
    pub fn factor(&self) -> u64 {
        self.factor
    }

    /// The ciphertext.
    pub fn ciphertext(&self) -> &C {
        &self.ct
    }

    /// The ciphertext itself.
    pub fn into_ciphertext(self) -> C {
        self.ct
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

/// What a dry run knows of the plaintexts of a sum of products.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Squares of their coefficients.
    pub squares: Squares,
    /// What they are encoded from.
    pub encoding: Encoding,
}

/// Of plaintexts that are given by their coefficients.
impl From<Squares> for Known {
    fn from(squares: Squares) -> Self {
        Self {
            squares,
            encoding: Encoding::Coefficients,
        }
    }
}

/// A sum of products that is not yet relinearised.
#[derive(Clone, Debug)]
pub struct Product<C> {
    pub(crate) ct: C,
    pub(crate) level: usize,
    pub(crate) factor: u64,
    pub(crate) residual: Residual,
    /// Whether a factor carries so much of earlier products that this one must come down to a rounding.
    pub(crate) hot: bool,
    /// Whether it is a factor of one more product only, whose other factor is not hot.
    pub(crate) last: bool,
}

impl<C> Product<C> {
    /// This product, as a factor of one more product at most, whose other factor is not hot.
    #[must_use]
    pub fn last(self) -> Self {
        Self { last: true, ..self }
    }
}

/// Runs circuits in a mode, and keeps what all modes have: levels, factors, noise, counts, keys.
pub struct Engine<O> {
    operations: O,
    params: Params,
    model: Model,
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

impl<'k> Engine<Run<'k>> {
    /// An engine on ciphertexts.
    pub fn new(params: &Params, keys: &'k EvaluationKeys) -> Self {
        Self::of(params, Run::new(params, keys))
    }
}

impl Engine<Dry> {
    /// An engine that only predicts levels, noise, counts and the keys that will be needed.
    pub fn dry(params: &Params) -> Self {
        Self::of(params, Dry)
    }
}

impl<O: Operations> Engine<O> {
    /// An engine in the mode of `operations`.
    pub fn of(params: &Params, operations: O) -> Self {
        Self {
            operations,
            params: params.clone(),
            model: Model::new(params),
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
    pub(crate) fn to_dry(&self) -> Engine<Dry> {
        Engine::dry(&self.params).with_slack(self.slack_bits)
    }

    /// Parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The operations of its mode.
    pub fn operations(&self) -> &O {
        &self.operations
    }

    /// Noise formulas.
    pub fn model(&self) -> &Model {
        &self.model
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
    /// modulus somewhere: of that many coefficients, each is a Gaussian of at most the peak's deviation, but for
    /// single points at which products are much larger than on average.
    fn made(&self, value: ValueOf<O>) -> ValueOf<O> {
        self.note_residual(value.level, value.residual);
        value
    }

    fn note_residual(&self, level: usize, residual: Residual) {
        let rlwe = self.params().rlwe();
        let deviations = (rlwe.log_q(level) - 1.0 - residual.peak.bits()).exp2();
        self.note_failure((rlwe.n() as f64).log2() + log2_two_sided_tail(deviations));
        self.note_failure(residual.log2_beyond(&self.model, rlwe.n(), rlwe.log_q(level)));
    }

    fn sizes(&self, level: usize) -> Sizes {
        Sizes::new(self.params().rlwe(), level)
    }

    fn count(&self, passes: Passes) {
        self.log().counts.passes += passes;
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

    /// As [`settling_drop`](Self::settling_drop), of a product. One of hot factors drops more, until nothing of
    /// earlier products grows from product to product: until it is not hot itself, or the next product can still
    /// come down.
    fn cooling_drop(
        &self,
        circuit: &'static str,
        product: &Product<O::Ciphertext>,
        residual: Residual,
    ) -> Result<usize> {
        let level = product.level;
        let mut dropped = self.settling_drop(circuit, level, residual.mean)?;
        let enough = |dropped: usize| {
            let left = self.after_drop(residual, level, dropped);
            let next = match product.last {
                true => Residual::even(self.model.rounding()),
                false => left,
            };
            !self.is_hot(left) || self.can_cool(level - dropped, left, next)
        };
        while product.hot && !enough(dropped) {
            if dropped == level {
                return Err(Error::OutOfLevels { circuit, need: 1 });
            }
            dropped += 1;
        }
        Ok(dropped)
    }

    /// Whether a value's product with one of the residual `next` is not hot when it drops [`COOLING_LIMBS`] limbs more
    /// than its noise asks for on average.
    fn can_cool(&self, level: usize, residual: Residual, next: Residual) -> bool {
        let above = residual.mean.bits() - self.model.rounding().bits();
        if level == 0 || above > CARRIED_BITS {
            return false;
        }
        let product = Residual::tensor(&self.model, residual, next, Factors::Same);
        let limb = self.bits_of(level);
        let above = product.mean.bits() - self.model.rounding().bits() - self.slack_bits;
        let limbs = (above / limb).ceil().max(0.0) + COOLING_LIMBS;
        !self.is_hot(product.switched(&self.model, limbs * limb))
    }

    /// Whether a value carries so much of earlier products that another one must not carry it on.
    pub(crate) fn is_hot(&self, residual: Residual) -> bool {
        residual.log2_escape(&self.model, self.params().n()) > HOT
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
    pub fn tensor_sum(
        &self,
        a: &[&ValueOf<O>],
        b: &[&ValueOf<O>],
    ) -> Result<Product<O::Ciphertext>> {
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
        {
            let counts = &mut self.log().counts;
            counts.products += a.len();
            counts.passes += passes::tensors(level + 1, a.len());
        }
        let ct = self
            .operations
            .tensor_sum(&ciphertexts(a), &ciphertexts(b))?;
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
            last: false,
        })
    }

    /// Relinearises, and switches down until the noise is about that of one rounding.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`], and a missing key.
    pub fn relinearize(
        &self,
        circuit: &'static str,
        product: &Product<O::Ciphertext>,
    ) -> Result<ValueOf<O>> {
        let level = product.level;
        let switched = Residual::even(self.model.key_switch(level));
        let residual = product.residual.plus(switched);
        self.note_residual(level, residual);
        let dropped = self.cooling_drop(circuit, product, residual)?;
        let residual = match dropped {
            0 => residual.plus(Residual::even(self.model.rounding())),
            _ => self.after_drop(residual, level, dropped),
        };
        if !self.is_hot(residual) {
            self.note_failure(residual.log2_escape(&self.model, self.params().n()));
        }
        {
            let Log { counts, needs, .. } = &mut *self.log();
            counts.relinearizations += 1;
            counts.passes += self.sizes(level).relinearize(dropped);
            needs.relinearize(level);
        }
        let ct = self.operations.relinearize(&product.ct, dropped)?;
        Ok(self.made(Value {
            ct,
            level: level - dropped,
            factor: product.factor,
            residual,
        }))
    }

    /// For each factor, `sum_j (sum_i m_gji low_i) middle_j`, not relinearised, with the given residual.
    pub(crate) fn combine(
        &self,
        (level, factors): (usize, &[u64]),
        combination: &Combination<'_>,
        (low, middle): (&[&ValueOf<O>], &[&ValueOf<O>]),
        residual: Residual,
    ) -> Result<Vec<Product<O::Ciphertext>>> {
        let hot = low.iter().chain(middle).any(|v| self.is_hot(v.residual));
        {
            let counts = &mut self.log().counts;
            let (limbs, groups) = (level + 1, factors.len());
            counts.products += middle.len() * groups;
            let one = passes::tensors(limbs, middle.len())
                + passes::combinations(limbs, middle.len(), low.len());
            counts.passes += one.times(groups);
        }
        let (low, middle) = (ciphertexts(low), ciphertexts(middle));
        let at = (level, factors);
        let products = self.operations.combine(at, combination, &low, &middle)?;
        let products = products.into_iter().zip(factors);
        Ok(products
            .map(|(ct, &factor)| Product {
                ct,
                level,
                factor,
                residual,
                hot,
                last: false,
            })
            .collect())
    }

    /// Factor of a value when dropped to `level`.
    pub(crate) fn factor_at<C>(&self, a: &Value<C>, level: usize) -> u64 {
        factor_at(&self.params, (a.level, a.factor), level)
    }

    /// Factor of the product of residuals of two values at `level`.
    fn product_factor<C>(&self, a: &Value<C>, b: &Value<C>, level: usize) -> u64 {
        let [a, b] = [a, b].map(|v| self.factor_at(v, level));
        product_factor(&self.params, level, a, b)
    }

    /// `a b`, relinearised and switched down.
    ///
    /// # Errors
    /// As [`Engine::relinearize`].
    pub fn mul(&self, circuit: &'static str, a: &ValueOf<O>, b: &ValueOf<O>) -> Result<ValueOf<O>> {
        self.relinearize(circuit, &self.tensor_sum(&[a], &[b])?)
    }

    /// As [`Engine::mul`], of a value that is a factor of one more product at most, whose other factor is not hot.
    ///
    /// # Errors
    /// As [`Engine::relinearize`].
    pub fn mul_last(
        &self,
        circuit: &'static str,
        a: &ValueOf<O>,
        b: &ValueOf<O>,
    ) -> Result<ValueOf<O>> {
        self.relinearize(circuit, &self.tensor_sum(&[a], &[b])?.last())
    }

    /// `sum_k p_k v_k` with plaintexts of which a dry run knows that much, at the lowest
    /// level of the values, not switched down. The result carries the factor `factor`: each plaintext is multiplied by
    /// what takes the factor of its value there.
    ///
    /// # Errors
    /// From the scheme.
    pub fn mul_plain_sum(
        &self,
        values: &[&ValueOf<O>],
        known: impl Into<Known>,
        factor: u64,
        plaintext: impl Fn(usize) -> Plain + Sync,
    ) -> Result<ValueOf<O>> {
        let level = values.iter().map(|v| v.level).min().unwrap_or(0);
        self.mul_plain_sum_at(level, values, known, factor, plaintext)
    }

    /// As [`Engine::mul_plain_sum`], at a level no higher than any of the values'.
    ///
    /// # Errors
    /// As [`Engine::mul_plain_sum`].
    pub fn mul_plain_sum_at(
        &self,
        level: usize,
        values: &[&ValueOf<O>],
        known: impl Into<Known>,
        factor: u64,
        plaintext: impl Fn(usize) -> Plain + Sync,
    ) -> Result<ValueOf<O>> {
        let Known { squares, encoding } = known.into();
        let residual = values.iter().fold(Residual::ZERO, |sum, v| {
            sum.plus_apart(v.residual.mul_plain(&self.model, squares))
        });
        self.note_residual(level, residual);
        self.count_plaintexts(level, values.len(), encoding);
        let (at, cts) = ((level, factor), ciphertexts(values));
        let ct = self.operations.mul_plain_sum(at, &cts, plaintext)?;
        Ok(Value {
            ct,
            level,
            factor,
            residual,
        })
    }

    /// One giant step of a packing at `level`, with the given noise.
    pub(crate) fn mul_masks(
        &self,
        level: usize,
        packing: &Packing<'_, O::Samples>,
        giant: usize,
        noise: Noise,
    ) -> Result<ValueOf<O>> {
        let count = packing.baby_steps;
        self.count_plaintexts(level, count, Encoding::Slots);
        let ct = self.operations.mul_masks(level, packing, giant)?;
        Ok(Value::new(ct, level, 1, noise))
    }

    /// Adds the bodies of a packing's samples.
    pub(crate) fn add_bodies(
        &self,
        a: &mut ValueOf<O>,
        packing: &Packing<'_, O::Samples>,
    ) -> Result<()> {
        self.count(passes::term(a.level + 1, Encoding::Slots));
        self.operations.add_bodies(&mut a.ct, packing)
    }

    /// The constant 1 in every slot, encrypted by nobody: for sums of products.
    pub fn one(&self, level: usize) -> ValueOf<O> {
        let noise = Noise::free((self.params.t().value() as f64 / 2.0).powi(2));
        let one = || Plain::Coefficients(Words::Sparse(vec![(0, 1)]));
        self.count(passes::term(level + 1, Encoding::Coefficients));
        Value::new(self.operations.trivial(level, one), level, 1, noise)
    }

    /// `a += b`, at one level.
    ///
    /// # Errors
    /// If levels or factors differ.
    pub fn add_assign(&self, a: &mut ValueOf<O>, b: &ValueOf<O>) -> Result<()> {
        check_alike(a, b)?;
        a.residual = a.residual.plus(b.residual);
        self.note_residual(a.level, a.residual);
        self.count(passes::sum(a.level + 1));
        self.operations.add_assign(&mut a.ct, &b.ct)
    }

    /// As [`Engine::add_assign`], of sums of products with plaintexts that nothing relates.
    ///
    /// # Errors
    /// As [`Engine::add_assign`].
    pub fn add_apart_assign(&self, a: &mut ValueOf<O>, b: &ValueOf<O>) -> Result<()> {
        check_alike(a, b)?;
        a.residual = a.residual.plus_apart(b.residual);
        self.note_residual(a.level, a.residual);
        self.operations.add_assign(&mut a.ct, &b.ct)
    }

    /// `a` plus its automorphism of a Galois element: noise gathers where both are largest.
    ///
    /// # Errors
    /// As [`Engine::automorphism`].
    pub fn add_automorphism(&self, a: &mut ValueOf<O>, element: usize) -> Result<()> {
        let rotated = self.automorphism(a, element)?;
        let added = self.switching_noise(a.level);
        a.residual = a.residual.plus_alike().plus(Residual::even(added));
        self.note_residual(a.level, a.residual);
        self.count(passes::sum(a.level + 1));
        self.operations.add_assign(&mut a.ct, &rotated.ct)
    }

    /// `a -= b`, at one level.
    ///
    /// # Errors
    /// As [`Engine::add_assign`].
    pub fn sub_assign(&self, a: &mut ValueOf<O>, b: &ValueOf<O>) -> Result<()> {
        check_alike(a, b)?;
        a.residual = a.residual.plus(b.residual);
        self.note_residual(a.level, a.residual);
        self.count(passes::sum(a.level + 1));
        self.operations.sub_assign(&mut a.ct, &b.ct)
    }

    /// `a += m`, a plaintext of that encoding.
    pub fn add_plain_assign(
        &self,
        a: &mut ValueOf<O>,
        encoding: Encoding,
        plaintext: impl FnOnce() -> Plain,
    ) {
        self.count(passes::term(a.level + 1, encoding));
        self.operations.add_plain_assign(&mut a.ct, plaintext);
    }

    /// The automorphism of a Galois element.
    ///
    /// # Errors
    /// If the key is missing.
    pub fn automorphism(&self, a: &ValueOf<O>, element: usize) -> Result<ValueOf<O>> {
        self.count_rotations(element, a.level, 1);
        let ct = self.operations.automorphism(&a.ct, element)?;
        Ok(self.rotated(a, ct))
    }

    /// The automorphisms of several Galois elements, with one decomposition.
    ///
    /// # Errors
    /// If a key is missing.
    pub fn automorphisms(&self, a: &ValueOf<O>, elements: &[usize]) -> Result<Vec<ValueOf<O>>> {
        let rotated = self.operations.automorphisms(&a.ct, elements)?;
        if elements.iter().any(|&element| element != 1) {
            self.count(self.sizes(a.level).decompose());
        }
        let rotated = elements.iter().zip(rotated).map(|(&element, ct)| {
            if element == 1 {
                return a.clone();
            }
            self.count_automorphisms(element, a.level, 1);
            self.rotated(a, ct)
        });
        Ok(rotated.collect())
    }

    /// The LWE samples of a value: switched to level 0, to the LWE secret, and rounded to `t`.
    ///
    /// # Errors
    /// If the key is missing.
    pub fn to_samples(&self, params: &LoopParams, a: &ValueOf<O>) -> Result<O::Samples> {
        self.count(passes::switch(a.level, 0) + passes::samples(params.small().digits()));
        let low = self.operations.switch_to(a.ct.clone(), 0)?;
        self.operations.to_samples(&low)
    }

    fn count_plaintexts(&self, level: usize, count: usize, encoding: Encoding) {
        let counts = &mut self.log().counts;
        counts.plaintext_products += count;
        counts.passes += passes::plaintexts(level + 1, count, encoding);
    }

    /// Counts `count` rotations, each with a decomposition, by one Galois element, whose key is needed in any case.
    pub(crate) fn count_rotations(&self, element: usize, level: usize, count: usize) {
        self.count(self.sizes(level).decompose().times(count));
        self.count_automorphisms(element, level, count);
    }

    /// As [`count_rotations`](Self::count_rotations), of values that are decomposed.
    fn count_automorphisms(&self, element: usize, level: usize, count: usize) {
        let Log { counts, needs, .. } = &mut *self.log();
        counts.rotations += count;
        counts.passes += self.sizes(level).automorphism().times(count);
        needs.galois(element, level);
    }

    fn rotated(&self, a: &ValueOf<O>, ct: O::Ciphertext) -> ValueOf<O> {
        let added = Residual::even(self.switching_noise(a.level));
        self.made(Value {
            ct,
            residual: a.residual.plus(added),
            ..*a
        })
    }

    /// What an automorphism adds.
    fn switching_noise(&self, level: usize) -> Noise {
        self.model.key_switch(level).plus(self.model.rounding())
    }

    /// Switches down until the noise is about that of one rounding.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`].
    pub fn settle(&self, circuit: &'static str, a: ValueOf<O>) -> Result<ValueOf<O>> {
        let dropped = self.settling_drop(circuit, a.level, a.residual.mean)?;
        let level = a.level - dropped;
        self.switch_to(a, level)
    }

    /// Readies a value for a product at `level` with a plaintext whose coefficients have the given squares: where the
    /// product would not bear what earlier products left at single points, limbs are divided away.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`].
    pub fn cool_for_product(
        &self,
        circuit: &'static str,
        a: ValueOf<O>,
        level: usize,
        squares: Squares,
    ) -> Result<ValueOf<O>> {
        let rlwe = self.params().rlwe();
        let beyond = |a: Residual| {
            let product = a.mul_plain(&self.model, squares);
            product.log2_beyond(&self.model, rlwe.n(), rlwe.log_q(level)) > HOT
        };
        let mut dropped = 0;
        while beyond(self.after_drop(a.residual, a.level, dropped)) {
            if dropped == a.level.saturating_sub(level) {
                return Err(Error::OutOfLevels { circuit, need: 1 });
            }
            dropped += 1;
        }
        let cool = a.level - dropped;
        self.switch_to(a, cool)
    }

    /// Modulus switch to `level`.
    ///
    /// # Errors
    /// If the value's level is lower.
    pub fn switch_to(&self, a: ValueOf<O>, level: usize) -> Result<ValueOf<O>> {
        let dropped = a.level.checked_sub(level).ok_or(rlwe::Error::LevelTooLow {
            need: level,
            have: a.level,
        })?;
        let residual = self.after_drop(a.residual, a.level, dropped);
        self.count(passes::switch(a.level, level));
        Ok(self.made(Value {
            ct: self.operations.switch_to(a.ct, level)?,
            level,
            factor: a.factor,
            residual,
        }))
    }

    /// Level drop to `level`: the noise stays, the modulus shrinks.
    ///
    /// # Errors
    /// If the value's level is lower.
    pub fn drop_to(&self, a: ValueOf<O>, level: usize) -> Result<ValueOf<O>> {
        if level > a.level {
            return Err(rlwe::Error::LevelTooLow {
                need: level,
                have: a.level,
            }
            .into());
        }
        let factor = self.factor_at(&a, level);
        Ok(self.made(Value {
            ct: self.operations.drop_to(a.ct, level)?,
            level,
            factor,
            residual: a.residual,
        }))
    }

    /// Returns true if a value is still right when what stands at single points grows by `bits` bits.
    pub fn bears_points<C>(&self, a: &Value<C>, bits: f64) -> bool {
        let rlwe = self.params().rlwe();
        let log_q = rlwe.log_q(a.level) - bits;
        a.residual.log2_beyond(&self.model, rlwe.n(), log_q) <= HOT
    }

    /// Bits by which six deviations of the largest coefficients' predicted noise are below what
    /// decryption bears.
    pub fn margin_bits<C>(&self, a: &Value<C>) -> f64 {
        self.params().rlwe().log_q(a.level) - 1.0 - a.residual.peak.bits() - 6.0f64.log2()
    }
}

/// log2 of the sum of the probabilities that steps are wrong, from those of each: as low as -9999, for a number to
/// print.
pub fn total_failure(steps: &[f64]) -> f64 {
    let total = steps.iter().copied().fold(f64::NEG_INFINITY, log2_sum);
    total.max(LEAST_LOG2_FAILURE)
}

/// Factor of a value of the given level and factor when dropped to `level`: the dropped moduli go into it.
pub(crate) fn factor_at(params: &Params, (from, factor): (usize, u64), level: usize) -> u64 {
    let (t, basis) = (params.t(), params.rlwe().basis(from));
    let dropped = level + 1..=from;
    dropped.fold(factor, |mu, i| {
        t.mul(mu, t.reduce(basis.modulus(i).value()))
    })
}

/// Factor of the product of residuals at `level`, of two values that carry the given factors there.
pub(crate) fn product_factor(params: &Params, level: usize, a: u64, b: u64) -> u64 {
    let t = params.t();
    t.neg(t.mul(params.q_mod_t(level), t.mul(a, b)))
}

/// Operands of a sum have one level and one factor.
fn check_alike<C>(a: &Value<C>, b: &Value<C>) -> Result<()> {
    if a.level != b.level {
        let (left, right) = (a.level, b.level);
        return Err(rlwe::Error::LevelMismatch { left, right }.into());
    }
    if a.factor != b.factor {
        let (left, right) = (a.factor, b.factor);
        return Err(bfv::Error::FactorMismatch { left, right }.into());
    }
    Ok(())
}

fn ciphertexts<'a, C>(values: &[&'a Value<C>]) -> Vec<&'a C> {
    values.iter().map(|v| &v.ct).collect()
}
