//! The operations of a circuit on ciphertexts.

use super::clear::repeated;
use super::held::{Encoded, Held};
use super::keys::Keys;
use super::plan::Form;
use super::runner::{Argument, Runner};
use super::unfit;
use super::walk::Values;
use crate::error::Result;
use ckks::{Ciphertext, Params};
use program::circuit::{Circuit, Op, Type, ValueId};
use ring::Poly;
use rlwe::{Decomposed, Extended, SwitchKey};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one value's rotations and products share.
#[derive(Default)]
struct Cache {
    decomposed: Option<Decomposed>,
    lifted: Option<Extended>,
}

/// One run.
pub(super) struct Run<'r> {
    circuit: &'r Circuit,
    runner: &'r Runner<'r>,
    keys: &'r Keys,
    caches: BTreeMap<ValueId, Cache>,
}

impl<'r> Run<'r> {
    pub(super) fn new(runner: &'r Runner<'r>, keys: &'r Keys) -> Self {
        Self {
            circuit: runner.circuit,
            runner,
            keys,
            caches: BTreeMap::new(),
        }
    }

    fn params(&self) -> &'r Params {
        self.runner.evaluator.params()
    }

    pub(super) fn step<'a>(
        &mut self,
        index: usize,
        values: &mut Values<Held<'a>>,
        inputs: &BTreeMap<&str, Argument<'a>>,
    ) -> Result<Held<'a>> {
        let ty = self.circuit.ty(index);
        let (evaluator, params) = (&self.runner.evaluator, self.params());
        Ok(match &self.circuit.steps[index].op {
            Op::Input { name } => self.input(index, name, inputs[name.as_str()])?,
            Op::Constant { .. } => Held::Plaintext(self.runner.constants[&index].clone()),
            Op::Add { left, right } => self.sum(values, [*left, *right], false)?,
            Op::Sub { left, right } => self.sum(values, [*left, *right], true)?,
            Op::Mul { terms } if self.circuit.ty(terms[0][1]).encrypted => {
                self.product(values, terms, ty)?
            }
            Op::Mul { terms } => self.plain_product(values, terms, ty)?,
            Op::Rescale { value } => {
                let from = self.circuit.ty(*value).level;
                let dropped = params.ring_level(from) - params.ring_level(from - 1);
                match values.take(*value) {
                    Held::Extended(x) => Held::of(x.divide(dropped)?, ty),
                    Held::Ciphertext(x) if x.degree() == 2 => {
                        Held::of(x.rlwe().relinearize(self.relinearization()?, dropped)?, ty)
                    }
                    other => {
                        let mut x = self.pair(other, ty)?.into_owned();
                        evaluator.rescale(&mut x)?;
                        Held::Ciphertext(Cow::Owned(x))
                    }
                }
            }
            Op::Drop { value } => {
                let mut x = self.pair(values.take(*value), ty)?.into_owned();
                evaluator.drop_to(&mut x, ty.level)?;
                Held::Ciphertext(Cow::Owned(x))
            }
            Op::Read { value } => {
                let mut x = self.pair(values.take(*value), ty)?;
                x.to_mut().set_scale(ty.scale);
                Held::Ciphertext(x)
            }
            Op::Rotate { value, steps } => {
                let element = params.encoder().rotation_element(*steps as isize);
                self.automorphism(index, values, *value, element)?
            }
            Op::Conjugate { value } => {
                let element = params.encoder().conjugation_element();
                self.automorphism(index, values, *value, element)?
            }
            Op::Output { value, .. } => Held::Ciphertext(self.pair(values.take(*value), ty)?),
        })
    }

    fn input<'a>(&self, index: usize, name: &str, given: Argument<'a>) -> Result<Held<'a>> {
        let ty = self.circuit.ty(index);
        match given {
            Argument::Plain(slots) if !ty.encrypted => {
                let plan = &self.runner.plan;
                repeated(self.circuit, name, slots)?;
                let uses = (plan.narrow[index], plan.extended[index]);
                let encoded = Encoded::new(self.params(), slots, ty, uses)?;
                Ok(Held::Plaintext(Arc::new(encoded)))
            }
            Argument::Ciphertext(ct) if ty.encrypted => {
                let level = self.runner.evaluator.level(ct)?;
                if (level, ct.degree()) != (ty.level, 1)
                    || (ct.scale() / ty.scale - 1.0).abs() > 1e-12
                {
                    let (degree, scale) = (ct.degree(), ct.scale().log2());
                    let found = format!("of degree {degree}, level {level}, scale 2^{scale:.6}");
                    let expected = format!(
                        "of degree 1, level {}, scale 2^{:.6}",
                        ty.level,
                        ty.scale.log2()
                    );
                    return Err(unfit(format!("the input {name}"), found, expected));
                }
                Ok(Held::Ciphertext(Cow::Borrowed(ct)))
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
        values: &mut Values<Held<'a>>,
        [left, right]: [ValueId; 2],
        minus: bool,
    ) -> Result<Held<'a>> {
        let ty = self.circuit.ty(left);
        let a = values.take(left);
        if let (Held::Extended(_), Held::Ciphertext(_)) | (_, Held::Extended(_)) =
            (&a, values.get(right))
        {
            let mut a = self.extended(a, ty)?;
            let mut b = self.extended(values.take(right), ty)?;
            if minus {
                b.neg_assign();
            }
            a.add_assign(&b)?;
            return Ok(Held::Extended(a));
        }
        let mut a = match a {
            Held::Ciphertext(a) => a,
            other => self.pair(other, ty)?,
        };
        let sum = a.to_mut().rlwe_mut();
        match values.get(right) {
            Held::Plaintext(m) if minus => sum.components_mut()[0].sub_assign(m.narrow().poly()),
            Held::Plaintext(m) => sum.components_mut()[0].add_assign(m.narrow().poly()),
            Held::Ciphertext(b) if minus => sum.sub_assign(b.rlwe())?,
            Held::Ciphertext(b) => sum.add_assign(b.rlwe())?,
            Held::Extended(_) => unreachable!("summed above"),
        }
        Ok(Held::Ciphertext(a))
    }

    /// A sum of products of ciphertexts, of three components.
    fn product<'a>(
        &self,
        values: &Values<Held<'a>>,
        terms: &[[ValueId; 2]],
        ty: Type,
    ) -> Result<Held<'a>> {
        let (mut a0, mut a1, mut b0, mut b1) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for &[left, right] in terms {
            let (l0, l1) = pair_of(values, left)?;
            let (r0, r1) = pair_of(values, right)?;
            a0.push(l0);
            a1.push(l1);
            b0.push(r0);
            b1.push(r1);
        }
        let middle = Poly::dot(
            &[a0.clone(), a1.clone()].concat(),
            &[b1.clone(), b0.clone()].concat(),
        );
        let parts = vec![Poly::dot(&a0, &b0), middle, Poly::dot(&a1, &b1)];
        Ok(Held::of(rlwe::Ciphertext::new(parts), ty))
    }

    /// A sum of products with plaintexts.
    fn plain_product<'a>(
        &mut self,
        values: &Values<Held<'a>>,
        terms: &[[ValueId; 2]],
        ty: Type,
    ) -> Result<Held<'a>> {
        let plaintext = |&[_, right]: &[ValueId; 2]| values.get(right).plaintext();
        let extended = terms
            .iter()
            .any(|&[left, _]| matches!(values.get(left), Held::Extended(_)));
        if !extended {
            let (mut c0, mut c1, mut m) = (Vec::new(), Vec::new(), Vec::new());
            for term in terms {
                let (l0, l1) = pair_of(values, term[0])?;
                c0.push(l0);
                c1.push(l1);
                m.push(plaintext(term).narrow().poly());
            }
            let parts = vec![Poly::dot(&c0, &m), Poly::dot(&c1, &m)];
            return Ok(Held::of(rlwe::Ciphertext::new(parts), ty));
        }
        for &[left, _] in terms {
            if let Held::Ciphertext(x) = values.get(left) {
                let cache = self.caches.entry(left).or_default();
                if cache.lifted.is_none() {
                    cache.lifted = Some(Extended::new(
                        self.runner.evaluator.params().rlwe(),
                        x.rlwe(),
                    )?);
                }
            }
        }
        let lifted = |left: ValueId| {
            self.caches
                .get(&left)
                .and_then(|cache| cache.lifted.as_ref())
        };
        let left = terms.iter().map(|&[left, _]| match values.get(left) {
            Held::Extended(x) => x,
            _ => lifted(left).expect("lifted above"),
        });
        let left: Vec<&Extended> = left.collect();
        let right: Vec<_> = terms
            .iter()
            .map(|term| plaintext(term).extended())
            .collect();
        Ok(Held::Extended(Extended::dot(&left, |k, i, words| {
            right[k].write(i, words)
        })))
    }

    fn automorphism<'a>(
        &mut self,
        index: usize,
        values: &mut Values<Held<'a>>,
        value: ValueId,
        element: usize,
    ) -> Result<Held<'a>> {
        let (ty, galois) = (self.circuit.ty(index), &self.keys.galois);
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
            return Ok(Held::of(x.rlwe().automorphism(element, galois)?, ty));
        }
        let cache = self.caches.entry(value).or_default();
        let decomposed = match &cache.decomposed {
            Some(decomposed) => decomposed,
            None => {
                let params = self.runner.evaluator.params().rlwe();
                cache
                    .decomposed
                    .insert(Decomposed::new(params, x.rlwe().pair()?.1))
            }
        };
        Ok(match plan.forms[index] {
            Form::Extended => Held::Extended(Extended::automorphism_of(
                x.rlwe(),
                decomposed,
                element,
                galois,
            )?),
            _ => Held::of(
                x.rlwe().automorphism_hoisted(decomposed, element, galois)?,
                ty,
            ),
        })
    }

    /// Two components of whatever is held.
    pub(super) fn pair<'a>(&self, held: Held<'a>, ty: Type) -> Result<Cow<'a, Ciphertext>> {
        match held {
            Held::Extended(x) => Ok(Cow::Owned(Ciphertext::new(x.divide(0)?, ty.scale))),
            Held::Ciphertext(x) if x.degree() == 2 => {
                let inner = x.rlwe().relinearize(self.relinearization()?, 0)?;
                Ok(Cow::Owned(Ciphertext::new(inner, ty.scale)))
            }
            Held::Ciphertext(x) => Ok(x),
            Held::Plaintext(_) => unreachable!("types say which values are ciphertexts"),
        }
    }

    /// A ciphertext times the special moduli.
    fn extended(&self, held: Held, ty: Type) -> Result<Extended> {
        match held {
            Held::Extended(x) => Ok(x),
            other => Ok(Extended::new(
                self.params().rlwe(),
                self.pair(other, ty)?.rlwe(),
            )?),
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

/// The components of a value that is held in two.
fn pair_of<'v>(
    values: &'v Values<Held>,
    value: ValueId,
) -> Result<(&'v Poly<ring::Eval>, &'v Poly<ring::Eval>)> {
    match values.get(value) {
        Held::Ciphertext(x) => Ok(x.rlwe().pair()?),
        _ => unreachable!("a factor is held in two components"),
    }
}
