//! Products: of values, with plaintexts, and their combinations.

use super::{Engine, Known, Log, Product, Value, ValueOf};
use crate::error::Result;
use crate::operations::{Combination, Operations, Packing, Plain};
use crate::passes::{self, Encoding};
use crate::residual::Residual;
use bfv::Params;
use bfv::noise::{Factors, Noise, SETTLED};

impl<O: Operations> Engine<O> {
    /// `sum_k a_k b_k`, not relinearised. Operands may be at different levels.
    ///
    /// # Errors
    /// Errors of the scheme, if factors do not fit.
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
    /// [`Error::OutOfLevels`](crate::Error::OutOfLevels), and an error for a missing key.
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
        let escape = residual.log2_escape(&self.model, self.params().n());
        if escape <= SETTLED {
            self.note_failure(escape);
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

    /// Returns `sum_j (sum_i m_gji low_i) middle_j` for each group `g`, not relinearised. The
    /// results have the given residual.
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

    /// Factor of a value after it is dropped to `level`.
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

    /// As [`Engine::mul`], for a product that is a factor of at most one more product, whose other
    /// factor is not hot.
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

    /// `sum_k p_k v_k` at the lowest level of the values, not switched down. `known` has the
    /// properties of the plaintexts that a dry run uses. The result has the factor `factor`: each
    /// plaintext is multiplied by the number that turns the factor of its value into `factor`.
    ///
    /// # Errors
    /// Errors of the scheme.
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

    /// As [`Engine::mul_plain_sum`], at a level that is at most that of each value.
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

    /// Giant steps of a packing at `level`. Each result has the given noise.
    pub(crate) fn mul_masks(
        &self,
        level: usize,
        packing: (&Packing<'_, O::Samples>, &O::Masks),
        giants: &[usize],
        noise: Noise,
    ) -> Result<Vec<ValueOf<O>>> {
        let count = packing.0.baby_steps * giants.len();
        self.count_plaintexts(level, count, Encoding::Slots);
        let cts = self.operations.mul_masks(level, packing, giants)?;
        let values = cts.into_iter().map(|ct| Value::new(ct, level, 1, noise));
        Ok(values.collect())
    }
}

/// Factor of a value of the given level and factor after it is dropped to `level`. The dropped
/// moduli change the factor.
pub(crate) fn factor_at(params: &Params, (from, factor): (usize, u64), level: usize) -> u64 {
    let (t, basis) = (params.t(), params.rlwe().basis(from));
    let dropped = level + 1..=from;
    dropped.fold(factor, |mu, i| {
        t.mul(mu, t.reduce(basis.modulus(i).value()))
    })
}

/// Factor of the product of residuals at `level`, for two values that have the given factors there.
pub(crate) fn product_factor(params: &Params, level: usize, a: u64, b: u64) -> u64 {
    let t = params.t();
    t.neg(t.mul(params.q_mod_t(level), t.mul(a, b)))
}

fn ciphertexts<'a, C>(values: &[&'a Value<C>]) -> Vec<&'a C> {
    values.iter().map(|v| &v.ct).collect()
}
