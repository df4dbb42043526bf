//! From step to step of a recording.

use crate::chain::{Chain, PlainModulus, eval};
use crate::divide::{divide, divide_pair};
use crate::error::{Error, Result};
use crate::key_switch::{
    First, Key, automorphism, automorphism_extended, decompose, extend, relinearize, switch,
    with_key,
};
use crate::names;
use crate::packing::{Layers, Samples};
use crate::plaintext;
use crate::products::{self, Matrix};
use crate::raise::raise;
use crate::samples;
use program::recording::{
    Ciphertext, Message, Op, Plain, Recording, Scalar, Secret, Type, ValueId,
};
use program::trace::{self, Builder, ConstantId, Limbs, Trace, TraceBuilder};
use rlwe::DimensionParams;
use std::collections::HashMap;

/// The trace of a recording: it loads what [`names`] names, and stores the components of the results.
///
/// # Errors
/// [`Error::Program`] for a recording that [`Recording::verify`] refuses, and [`Error::Rlwe`] for parameters that are none.
pub fn lower(recording: &Recording) -> Result<Trace> {
    recording.verify()?;
    let chain = Chain::new(&recording.parameters)?;
    let mut builder = TraceBuilder::new(chain.n(), &chain.table())?;
    let mut b = builder.main();
    let constants = recording.constants.iter().map(|c| b.define(c.clone()));
    let constants = constants.collect();
    let mut walk = Walk {
        chain: &chain,
        recording,
        constants,
        made: Vec::with_capacity(recording.steps.len()),
        keys: HashMap::new(),
        digits: HashMap::new(),
        integers: HashMap::new(),
        layers: HashMap::new(),
    };
    for step in 0..recording.steps.len() {
        let made = walk.step(&mut b, step)?;
        walk.made.push(made);
    }
    Ok(builder.finish()?)
}

/// What a step has made, in values of the main body.
#[derive(Clone)]
enum Made {
    Ciphertext(Vec<trace::ValueId>),
    Samples(Samples),
}

struct Walk<'a> {
    chain: &'a Chain,
    recording: &'a Recording,
    /// Number in the trace of each constant of the recording.
    constants: Vec<ConstantId>,
    made: Vec<Made>,
    /// Keys that were loaded, by the name of their seed.
    keys: HashMap<String, Key>,
    /// The digits of second components, by the step of the ciphertext.
    digits: HashMap<ValueId, Vec<trace::ValueId>>,
    layers: HashMap<usize, Layers>,
    /// Plaintexts of integers, by the limbs that they were made over.
    integers: HashMap<(ConstantId, Scalar, Limbs), trace::ValueId>,
}

