//! The operations of a circuit on ciphertexts, in any mode.

use super::held::Held;
use super::plan::Parts;
use super::runner::Runner;
use super::scheme::Scheme;
use super::walk::Values;
use crate::error::Result;
use circuits::operations::RingOperations;
use program::circuit::{Op, ValueId};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Intermediate results that the rotations and products of one value share.
pub(super) struct Cache<O: RingOperations> {
    decomposed: Option<O::Decomposed>,
    pub(super) lifted: Option<O::Extended>,
}

impl<O: RingOperations> Default for Cache<O> {
    fn default() -> Self {
        Self {
            decomposed: None,
            lifted: None,
        }
    }
}

/// A run of a circuit with the ring operations `operations`: on ciphertexts, or recorded.
pub(super) struct Run<'r, S: Scheme, O: RingOperations> {
    pub(super) runner: &'r Runner<'r, S>,
    pub(super) operations: &'r O,
    pub(super) caches: BTreeMap<ValueId, Cache<O>>,
    /// Rows of batches that are computed and whose steps are still to come.
    pub(super) ready: BTreeMap<ValueId, Held<'static, O>>,
}

impl<'r, S: Scheme, O: RingOperations> Run<'r, S, O> {
    pub(super) fn new(runner: &'r Runner<'r, S>, operations: &'r O) -> Self {
        Self {
            runner,
            operations,
            caches: BTreeMap::new(),
            ready: BTreeMap::new(),
        }
    }

    fn ring_level(&self, value: ValueId) -> usize {
        let level = self.runner.circuit.ty(value).level;
        self.runner.params.ring_level(level)
    }

