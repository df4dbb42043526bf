//! The operations of a circuit on ciphertexts, in any mode.

use super::fold::{Current, Meaning, Values};
use super::held::Held;
use super::plan::Parts;
use super::runner::Runner;
use super::scheme::Scheme;
use crate::error::Result;
use circuits::operations::RingOperations;
use program::circuit::{Change, Effect, Multiplier, ValueId};
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

/// Returns the value of an input, given by its step and name.
type Input<'a, O> = &'a dyn Fn(usize, &str) -> Result<Held<'a, O>>;

/// The meaning of operations for ciphertexts: a run of a circuit with the ring operations
/// `operations`, on ciphertexts or recorded.
pub(super) struct Run<'a, S: Scheme, O: RingOperations> {
    pub(super) runner: &'a Runner<'a, S>,
    pub(super) operations: &'a O,
    /// Is called with the index of each step before the step runs.
    begin: &'a dyn Fn(usize),
    input: Input<'a, O>,
    pub(super) caches: BTreeMap<ValueId, Cache<O>>,
    /// Rows of batches that are computed and whose steps are still to come.
    pub(super) ready: BTreeMap<ValueId, Held<'static, O>>,
}

impl<'a, S: Scheme, O: RingOperations> Meaning for Run<'a, S, O> {
    type Value = Held<'a, O>;

    /// Returns the value in the form in which the plan holds it.
    fn step(
        &mut self,
        step: &Current<'_>,
        values: &mut Values<Held<'a, O>>,
    ) -> Result<Held<'a, O>> {
        (self.begin)(step.index);
        let value = self.compute(step, values)?;
        let value = match self.runner.plan.held[step.index] {
            Parts::Pair => Held::Ciphertext(self.pair(value)?),
            _ => value,
        };
        self.forget(step.index);
        Ok(value)
    }
}

impl<'a, S: Scheme, O: RingOperations> Run<'a, S, O> {
    pub(super) fn new(
        runner: &'a Runner<'a, S>,
        operations: &'a O,
        begin: &'a dyn Fn(usize),
        input: Input<'a, O>,
    ) -> Self {
        Self {
            runner,
            operations,
            begin,
            input,
            caches: BTreeMap::new(),
            ready: BTreeMap::new(),
        }
    }

    fn ring_level(&self, value: ValueId) -> usize {
        let level = self.runner.circuit.ty(value).level;
        self.runner.params.ring_level(level)
    }

    /// Computes a step's value, in the form that the step computes.
    fn compute(
        &mut self,
        step: &Current<'_>,
        values: &mut Values<Held<'a, O>>,
    ) -> Result<Held<'a, O>> {
        let (circuit, index) = (&self.runner.circuit, step.index);
        Ok(match step.effect {
            Effect::Input { name } => (self.input)(index, name)?,
            Effect::Constant { .. } => Held::Plaintext(self.runner.constants[&index].clone()),
            Effect::Sum { left, right, minus } => self.sum(index, values, [left, right], minus)?,
            Effect::Products { .. } if self.runner.plan.batch_of[index].is_some() => {
                self.row(index, values)?
            }
            Effect::Products { terms } if circuit.ty(terms[0][1]).encrypted => {
                self.product(values, terms)?
            }
            Effect::Products { terms } => self.plain_product(values, terms)?,
            Effect::Unary { value, change } => match change {
                Change::Kept => {
                    let x = self.pair(values.take(value))?;
                    if circuit.ty(value).level == step.ty.level {
                        Held::Ciphertext(x)
                    } else {
                        let level = self.ring_level(index);
                        Held::of(self.operations.drop_to(x.into_owned(), level)?)
                    }
                }
                Change::Divided => {
                    let (target, level) = (self.ring_level(index), self.ring_level(value));
                    match values.take(value) {
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
                Change::Refreshed => {
                    let x = self.pair(values.take(value))?.into_owned();
                    let bootstrapper = self.runner.bootstrapper.as_ref();
                    let bootstrapper = bootstrapper.expect("a circuit that bootstraps states how");
                    let ty = circuit.ty(value);
                    Held::of(bootstrapper.apply(self.operations, x, (ty.level, ty.scale))?)
                }
                Change::Multiplied(Multiplier::ScaleRatio) => {
                    let x = self.pair(values.take(value))?;
                    Held::Ciphertext(self.operations.read(&x).map_or(x, Cow::Owned))
                }
                Change::Multiplied(Multiplier::Integer(number)) => {
                    values.take(value).scaled(self.operations, number)
                }
                Change::Permuted(permutation) => {
                    let element = self.runner.params.element(permutation);
                    self.automorphism(index, values, value, element)?
                }
            },
        })
    }

    /// `left + right` or `left - right`.
    fn sum(
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

    fn automorphism(
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
    fn pair(&self, held: Held<'a, O>) -> Result<Cow<'a, O::Ciphertext>> {
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
    fn extended(&self, held: Held<'a, O>) -> Result<O::Extended> {
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
    fn forget(&mut self, index: usize) {
        let plan = &self.runner.plan;
        self.caches.retain(|&value, cache| {
            if plan.decomposed_until[value].is_none_or(|last| last <= index) {
                cache.decomposed = None;
            }
            plan.last_use[value] > index
        });
    }
}
