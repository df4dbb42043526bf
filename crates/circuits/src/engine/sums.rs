//! Sums, automorphisms, and LWE samples of values.

use super::{Engine, Log, Value, ValueOf};
use crate::error::Result;
use crate::operations::{Operations, Packing, Plain, Words};
use crate::passes::{self, Encoding};
use crate::residual::Residual;
use bfv::noise::Noise;
use exchange::LoopParams;

impl<O: Operations> Engine<O> {
    /// Adds the bodies of a packing's samples.
    pub(crate) fn add_bodies(
        &self,
        a: &mut ValueOf<O>,
        packing: &Packing<'_, O::Samples>,
    ) -> Result<()> {
        self.count(passes::term(a.level + 1, Encoding::Slots));
        self.operations.add_bodies(&mut a.ct, packing)
    }

    /// The constant 1 in every slot, as a ciphertext that hides nothing. For sums of products.
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

    /// As [`Engine::add_assign`], for sums of products with independent plaintexts.
    ///
    /// # Errors
    /// As [`Engine::add_assign`].
    pub fn add_apart_assign(&self, a: &mut ValueOf<O>, b: &ValueOf<O>) -> Result<()> {
        check_alike(a, b)?;
        a.residual = a.residual.plus_apart(b.residual);
        self.note_residual(a.level, a.residual);
        self.count(passes::sum(a.level + 1));
        self.operations.add_assign(&mut a.ct, &b.ct)
    }

    /// Adds to `a` its automorphism of a Galois element. Noise adds up most where both are largest.
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

    /// `a` times a power of `X` below `2N`. The noise only moves.
    ///
    /// # Errors
    /// Errors of the scheme.
    pub(crate) fn mul_power(&self, a: &ValueOf<O>, power: usize) -> Result<ValueOf<O>> {
        if power == 0 {
            return Ok(a.clone());
        }
        let n = self.params.n();
        let entry = match power {
            power if power < n => (power, 1),
            power => (power - n, -1),
        };
        self.count_plaintexts(a.level, 1, Encoding::Coefficients);
        let monomial = |_| Plain::Coefficients(Words::Sparse(vec![entry]));
        let at = (a.level, a.factor);
        let ct = self.operations.mul_plain_sum(at, &[&a.ct], monomial)?;
        Ok(Value { ct, ..*a })
    }

    /// `even + odd + phi(even - odd)` for the automorphism `phi` of a Galois element. `odd` is 0 if
    /// it is missing. Coefficients that `phi` keeps are doubled in `even` and vanish in `odd`, and
    /// the other way round for those that it negates. Noise does the same.
    ///
    /// # Errors
    /// As [`Engine::automorphism`].
    pub(crate) fn merge_pair(
        &self,
        even: ValueOf<O>,
        odd: Option<ValueOf<O>>,
        element: usize,
    ) -> Result<ValueOf<O>> {
        let residual = match &odd {
            Some(odd) => even.residual.merged(odd.residual),
            None => even.residual.plus_alike(),
        };
        let (mut sum, mut difference) = (even.clone(), even);
        if let Some(odd) = odd {
            self.add_assign(&mut sum, &odd)?;
            self.sub_assign(&mut difference, &odd)?;
        }
        let rotated = self.automorphism(&difference, element)?;
        sum.residual = residual.plus(Residual::even(self.switching_noise(sum.level)));
        self.note_residual(sum.level, sum.residual);
        self.count(passes::sum(sum.level + 1));
        self.operations.add_assign(&mut sum.ct, &rotated.ct)?;
        Ok(sum)
    }

    /// The same ciphertext, read as one of another factor.
    pub(crate) fn reread(&self, a: ValueOf<O>, factor: u64) -> ValueOf<O> {
        if factor == a.factor {
            return a;
        }
        Value {
            ct: self.operations.reread(a.ct, factor),
            level: a.level,
            factor,
            residual: a.residual,
        }
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

    /// `a += m`, for a plaintext with the given encoding.
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

    /// The automorphisms of several Galois elements. They share one decomposition.
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

    /// The LWE samples of a value: switched to level 0, then to the LWE secret, then rounded to
    /// `t`.
    ///
    /// # Errors
    /// If the key is missing.
    pub fn to_samples(&self, params: &LoopParams, a: &ValueOf<O>) -> Result<O::Samples> {
        self.count(passes::switch(a.level, 0) + passes::samples(params.small().digits()));
        let low = self.operations.switched_to(&a.ct, 0)?;
        self.operations.to_samples(&low)
    }

    pub(super) fn count_plaintexts(&self, level: usize, count: usize, encoding: Encoding) {
        let counts = &mut self.log().counts;
        counts.plaintext_products += count;
        counts.passes += passes::plaintexts(level + 1, count, encoding);
    }

    /// Counts the blocks of bodies and of masks, `blocks` in a row of slots.
    pub(crate) fn count_blocks(&self, blocks: usize) {
        self.count(passes::blocks(blocks).times(2));
    }

    /// Counts weights that are made into plaintexts of coefficients.
    pub(crate) fn count_weights(&self, count: usize) {
        self.log().counts.weights += count;
    }

    /// Counts `count` rotations by one Galois element, each with a decomposition. The key is
    /// counted as needed even if `count` is 0.
    pub(crate) fn count_rotations(&self, element: usize, level: usize, count: usize) {
        self.count(self.sizes(level).decompose().times(count));
        self.count_automorphisms(element, level, count);
    }

    /// As [`count_rotations`](Self::count_rotations), for values that are already decomposed.
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

    /// Noise that an automorphism adds.
    fn switching_noise(&self, level: usize) -> Noise {
        self.model.key_switch(level).plus(self.model.rounding())
    }
}

/// Checks that operands of a sum have the same level and factor.
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