impl<'a> Walk<'a> {
    fn step(&mut self, b: &mut Builder, index: usize) -> Result<Made> {
        let (recording, chain) = (self.recording, self.chain);
        let step = &recording.steps[index];
        let Type::Ciphertext(ty) = step.ty else {
            return self.samples(b, index).map(Made::Samples);
        };
        let parts: Vec<trace::ValueId> = match &step.op {
            Op::Input { index } => {
                let name = names::body(names::QUERY, *index);
                let body = b.load(name, chain.component(ty.level));
                let mask = b.sample(names::QUERY, *index as u32, chain.level(ty.level));
                vec![body, mask]
            }
            Op::Given { name } => [0, 1]
                .map(|part| b.load(names::given(name, part), chain.component(ty.level)))
                .to_vec(),
            Op::PackingKey { values, index } => {
                let seed = names::packing(*values);
                let body = b.load(names::body(&seed, *index), chain.component(ty.level));
                let mask = b.sample(seed, *index as u32, chain.level(ty.level));
                vec![body, mask]
            }
            Op::Trivial { plain } => {
                let body = self.term(b, index, *plain, ty)?;
                vec![body, b.zero(chain.component(ty.level))]
            }
            Op::Tensor { terms } => {
                let side = |b: &mut Builder, side: usize| -> Result<Vec<[trace::ValueId; 2]>> {
                    let values = terms.iter().map(|term| self.pair(b, index, term[side], ty));
                    values.collect()
                };
                let (left, right) = (side(b, 0)?, side(b, 1)?);
                let t = match ty.message {
                    Message::Modulo { .. } => Some(self.modulus(index)?),
                    Message::Approximate { .. } => None,
                };
                products::tensor(chain, b, (ty.level, t), [&left, &right]).to_vec()
            }
            Op::Combine {
                low,
                middle,
                list,
                first,
                rows,
                columns,
            } => {
                let pairs = |b: &mut Builder, of: &[ValueId]| -> Result<Vec<[trace::ValueId; 2]>> {
                    of.iter().map(|&v| self.pair(b, index, v, ty)).collect()
                };
                let (low, middle) = (pairs(b, low)?, pairs(b, middle)?);
                let matrix = Matrix {
                    list: self.constants[*list],
                    first: *first,
                    rows: rows.clone(),
                    columns: columns.clone(),
                };
                let t = self.modulus(index)?;
                products::combine(chain, b, (ty.level, t), &matrix, [&low, &middle]).to_vec()
            }
            Op::Relinearize { value } => {
                let from = self.ty(index, *value)?.level;
                let key = self.key(
                    b,
                    names::RELINEARIZATION,
                    self.relinearization_level(),
                    from,
                );
                let parts = self.parts(index, *value, 3)?.to_vec();
                let sub = relinearize(chain, b, (from, ty.level));
                b.call(sub, &with_key(parts, &key))
            }
            Op::MulPlain { terms } => {
                let mut factors = Vec::with_capacity(terms.len());
                let mut pairs = Vec::with_capacity(terms.len());
                for &(value, plain, unit) in terms {
                    factors.push(self.factor(b, index, (plain, unit), ty)?);
                    pairs.push(self.pair(b, index, value, ty)?);
                }
                dot(b, &pairs, &factors)
            }
            Op::MulMasks {
                packing,
                giant,
                secret,
                units,
            } => {
                let t = self.modulus(index)?;
                let mut factors = Vec::with_capacity(secret.len());
                let mut pairs = Vec::with_capacity(secret.len());
                for (step, (&value, &unit)) in secret.iter().zip(units).enumerate() {
                    let layers = self.layers(b, index, *packing)?;
                    let row = layers.masks(b, (*giant, step), unit);
                    factors.push(plaintext::factor(chain, b, (t, row), ty.level));
                    pairs.push(self.pair(b, index, value, ty)?);
                }
                dot(b, &pairs, &factors)
            }
            Op::AddBodies { value, packing } => {
                let row = self.layers(b, index, *packing)?.bodies(b);
                let term = self.residual_term(b, index, row, ty)?;
                let [body, mask] = self.pair(b, index, *value, ty)?;
                vec![b.add(body, term), mask]
            }
            Op::AddPlain { value, plain } => {
                let term = self.term(b, index, *plain, ty)?;
                let mut parts = self.components(b, index, *value, ty)?;
                parts[0] = b.add(parts[0], term);
                parts
            }
            Op::Add { left, right } => {
                let (x, y) = (
                    self.components(b, index, *left, ty)?,
                    self.components(b, index, *right, ty)?,
                );
                longest(&x, &y, |x, y| match (x, y) {
                    (Some(x), Some(y)) => b.add(x, y),
                    (x, y) => x.or(y).expect("one is as long as the sum"),
                })
            }
            Op::Sub { left, right } => {
                let (x, y) = (
                    self.components(b, index, *left, ty)?,
                    self.components(b, index, *right, ty)?,
                );
                let zero = eval(chain.limbs(ty));
                longest(&x, &y, |x, y| match (x, y) {
                    (Some(x), None) => x,
                    (x, y) => {
                        let x = x.unwrap_or_else(|| b.zero(zero.clone()));
                        b.sub(x, y.expect("one is as long as the difference"))
                    }
                })
            }
            // By 1 is another reading of the same message.
            Op::Drop { value }
            | Op::Scale {
                value,
                by: Scalar::ONE,
            } => self.components(b, index, *value, ty)?,
            Op::Scale { value, by } => {
                let parts = self.components(b, index, *value, ty)?;
                let factors = chain.scalar(&chain.limbs(ty), *by);
                let parts = parts.into_iter();
                parts.map(|part| b.scale(part, factors.clone())).collect()
            }
            Op::Extend { value } => {
                let own = Ciphertext {
                    extended: false,
                    ..ty
                };
                let pair = self.pair(b, index, *value, own)?;
                let extend = extend(chain, b, ty.level);
                pair.map(|part| b.call(extend, &[part])[0]).to_vec()
            }
            Op::Automorphism { value, element } => {
                self.automorphism(b, index, (*value, *element), ty)?
            }
            Op::SwitchSecret { value, to } => {
                let pair = self.pair(b, index, *value, ty)?;
                self.switch_secret(b, pair, *to, ty.level)?
            }
            Op::Raise { value } => {
                let from = self.ty(index, *value)?.level;
                if from >= ty.level {
                    let (found, expected) = (from.to_string(), format!("below {}", ty.level));
                    return Err(self.wrong(index, "the level of the operand", &found, &expected));
                }
                let parts = self.parts(index, *value, 2)?.to_vec();
                let sub = raise(chain, b, (from, ty.level));
                let parts = parts.into_iter();
                parts.map(|part| b.call(sub, &[part])[0]).collect()
            }
            Op::Switch { value } => {
                let from = self.ty(index, *value)?;
                let pair = self.parts(index, *value, 2)?;
                let pair = [pair[0], pair[1]];
                let limbs = (&chain.limbs(from), &chain.level(ty.level));
                divide_pair(chain, b, pair, limbs).to_vec()
            }
            Op::Output { name, value } => {
                let pair = self.pair(b, index, *value, ty)?;
                for (component, part) in pair.into_iter().enumerate() {
                    b.store(names::answer(name, component), part);
                }
                pair.to_vec()
            }
            Op::ToSamples { .. } => {
                return Err(self.wrong(index, "its type", "a ciphertext", "samples"));
            }
        };
        Ok(Made::Ciphertext(parts))
    }