    /// Runs a step. `input` returns the input with a name.
    pub(super) fn step<'a>(
        &mut self,
        index: usize,
        values: &mut Values<Held<'a, O>>,
        input: impl FnOnce(&str) -> Result<Held<'a, O>>,
    ) -> Result<Held<'a, O>> {
        let circuit = &self.runner.circuit;
        Ok(match &circuit.steps[index].op {
            Op::Input { name } => input(name)?,
            Op::Constant { .. } => Held::Plaintext(self.runner.constants[&index].clone()),
            Op::Add { left, right } => self.sum(index, values, [*left, *right], false)?,
            Op::Sub { left, right } => self.sum(index, values, [*left, *right], true)?,
            Op::Mul { .. } if self.runner.plan.batch_of[index].is_some() => {
                self.row(index, values)?
            }
            Op::Mul { terms } if circuit.ty(terms[0][1]).encrypted => {
                self.product(values, terms)?
            }
            Op::Mul { terms } => self.plain_product(values, terms)?,
            Op::Rescale { value } => {
                let (target, level) = (self.ring_level(index), self.ring_level(*value));
                match values.take(*value) {
                    Held::Extended(x) => Held::of(self.operations.divide(x, level - target)?),
                    Held::Ciphertext(x) if self.is_product(&x) => {
                        Held::of(self.operations.relinearize(&x, level - target)?)
                    }
                    other => {
                        let x = self.pair(other)?.into_owned();
                        Held::of(self.operations.switch_to(x, target)?)
                    }
                }
            }
            Op::Drop { value } => {
                let x = self.pair(values.take(*value))?.into_owned();
                Held::of(self.operations.drop_to(x, self.ring_level(index))?)
            }
            Op::Rotate { value, steps } => {
                let element = self.runner.params.rotation(*steps);
                self.automorphism(index, values, *value, element)?
            }
            Op::Conjugate { value } | Op::SwapRows { value } => {
                let element = self.runner.params.reflection();
                self.automorphism(index, values, *value, element)?
            }
            Op::Read { value } => {
                let x = self.pair(values.take(*value))?;
                Held::Ciphertext(self.operations.read(&x).map_or(x, Cow::Owned))
            }
            Op::Bootstrap { value } => {
                let x = self.pair(values.take(*value))?.into_owned();
                let bootstrapper = self.runner.bootstrapper.as_ref();
                let bootstrapper = bootstrapper.expect("a circuit that bootstraps states how");
                let ty = circuit.ty(*value);
                let at = (ty.level, ty.scale);
                Held::of(bootstrapper.apply(self.operations, x, at)?)
            }
            Op::Repeat { .. } | Op::Result { .. } => {
                unreachable!("a runner writes every iteration out")
            }
            Op::Output { value, .. } => Held::Ciphertext(self.pair(values.take(*value))?),
        })
    }

    /// `left + right` or `left - right`.
    fn sum<'a>(
        &mut self,
        index: usize,
        values: &mut Values<Held<'a, O>>,
        [left, right]: [ValueId; 2],
        minus: bool,
    ) -> Result<Held<'a, O>> {
        let factors = &self.runner.factors;
        if let Held::Plaintext(m) = values.get(right) {
            let m = m.clone();
            let mut a = match values.take(left) {
                Held::Ciphertext(a) => a,
                other => self.pair(other)?,
            };
            let (sum, term) = (a.to_mut(), m.term(factors.of[left]));
            let over = self.runner.params.unit().unwrap_or(1);
            match minus {
                true => self.operations.sub_term(sum, term, over)?,
                false => self.operations.add_term(sum, term, over)?,
            }
            return Ok(Held::Ciphertext(a));
        }
        let matched = factors.matched.get(&index).copied();
        let [x, y] = matched.unwrap_or([1, 1]);
        let mut a = values.take(left).scaled(self.operations, x);
        if let (Held::Extended(_), _) | (_, Held::Extended(_)) = (&a, values.get(right)) {
            let mut a = self.extended(a)?;
            let mut b = self.extended(values.take(right).scaled(self.operations, y))?;
            if minus {
                self.operations.scale_extended(&mut b, (-1).into());
            }
            self.operations.add_extended(&mut a, &b)?;
            return Ok(Held::Extended(a));
        }
        let scaled = matched.map(|_| values.take(right).scaled(self.operations, y));
        let b = scaled.as_ref().unwrap_or_else(|| values.get(right));
        let (Held::Ciphertext(sum), Held::Ciphertext(b)) = (&mut a, b) else {
            unreachable!("terms are ciphertexts");
        };
        match minus {
            true => self.operations.sub_assign(sum.to_mut(), b)?,
            false => self.operations.add_assign(sum.to_mut(), b)?,
        }
        Ok(a)
    }

    fn automorphism<'a>(
        &mut self,
        index: usize,
        values: &mut Values<Held<'a, O>>,
        value: ValueId,
        element: usize,
    ) -> Result<Held<'a, O>> {
        let operations = self.operations;
        if let Held::Extended(_) = values.get(value) {
            let Held::Extended(x) = values.take(value) else {
                unreachable!("taken as it was seen");
            };
            return Ok(Held::Extended(operations.turn(x, element)?));
        }
        let Held::Ciphertext(x) = values.get(value) else {
            unreachable!("a rotated value is a ciphertext");
        };
        let plan = &self.runner.plan;
        let only = plan.decomposed_until[value] == Some(index) && !self.caches.contains_key(&value);
        if only && plan.held[index] == Parts::Pair {
            return Ok(Held::of(operations.automorphism(x, element)?));
        }
        let cache = self.caches.entry(value).or_default();
        let decomposed = match &cache.decomposed {
            Some(decomposed) => decomposed,
            None => cache.decomposed.insert(operations.decompose(x)?),
        };
        Ok(match plan.held[index] {
            Parts::Extended => {
                Held::Extended(operations.automorphism_extended(x, decomposed, element)?)
            }
            _ => Held::of(operations.automorphism_hoisted(x, decomposed, element)?),
        })
    }

    /// Converts a value in any form to two components.
    pub(super) fn pair<'a>(&self, held: Held<'a, O>) -> Result<Cow<'a, O::Ciphertext>> {
        match held {
            Held::Extended(x) => Ok(Cow::Owned(self.operations.divide(x, 0)?)),
            Held::Ciphertext(x) if self.is_product(&x) => {
                Ok(Cow::Owned(self.operations.relinearize(&x, 0)?))
            }
            Held::Ciphertext(x) => Ok(x),
            Held::Plaintext(_) => unreachable!("types say which values are ciphertexts"),
        }
    }

    /// A value times the special moduli, over the chain and the special moduli.
    fn extended(&self, held: Held<O>) -> Result<O::Extended> {
        match held {
            Held::Extended(x) => Ok(x),
            other => Ok(self.operations.extend(&*self.pair(other)?)?),
        }
    }

    fn is_product(&self, x: &O::Ciphertext) -> bool {
        self.operations.components(x) == 3
    }

    /// Frees decompositions after the last rotation that shares them, and extended values after
    /// their last use.
    pub(super) fn forget(&mut self, index: usize) {
        let plan = &self.runner.plan;
        self.caches.retain(|&value, cache| {
            if plan.decomposed_until[value].is_none_or(|last| last <= index) {
                cache.decomposed = None;
            }
            plan.last_use[value] > index
        });
    }
}
