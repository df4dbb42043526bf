//! The mode that computes with ciphertexts.

use super::masks::Masks;
use super::{Combination, Operations, Packing, Plain, Words};
use crate::error::{Error, Result};
use crate::pack::secret_of;
use crate::transform::blocks;
use bfv::{Ciphertext, Evaluator, Params};
use exchange::{EvaluationKeys, packing};
use ring::par_map;
use rlwe::SwitchKey;
use rlwe::lwe::LweBatch;
use std::sync::LazyLock;

/// The mode that computes with ciphertexts of BFV and with keys.
pub struct Run<'k> {
    eval: Evaluator,
    keys: &'k EvaluationKeys,
    /// The relinearization key, if it is not among the keys.
    relinearization: Option<&'k SwitchKey>,
    /// Whether the caller wants the computation to stop.
    stop: Option<Stop<'k>>,
}

/// A function that says whether a computation is to stop. It is asked before each product, sum of
/// products, relinearization and automorphism, from several threads.
pub type Stop<'k> = &'k (dyn Fn() -> bool + Sync);

/// No keys.
static NONE: LazyLock<EvaluationKeys> = LazyLock::new(EvaluationKeys::default);

impl<'k> Run<'k> {
    /// Makes operations with the given keys.
    pub fn new(params: &Params, keys: &'k EvaluationKeys) -> Self {
        Self {
            eval: Evaluator::new(params),
            keys,
            relinearization: None,
            stop: None,
        }
    }

    /// The same operations. They return [`Error::Stopped`] once `stop` returns true.
    #[must_use]
    pub fn stopped_by(self, stop: Stop<'k>) -> Self {
        Self {
            stop: Some(stop),
            ..self
        }
    }

    /// Returns an error if the caller wants to stop.
    fn go_on(&self) -> Result<()> {
        match self.stop {
            Some(stop) if stop() => Err(Error::Stopped),
            _ => Ok(()),
        }
    }

    /// Makes operations that have a relinearization key alone, as tables need it.
    pub fn with_relinearization(params: &Params, key: &'k SwitchKey) -> Self {
        Self {
            relinearization: Some(key),
            ..Self::new(params, &NONE)
        }
    }

    fn params(&self) -> &Params {
        self.eval.params()
    }

    /// For each row, `sum_k p_k cts_k` at `level`, with the factor `factor`.
    /// `plaintext((row, k), unit)` returns the centred coefficients of plaintext `k` of a row,
    /// multiplied by `unit`.
    fn dot(
        &self,
        (level, factor): (usize, u64),
        cts: &[&Ciphertext],
        rows: usize,
        plaintext: impl Fn((usize, usize), u64) -> Vec<i32> + Sync,
    ) -> Result<Vec<Ciphertext>> {
        self.go_on()?;
        let key = rlwe::Ciphertext::common_key(cts.iter().map(|ct| ct.rlwe()))?;
        let (t, basis) = (self.params().t(), self.params().rlwe().basis(level));
        let plains: Vec<Vec<i32>> = par_map(rows * cts.len(), |index| {
            let (row, k) = (index / cts.len(), index % cts.len());
            let own = self.eval.factor_at(cts[k], level);
            let unit = t.mul(factor, t.inv(own).expect("factors are units"));
            plaintext((row, k), unit)
        });
        let sums = ring::dot_pairs_signed(basis, (rows, &plains), |i| {
            [0, 1].map(|part| {
                let components = cts.iter().map(|ct| &ct.rlwe().components()[part]);
                components.map(|c| c.limb(i)).collect()
            })
        });
        let sum = |parts: [_; 2]| {
            let inner = rlwe::Ciphertext::new(parts.into()).of_key(key);
            Ciphertext::new(inner, factor)
        };
        Ok(sums.into_iter().map(sum).collect())
    }
}