    fn samples(&mut self, b: &mut Builder, index: usize) -> Result<Samples> {
        let Op::ToSamples { value } = self.recording.steps[index].op else {
            return Err(self.wrong(index, "its type", "samples", "a ciphertext"));
        };
        let pair = self.parts(index, value, 2)?;
        let pair = [pair[0], pair[1]];
        let chain = self.chain;
        let small = self.small(index)?;
        let t = self.chain.plain_modulus(self.ty(index, value)?);
        let t = t.ok_or_else(|| {
            let expected = "one with a plaintext modulus";
            self.wrong(index, "the message of the operand", "without one", expected)
        })?;
        let count = small.digits();
        let key = self.key_over(b, names::DIMENSION, count, &chain.level(0), &chain.level(0));
        Ok(samples::to_samples(chain, b, (small, t), pair, &key))
    }

    fn automorphism(
        &mut self,
        b: &mut Builder,
        index: usize,
        (value, element): (ValueId, usize),
        ty: Ciphertext,
    ) -> Result<Vec<trace::ValueId>> {
        let (chain, level) = (self.chain, ty.level);
        let from = self.ty(index, value)?;
        let pair = self.parts(index, value, 2)?;
        let (body, mut mask) = (pair[0], pair[1]);
        let digits = match self.digits.get(&value) {
            Some(digits) => digits.clone(),
            None => {
                if from.extended {
                    let sub = divide(chain, b, &chain.extended(level), &chain.level(level));
                    mask = b.call(sub, &[mask])[0];
                }
                let sub = decompose(chain, b, level);
                let digits = b.call(sub, &[mask]);
                self.digits.insert(value, digits.clone());
                digits
            }
        };
        let own = |&(of, level): &(usize, usize)| (of == element).then_some(level);
        let key_level = self.recording.keys.galois.iter().find_map(own);
        let key_level = key_level.ok_or_else(|| {
            let found = format!("without the element {element}");
            self.wrong(index, "the list of Galois keys", &found, "one with it")
        })?;
        let key = self.key(b, &names::galois(element), key_level, level);
        let mut arguments = vec![body];
        arguments.extend(digits);
        let at = (level, element);
        let sub = match (from.extended, ty.extended) {
            (false, false) => automorphism(chain, b, at),
            (false, true) => automorphism_extended(chain, b, at, First::Narrow),
            (true, true) => automorphism_extended(chain, b, at, First::Extended),
            (true, false) => {
                let expected = "extended, as the operand is";
                return Err(self.wrong(index, "its type", "not extended", expected));
            }
        };
        Ok(b.call(sub, &with_key(arguments, &key)))
    }

    fn switch_secret(
        &mut self,
        b: &mut Builder,
        pair: [trace::ValueId; 2],
        to: Secret,
        level: usize,
    ) -> Result<Vec<trace::ValueId>> {
        let parameters = &self.recording.parameters;
        let sparse;
        let (chain, seed, key_level) = match to {
            Secret::Sparse => {
                sparse = Chain::sparse(parameters, level)?;
                (&sparse, names::TO_SPARSE, level)
            }
            Secret::Dense => (self.chain, names::TO_DENSE, parameters.q.len() - 1),
        };
        let key = self.key_of(chain, b, seed, (key_level, level));
        let sub = switch(chain, b, level);
        Ok(b.call(sub, &with_key(pair.to_vec(), &key)))
    }

    fn relinearization_level(&self) -> usize {
        self.recording.keys.relinearization.unwrap_or(0)
    }

    /// A key made for a level, at another one.
    fn key(&mut self, b: &mut Builder, seed: &str, key_level: usize, level: usize) -> Key {
        self.key_of(self.chain, b, seed, (key_level, level))
    }

