//! The operations of a circuit on ciphertexts.

use super::clear::repeated;
use super::held::{Encoded, Held};
use super::keys::Keys;
use super::plan::Form;
use super::runner::{Argument, Runner};
use super::scheme::Scheme;
use super::unfit;
use super::walk::Values;
use crate::error::Result;
use program::circuit::{Op, ValueId};
use rlwe::{Ciphertext, Decomposed, Extended, SwitchKey};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one value's rotations and products share.
#[derive(Default)]
pub(super) struct Cache {
    decomposed: Option<Decomposed>,
    pub(super) lifted: Option<Extended>,
}

/// One run.
pub(super) struct Run<'r, S: Scheme> {
    pub(super) runner: &'r Runner<'r, S>,
    keys: &'r Keys,
    pub(super) caches: BTreeMap<ValueId, Cache>,
    /// Rows of batches that were computed, before their steps.
    pub(super) ready: BTreeMap<ValueId, Held<'static>>,
}

impl<'r, S: Scheme> Run<'r, S> {
    pub(super) fn new(runner: &'r Runner<'r, S>, keys: &'r Keys) -> Self {
        Self {
            runner,
            keys,
            caches: BTreeMap::new(),
            ready: BTreeMap::new(),
        }
    }

    fn rlwe(&self) -> &'r rlwe::Params {
        self.runner.params.rlwe()
    }

    fn ring_level(&self, value: ValueId) -> usize {
        let level = self.runner.circuit.ty(value).level;
        self.runner.params.ring_level(level)
    }

    pub(super) fn step<'a>(
        &mut self,
        index: usize,
        values: &mut Values<Held<'a>>,
        inputs: &BTreeMap<&str, Argument<'a, S>>,
    ) -> Result<Held<'a>> {
        let circuit = self.runner.circuit;
        Ok(match &circuit.steps[index].op {
            Op::Input { name } => self.input(index, name, inputs[name.as_str()])?,
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
                    Held::Extended(x) => Held::of(x.divide(level - target)?),
                    Held::Ciphertext(x) if x.degree() == 2 => {
                        Held::of(x.relinearize(self.relinearization()?, level - target)?)
                    }
                    other => {
                        let mut x = self.pair(other)?.into_owned();
                        x.switch_to(self.rlwe(), target)?;
                        Held::of(x)
                    }
                }
            }
            Op::Drop { value } => {
                let mut x = self.pair(values.take(*value))?.into_owned();
                x.drop_to(self.ring_level(index))?;
                Held::of(x)
            }
            Op::Rotate { value, steps } => {
                let element = self.runner.params.rotation(*steps);
                self.automorphism(index, values, *value, element)?
            }
            Op::Conjugate { value } | Op::SwapRows { value } => {
                let element = self.runner.params.reflection();
                self.automorphism(index, values, *value, element)?
            }
            Op::Read { value } | Op::Output { value, .. } => {
                Held::Ciphertext(self.pair(values.take(*value))?)
            }
        })
    }

    fn input<'a>(&self, index: usize, name: &str, given: Argument<'a, S>) -> Result<Held<'a>> {
        let (circuit, params) = (self.runner.circuit, &self.runner.params);
        let ty = circuit.ty(index);
        match given {
            Argument::Plain(slots) if !ty.encrypted => {
                let slots = repeated(circuit, name, slots)?;
                let encoded = Encoded::new(params, &slots, ty, &self.runner.uses[index])?;
                Ok(Held::Plaintext(Arc::new(encoded)))
            }
            Argument::Ciphertext(ct) if ty.encrypted => {
                Ok(Held::Ciphertext(Cow::Borrowed(params.open(name, ct, ty)?)))
            }
            Argument::Plain(_) => Err(unfit(format!("the input {name}"), "in plain", "encrypted")),
            Argument::Ciphertext(_) => {
                Err(unfit(format!("the input {name}"), "encrypted", "in plain"))
            }
        }
    }

    /// `left + right` or `left - right`.
    fn sum<'a>(
        &mut self,
        index: usize,
        values: &mut Values<Held<'a>>,
        [left, right]: [ValueId; 2],
        minus: bool,
    ) -> Result<Held<'a>> {
        let factors = &self.runner.factors;
        if let Held::Plaintext(m) = values.get(right) {
            let m = m.clone();
            let mut a = match values.take(left) {
                Held::Ciphertext(a) => a,
                other => self.pair(other)?,
            };
            let (sum, term) = (a.to_mut(), m.term(factors.of[left]));
            match minus {
                true => sum.components_mut()[0].sub_assign(term),
                false => sum.components_mut()[0].add_assign(term),
            }
            return Ok(Held::Ciphertext(a));
        }
        let matched = factors.matched.get(&index).copied();
        let [x, y] = matched.unwrap_or([1, 1]);
        let mut a = values.take(left).scaled(x);
        if let (Held::Extended(_), _) | (_, Held::Extended(_)) = (&a, values.get(right)) {
            let mut a = self.extended(a)?;
            let mut b = self.extended(values.take(right).scaled(y))?;
            if minus {
                b.neg_assign();
            }
            a.add_assign(&b)?;
            return Ok(Held::Extended(a));
        }
        let scaled = matched.map(|_| values.take(right).scaled(y));
        let b = scaled.as_ref().unwrap_or_else(|| values.get(right));
        let (Held::Ciphertext(sum), Held::Ciphertext(b)) = (&mut a, b) else {
            unreachable!("terms are ciphertexts");
        };
        match minus {
            true => sum.to_mut().sub_assign(b)?,
            false => sum.to_mut().add_assign(b)?,
        }
        Ok(a)
    }

    fn automorphism<'a>(
        &mut self,
        index: usize,
        values: &mut Values<Held<'a>>,
        value: ValueId,
        element: usize,
    ) -> Result<Held<'a>> {
        let galois = &self.keys.galois;
        if let Held::Extended(_) = values.get(value) {
            let Held::Extended(x) = values.take(value) else {
                unreachable!("taken as it was seen");
            };
            return Ok(Held::Extended(x.automorphism(element, galois)?));
        }
        let Held::Ciphertext(x) = values.get(value) else {
            unreachable!("a rotated value is a ciphertext");
        };
        let plan = &self.runner.plan;
        let only = plan.decomposed_until[value] == Some(index) && !self.caches.contains_key(&value);
        if only && plan.forms[index] == Form::Pair {
            return Ok(Held::of(x.automorphism(element, galois)?));
        }
        let params = self.runner.params.rlwe();
        let cache = self.caches.entry(value).or_default();
        let decomposed = match &cache.decomposed {
            Some(decomposed) => decomposed,
            None => {
                let second = x.pair()?.1;
                cache.decomposed.insert(Decomposed::new(params, second))
            }
        };
        Ok(match plan.forms[index] {
            Form::Extended => {
                Held::Extended(Extended::automorphism_of(x, decomposed, element, galois)?)
            }
            _ => Held::of(x.automorphism_hoisted(decomposed, element, galois)?),
        })
    }

    /// Two components of whatever is held.
    pub(super) fn pair<'a>(&self, held: Held<'a>) -> Result<Cow<'a, Ciphertext>> {
        match held {
            Held::Extended(x) => Ok(Cow::Owned(x.divide(0)?)),
            Held::Ciphertext(x) if x.degree() == 2 => {
                Ok(Cow::Owned(x.relinearize(self.relinearization()?, 0)?))
            }
            Held::Ciphertext(x) => Ok(x),
            Held::Plaintext(_) => unreachable!("types say which values are ciphertexts"),
        }
    }

    /// A ciphertext times the special moduli.
    fn extended(&self, held: Held) -> Result<Extended> {
        match held {
            Held::Extended(x) => Ok(x),
            other => Ok(Extended::new(self.rlwe(), &*self.pair(other)?)?),
        }
    }

    fn relinearization(&self) -> Result<&'r SwitchKey> {
        let what = "relinearization key";
        let missing = circuits::Error::MissingKey { what };
        Ok(self.keys.relinearization.as_ref().ok_or(missing)?)
    }

    /// Drops what is shared by rotations after the last of them, by products after the last use.
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