impl Operations for Run<'_> {
    type Ciphertext = Ciphertext;
    type Samples = LweBatch;
    type Masks = Masks;

    const COMPUTES: bool = true;

    fn tensor_sum(&self, left: &[&Ciphertext], right: &[&Ciphertext]) -> Result<Ciphertext> {
        self.go_on()?;
        Ok(self.eval.tensor_sum(left, right)?)
    }

    fn combine(
        &self,
        (level, factors): (usize, &[u64]),
        combination: &Combination<'_>,
        low: &[&Ciphertext],
        middle: &[&Ciphertext],
    ) -> Result<Vec<Ciphertext>> {
        self.go_on()?;
        let Combination {
            coefficients,
            rows,
            columns,
        } = combination;
        let t = self.params().t();
        let mut matrix = Vec::with_capacity(rows.len() * columns.len());
        for (r, &row) in rows.iter().enumerate() {
            for (i, &column) in columns.iter().enumerate() {
                let coefficient = coefficients.get(r * columns.len() + i);
                matrix.push(t.mul(coefficient.copied().unwrap_or(0), t.mul(row, column)));
            }
        }
        let sums = self.eval.tensor_combinations(level, &matrix, low, middle)?;
        let products = sums.into_iter().zip(factors);
        Ok(products
            .map(|(ct, &factor)| Ciphertext::new(ct, factor))
            .collect())
    }

    fn relinearize(&self, product: &Ciphertext, dropped: usize) -> Result<Ciphertext> {
        self.go_on()?;
        let key = match self.relinearization {
            Some(key) => key,
            None => self.keys.relinearization()?,
        };
        Ok(self.eval.relinearize_and_switch(product, key, dropped)?)
    }

    fn mul_plain_sum(
        &self,
        (level, factor): (usize, u64),
        values: &[&Ciphertext],
        plaintext: impl Fn(usize) -> Plain + Sync,
    ) -> Result<Ciphertext> {
        let encoder = self.params().encoder();
        let mut sums = self.dot((level, factor), values, 1, |(_, k), unit| {
            encoder.centred(plaintext(k).encode(encoder, unit).coefficients())
        })?;
        Ok(sums.pop().expect("one row has one sum"))
    }

    fn masks(&self, packing: &Packing<'_, LweBatch>) -> Masks {
        Masks::new(packing, *self.params().t())
    }

    fn mul_masks(
        &self,
        level: usize,
        (packing, masks): (&Packing<'_, LweBatch>, &Masks),
        giants: &[usize],
    ) -> Result<Vec<Ciphertext>> {
        let key = self.keys.packing(packing.layout.values())?;
        let secret = secret_of(key, &self.eval, self.keys, packing.baby_steps)?;
        let secret: Vec<&Ciphertext> = secret.iter().collect();
        let encoder = self.params().encoder();
        let masks =
            |(row, step): (usize, usize), unit| masks.centred(encoder, giants[row], step, unit);
        self.dot((level, 1), &secret, giants.len(), masks)
    }

    fn add_bodies(&self, a: &mut Ciphertext, packing: &Packing<'_, LweBatch>) -> Result<()> {
        let (t, layout) = (self.params().t(), packing.layout);
        let slots: Vec<u64> = (0..layout.slots())
            .map(|slot| match packing.samples.get(layout.value_of(slot)) {
                Some(sum) => t.reduce(sum.iter().map(|s| s.batch.body(s.coefficient)).sum()),
                None => 0,
            })
            .collect();
        let bodies = self.params().encoder().slots_to_plaintext(&slots);
        Ok(self.eval.add_plain_assign(a, &bodies)?)
    }

    fn secret(&self) -> Result<Ciphertext> {
        let values = packing::ALL;
        let key = self.keys.packing(values)?.ciphertexts().first();
        Ok(key
            .ok_or(exchange::Error::MissingPackingKey { values })?
            .clone())
    }

    fn blocks(&self, samples: &LweBatch, component: usize) -> Plain {
        let (encoder, words) = (self.params().encoder(), samples.words()[component.min(1)]);
        let slots = blocks(encoder, samples.dimension(), words).into_iter();
        let narrow = |word| u32::try_from(word).expect("plaintext moduli are below 2^32");
        Plain::Slots(Words::All(slots.map(narrow).collect()))
    }

    fn trivial(&self, level: usize, plaintext: impl FnOnce() -> Plain) -> Ciphertext {
        let message = plaintext().encode(self.params().encoder(), 1);
        bfv::trivial(self.params(), &message, level)
    }

    fn add_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        Ok(self.eval.add_assign(a, b)?)
    }

    fn sub_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        Ok(self.eval.sub_assign(a, b)?)
    }

    fn add_plain_assign(&self, a: &mut Ciphertext, plaintext: impl FnOnce() -> Plain) {
        let plaintext = plaintext().encode(self.params().encoder(), 1);
        let added = self.eval.add_plain_assign(a, &plaintext);
        added.expect("operands are of the parameters");
    }

    fn automorphisms(&self, a: &Ciphertext, elements: &[usize]) -> Result<Vec<Ciphertext>> {
        let shared = self.eval.decompose(a)?;
        let galois = self.keys.galois();
        let rotated = elements.iter().map(|&element| {
            self.go_on()?;
            let rotated = self.eval.automorphism_hoisted(a, &shared, element, galois);
            Ok(rotated?)
        });
        rotated.collect()
    }

    fn automorphism(&self, a: &Ciphertext, element: usize) -> Result<Ciphertext> {
        self.go_on()?;
        Ok(self.eval.automorphism(a, element, self.keys.galois())?)
    }

    fn switch_to(&self, mut a: Ciphertext, level: usize) -> Result<Ciphertext> {
        self.eval.switch_to(&mut a, level)?;
        Ok(a)
    }

    fn switched_to(&self, a: &Ciphertext, level: usize) -> Result<Ciphertext> {
        Ok(self.eval.switched_to(a, level)?)
    }

    fn drop_to(&self, mut a: Ciphertext, level: usize) -> Result<Ciphertext> {
        self.eval.drop_to(&mut a, level)?;
        Ok(a)
    }

    fn reread(&self, a: Ciphertext, factor: u64) -> Ciphertext {
        Ciphertext::new(a.into_rlwe(), factor)
    }

    fn rounded(&self, a: &Ciphertext, component: usize, unit: u64) -> Result<Plain> {
        let (c0, c1) = a.rlwe().pair()?;
        let component = [c0, c1][component.min(1)];
        let (t, q) = (self.params().t(), component.basis().modulus(0).value());
        let round = |&c: &u64| {
            let scaled = u128::from(c) * u128::from(t.value()) + u128::from(q / 2);
            let rounded = t.mul(unit, t.reduce((scaled / u128::from(q)) as u64));
            u32::try_from(rounded).expect("plaintext moduli are below 2^32")
        };
        let coefficients = component.to_coeff();
        let words = coefficients.limb(0).iter().map(round);
        Ok(Plain::Coefficients(Words::All(words.collect())))
    }

    fn to_samples(&self, a: &Ciphertext) -> Result<LweBatch> {
        let t = self.params().t().value();
        Ok(LweBatch::switch(a.rlwe(), self.keys.switch()?, t)?)
    }
}