    /// A key of another chain's key switching.
    fn key_of(
        &mut self,
        chain: &Chain,
        b: &mut Builder,
        seed: &str,
        (key_level, level): (usize, usize),
    ) -> Key {
        let count = chain.digits(key_level).len();
        let (whole, own) = (chain.extended(key_level), chain.extended(level));
        let mut key = self.key_over(b, seed, count, &whole, &own);
        let digits = chain.digits(level).len();
        key.bodies.truncate(digits);
        key.masks.truncate(digits);
        key
    }

    /// A key of `count` pairs over the limbs `whole`, of which those of `own` are taken. It is loaded once.
    fn key_over(
        &mut self,
        b: &mut Builder,
        seed: &str,
        count: usize,
        whole: &Limbs,
        own: &Limbs,
    ) -> Key {
        let key = self.keys.entry(seed.into()).or_insert_with(|| Key {
            bodies: (0..count)
                .map(|j| b.load(names::body(seed, j), eval(whole.clone())))
                .collect(),
            masks: (0..count)
                .map(|j| b.sample(seed, j as u32, whole.clone()))
                .collect(),
        });
        let mut select = |part: &[trace::ValueId]| -> Vec<trace::ValueId> {
            part.iter().map(|&v| b.select(v, own.clone())).collect()
        };
        Key {
            bodies: select(&key.bodies),
            masks: select(&key.masks),
        }
    }

    /// A plaintext as a factor of what has the type of the result.
    fn factor(
        &mut self,
        b: &mut Builder,
        index: usize,
        (plain, unit): (Plain, u64),
        ty: Ciphertext,
    ) -> Result<trace::ValueId> {
        if let Plain::Integers(constant, by) = plain {
            return Ok(self.integers(b, (constant, by), self.chain.limbs(ty)));
        }
        let (t, row) = self.row(b, index, plain)?;
        let row = plaintext::times(b, row, unit);
        Ok(plaintext::factor(self.chain, b, (t, row), ty.level))
    }

    /// A plaintext as a term of what has the type of the result.
    fn term(
        &mut self,
        b: &mut Builder,
        index: usize,
        plain: Plain,
        ty: Ciphertext,
    ) -> Result<trace::ValueId> {
        if let Plain::Integers(constant, by) = plain {
            return Ok(self.integers(b, (constant, by), self.chain.limbs(ty)));
        }
        let (_, row) = self.row(b, index, plain)?;
        self.residual_term(b, index, row, ty)
    }

    fn residual_term(
        &self,
        b: &mut Builder,
        index: usize,
        row: trace::ValueId,
        ty: Ciphertext,
    ) -> Result<trace::ValueId> {
        let t = self.modulus(index)?;
        let Message::Modulo { factor, .. } = ty.message else {
            unreachable!("a message with a plaintext modulus has a factor");
        };
        let at = (ty.level, factor);
        Ok(plaintext::term(self.chain, b, (t, row), at))
    }

    fn integers(
        &mut self,
        b: &mut Builder,
        (constant, by): (ConstantId, Scalar),
        limbs: Limbs,
    ) -> trace::ValueId {
        let (chain, constants) = (self.chain, &self.constants);
        let made = self.integers.entry((constant, by, limbs));
        let make = |(constant, by, limbs): &(ConstantId, Scalar, Limbs)| {
            plaintext::integers(chain, b, (constants[*constant], *by), limbs)
        };
        *made.or_insert_with_key(make)
    }

    /// The coefficients of a plaintext modulo `t`.
    fn row(
        &self,
        b: &mut Builder,
        index: usize,
        plain: Plain,
    ) -> Result<(PlainModulus, trace::ValueId)> {
        let t = self.modulus(index)?;
        let (constant, slots) = match plain {
            Plain::Coefficients(constant) | Plain::Integers(constant, _) => (constant, false),
            Plain::Slots(constant) => (constant, true),
            Plain::Rounded {
                value,
                component,
                unit,
            } => {
                let part = self.parts(index, value, 2)?[component.min(1)];
                let row = b.intt(part);
                let row = b.round(row, t.id);
                return Ok((t, plaintext::times(b, row, unit)));
            }
        };
        let row = plaintext::coefficients(b, t, self.constants[constant]);
        let row = match slots {
            true => plaintext::from_slots(b, t, row),
            false => row,
        };
        Ok((t, row))
    }

