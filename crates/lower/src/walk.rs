//! From step to step of a recording.

use crate::chain::{Chain, eval};
use crate::divide::divide_pair;
use crate::error::{Error, Result};
use crate::key_switch::{Key, automorphism, decompose, relinearize, with_key};
use crate::names;
use crate::packing::{Layers, Samples};
use crate::plaintext;
use crate::products::{self, Matrix};
use crate::samples;
use program::recording::{Ciphertext, Op, Plain, Recording, Type, ValueId};
use program::trace::{self, Builder, ConstantId, Limbs, Trace, TraceBuilder};
use std::collections::HashMap;

/// The trace of a recording: it loads what [`names`] names, and stores the components of the results.
///
/// # Errors
/// [`Error::Step`] for a step whose operands are missing or of another kind, and [`Error::Rlwe`] for parameters that are
/// none.
pub fn lower(recording: &Recording) -> Result<Trace> {
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
        layers: HashMap::new(),
        outputs: 0,
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
    outputs: usize,
}

impl Walk<'_> {
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
            Op::PackingKey { values, index } => {
                let seed = names::packing(*values);
                let body = b.load(names::body(&seed, *index), chain.component(ty.level));
                let mask = b.sample(seed, *index as u32, chain.level(ty.level));
                vec![body, mask]
            }
            Op::Trivial { plain } => {
                let body = self.term(b, *plain, ty);
                vec![body, b.zero(chain.component(ty.level))]
            }
            Op::Tensor { terms } => {
                let side = |b: &mut Builder, side: usize| -> Result<Vec<[trace::ValueId; 2]>> {
                    let values = terms.iter().map(|term| self.pair(b, index, term[side], ty));
                    values.collect()
                };
                let (left, right) = (side(b, 0)?, side(b, 1)?);
                products::tensor(chain, b, ty.level, [&left, &right]).to_vec()
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
                products::combine(chain, b, ty.level, &matrix, [&low, &middle]).to_vec()
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
                    let row = plaintext::coefficients(chain, b, plain, &self.constants, unit);
                    factors.push(plaintext::factor(chain, b, row, ty.level));
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
                let mut factors = Vec::with_capacity(secret.len());
                let mut pairs = Vec::with_capacity(secret.len());
                for (step, (&value, &unit)) in secret.iter().zip(units).enumerate() {
                    let layers = self.layers(b, index, *packing)?;
                    let row = layers.masks(chain, b, (*giant, step), unit);
                    factors.push(plaintext::factor(chain, b, row, ty.level));
                    pairs.push(self.pair(b, index, value, ty)?);
                }
                dot(b, &pairs, &factors)
            }
            Op::AddBodies { value, packing } => {
                let row = self.layers(b, index, *packing)?.bodies(chain, b);
                let term = plaintext::term(chain, b, row, (ty.level, ty.factor));
                let [body, mask] = self.pair(b, index, *value, ty)?;
                vec![b.add(body, term), mask]
            }
            Op::AddPlain { value, plain } => {
                let term = self.term(b, *plain, ty);
                let [body, mask] = self.pair(b, index, *value, ty)?;
                vec![b.add(body, term), mask]
            }
            Op::Add { left, right } => {
                let (x, y) = (
                    self.pair(b, index, *left, ty)?,
                    self.pair(b, index, *right, ty)?,
                );
                vec![b.add(x[0], y[0]), b.add(x[1], y[1])]
            }
            Op::Sub { left, right } => {
                let (x, y) = (
                    self.pair(b, index, *left, ty)?,
                    self.pair(b, index, *right, ty)?,
                );
                vec![b.sub(x[0], y[0]), b.sub(x[1], y[1])]
            }
            Op::Automorphism { value, element } => {
                self.automorphism(b, index, (*value, *element), ty.level)?
            }
            Op::Switch { value } => {
                let from = self.ty(index, *value)?.level;
                let pair = self.parts(index, *value, 2)?;
                let pair = [pair[0], pair[1]];
                let limbs = (&chain.level(from), &chain.level(ty.level));
                divide_pair(chain, b, pair, limbs).to_vec()
            }
            Op::Drop { value } => self.pair(b, index, *value, ty)?.to_vec(),
            Op::Output { value } => {
                let pair = self.pair(b, index, *value, ty)?;
                for (component, part) in pair.into_iter().enumerate() {
                    b.store(names::answer(self.outputs, component), part);
                }
                self.outputs += 1;
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
        let (chain, count) = (self.chain, self.chain.small().digits());
        let key = self.key_over(b, names::DIMENSION, count, &chain.level(0), &chain.level(0));
        Ok(samples::to_samples(chain, b, pair, &key))
    }

    fn automorphism(
        &mut self,
        b: &mut Builder,
        index: usize,
        (value, element): (ValueId, usize),
        level: usize,
    ) -> Result<Vec<trace::ValueId>> {
        let pair = self.parts(index, value, 2)?;
        let pair = [pair[0], pair[1]];
        let digits = match self.digits.get(&value) {
            Some(digits) => digits.clone(),
            None => {
                let sub = decompose(self.chain, b, level);
                let digits = b.call(sub, &[pair[1]]);
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
        let mut arguments = vec![pair[0]];
        arguments.extend(digits);
        let sub = automorphism(self.chain, b, (level, element));
        Ok(b.call(sub, &with_key(arguments, &key)))
    }

    fn relinearization_level(&self) -> usize {
        self.recording.keys.relinearization.unwrap_or(0)
    }

    /// A key made for a level, at another one.
    fn key(&mut self, b: &mut Builder, seed: &str, key_level: usize, level: usize) -> Key {
        let chain = self.chain;
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

    fn term(&self, b: &mut Builder, plain: Plain, ty: Ciphertext) -> trace::ValueId {
        let row = plaintext::coefficients(self.chain, b, plain, &self.constants, 1);
        plaintext::term(self.chain, b, row, (ty.level, ty.factor))
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
            let layers = Layers::new(self.chain, b, described, &sources);
            self.layers.insert(packing, layers);
        }
        Ok(&self.layers[&packing])
    }

    /// Components of a value at the level of `ty`: limbs above it are left out.
    fn pair(
        &self,
        b: &mut Builder,
        index: usize,
        value: ValueId,
        ty: Ciphertext,
    ) -> Result<[trace::ValueId; 2]> {
        let parts = self.parts(index, value, 2)?;
        let level = self.ty(index, value)?.level;
        if level < ty.level {
            let expected = format!("at least {}", ty.level);
            return Err(self.wrong(
                index,
                "the level of an operand",
                &level.to_string(),
                &expected,
            ));
        }
        let limbs = self.chain.level(ty.level);
        Ok([parts[0], parts[1]].map(|part| b.select(part, limbs.clone())))
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