    /// The plaintext modulus of a step's message.
    fn modulus(&self, index: usize) -> Result<PlainModulus> {
        let found = match self.recording.steps[index].ty {
            Type::Ciphertext(ty) => self.chain.plain_modulus(ty),
            Type::Samples => None,
        };
        found.ok_or_else(|| {
            let expected = "one with a plaintext modulus of the parameters";
            self.wrong(index, "its message", "without one", expected)
        })
    }

    fn small(&self, index: usize) -> Result<&'a DimensionParams> {
        self.chain.small().ok_or_else(|| {
            let expected = "those of samples";
            self.wrong(index, "the parameters", "without samples", expected)
        })
    }

    fn layers(&mut self, b: &mut Builder, index: usize, packing: usize) -> Result<&Layers> {
        if !self.layers.contains_key(&packing) {
            let described = self.recording.packings.get(packing).ok_or_else(|| {
                let (found, all) = (packing.to_string(), self.recording.packings.len());
                self.wrong(index, "the packing", &found, &format!("below {all}"))
            })?;
            let sources = described
                .sources
                .iter()
                .map(|&source| match self.made.get(source) {
                    Some(Made::Samples(samples)) => Ok(*samples),
                    _ => Err(self.wrong(index, "a source", "no samples", "samples")),
                });
            let sources: Vec<Samples> = sources.collect::<Result<_>>()?;
            let of = (self.modulus(index)?, self.small(index)?.dimension());
            let layers = Layers::new(b, of, described, &sources);
            self.layers.insert(packing, layers);
        }
        Ok(&self.layers[&packing])
    }

    /// The two components of a value over the limbs of `ty`: others are left out.
    fn pair(
        &self,
        b: &mut Builder,
        index: usize,
        value: ValueId,
        ty: Ciphertext,
    ) -> Result<[trace::ValueId; 2]> {
        self.parts(index, value, 2)?;
        let parts = self.components(b, index, value, ty)?;
        Ok([parts[0], parts[1]])
    }

    /// The components of a value over the limbs of `ty`: others are left out.
    fn components(
        &self,
        b: &mut Builder,
        index: usize,
        value: ValueId,
        ty: Ciphertext,
    ) -> Result<Vec<trace::ValueId>> {
        let own = self.ty(index, value)?;
        if own.level < ty.level || own.extended != ty.extended {
            let of = |ty: Ciphertext| match ty.extended {
                true => format!("level {}, extended", ty.level),
                false => format!("level {}", ty.level),
            };
            let (found, expected) = (of(own), format!("at least {}", of(ty)));
            return Err(self.wrong(index, "the level of an operand", &found, &expected));
        }
        let parts = self.parts(index, value, own.components)?;
        let limbs = self.chain.limbs(ty);
        let parts = parts.iter().map(|&part| b.select(part, limbs.clone()));
        Ok(parts.collect())
    }

    fn parts(&self, index: usize, value: ValueId, count: usize) -> Result<&[trace::ValueId]> {
        match self.made.get(value) {
            Some(Made::Ciphertext(parts)) if parts.len() == count => Ok(parts),
            _ => {
                let found = format!("%{value}");
                let expected = format!("an earlier ciphertext of {count} components");
                Err(self.wrong(index, "an operand", &found, &expected))
            }
        }
    }

    fn ty(&self, index: usize, value: ValueId) -> Result<Ciphertext> {
        match self.recording.steps.get(value).map(|step| step.ty) {
            Some(Type::Ciphertext(ty)) if value < index => Ok(ty),
            _ => Err(self.wrong(
                index,
                "an operand",
                &format!("%{value}"),
                "an earlier ciphertext",
            )),
        }
    }

    fn wrong(&self, step: usize, what: &'static str, found: &str, expected: &str) -> Error {
        Error::Step {
            step,
            op: self.recording.steps[step].op.name(),
            what,
            found: found.into(),
            expected: expected.into(),
        }
    }
}

/// A component for each of the longer of two lists.
fn longest(
    x: &[trace::ValueId],
    y: &[trace::ValueId],
    mut of: impl FnMut(Option<trace::ValueId>, Option<trace::ValueId>) -> trace::ValueId,
) -> Vec<trace::ValueId> {
    let parts = (0..x.len().max(y.len())).map(|i| of(x.get(i).copied(), y.get(i).copied()));
    parts.collect()
}

/// `sum_k factors_k pairs_k`, both components.
fn dot(
    b: &mut Builder,
    pairs: &[[trace::ValueId; 2]],
    factors: &[trace::ValueId],
) -> Vec<trace::ValueId> {
    let part = |part: usize| -> Vec<trace::ValueId> { pairs.iter().map(|p| p[part]).collect() };
    [part(0), part(1)]
        .map(|values| b.dot(values, factors))
        .to_vec()
}
