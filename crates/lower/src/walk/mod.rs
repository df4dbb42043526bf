//! Lowers a recording step by step.

mod keys;
mod masks;
mod operands;
mod plain;

use crate::chain::{Chain, eval};
use crate::divide::divide_pair;
use crate::error::Result;
use crate::key_switch::{Key, Relinearization, extend, relinearize, with_key};
use crate::names;
use crate::packing::{Layers, Samples};
use crate::products::{self, Matrix};
use crate::raise::raise;
use crate::samples;
use program::recording::{Ciphertext, Message, Op, Recording, Scalar, Type, ValueId};
use std::collections::HashMap;
use trace::{self, Builder, ConstantId, Limbs, Trace, TraceBuilder};

/// Returns the trace of a recording. It loads the inputs named by [`names`], and stores the
/// components of the results. Its steps have the numbers that the recording has.
///
/// # Errors
/// [`Error::Program`](crate::Error::Program) for a recording that [`Recording::verify`] refuses,
/// and [`Error::Rlwe`](crate::Error::Rlwe) for parameters that are wrong.
pub fn lower(recording: &Recording) -> Result<Trace> {
    lower_named(recording, |step| step.to_string())
}

/// As [`lower`], with a name for each step of the program: [the nearest that a step may
/// have](trace::Step::nearest_name).
///
/// # Errors
/// The errors of [`lower`].
pub fn lower_named(recording: &Recording, name: impl Fn(usize) -> String) -> Result<Trace> {
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
        ahead: HashMap::new(),
    };
    let mut of = None;
    for (step, recorded) in recording.steps.iter().enumerate() {
        if of != Some(recorded.of) {
            of = Some(recorded.of);
            b.begin_step(&trace::Step::nearest_name(&name(recorded.of)));
        }
        let made = walk.step(&mut b, step)?;
        walk.made.push(made);
    }
    Ok(builder.finish()?)
}

/// Result of a step, as values of the main body.
#[derive(Clone)]
enum Lowered {
    Ciphertext(Vec<trace::ValueId>),
    Samples(Samples),
}

struct Walk<'a> {
    chain: &'a Chain,
    recording: &'a Recording,
    /// Index in the trace of each constant of the recording.
    constants: Vec<ConstantId>,
    made: Vec<Lowered>,
    /// Keys that were loaded, by the name of their seed.
    keys: HashMap<String, Key>,
    /// The digits of second components, by the step of the ciphertext.
    digits: HashMap<ValueId, Vec<trace::ValueId>>,
    layers: HashMap<usize, Layers>,
    /// Results of giant steps that were made together with an earlier one, by their steps.
    ahead: HashMap<usize, Vec<trace::ValueId>>,
    /// Plaintexts of integers, by the limbs that they were made over.
    integers: HashMap<(ConstantId, Scalar, Limbs), trace::ValueId>,
}
impl<'a> Walk<'a> {
    fn step(&mut self, b: &mut Builder, index: usize) -> Result<Lowered> {
        let (recording, chain) = (self.recording, self.chain);
        let step = &recording.steps[index];
        let Type::Ciphertext(ty) = step.ty else {
            return self.samples(b, index).map(Lowered::Samples);
        };
        let parts: Vec<trace::ValueId> = match &step.op {
            Op::Input { index } => {
                let name = names::body(names::QUERY, *index);
                let body = b.load(name, chain.component(ty.level));
                let mask = b.sample(names::QUERY, *index as u32, chain.level(ty.level));
                vec![body, mask]
            }
            Op::Given { name } => {
                let part = |part| b.load(names::given(name, part), chain.component(ty.level));
                [0, 1].map(part).to_vec()
            }
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
                let sub = relinearize(
                    chain,
                    b,
                    Relinearization {
                        level: from,
                        to: ty.level,
                    },
                );
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
            Op::MulMasks { .. } => match self.ahead.remove(&index) {
                Some(parts) => parts,
                None => self.giant_steps(b, index, ty)?,
            },
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
            // Scaling by 1 only changes how the message is read.
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
            Op::ExternalProduct { value, by } => {
                let pair = self.pair(b, index, *value, ty)?;
                self.external_product(b, pair, by, ty.level)
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
                output(b, name, pair);
                pair.to_vec()
            }
            Op::ToSamples { .. } => {
                return Err(self.wrong(index, "its type", "a ciphertext", "samples"));
            }
        };
        Ok(Lowered::Ciphertext(parts))
    }

    fn samples(&mut self, b: &mut Builder, index: usize) -> Result<Samples> {
        let value = match &self.recording.steps[index].op {
            Op::ToSamples { value } => *value,
            Op::Output { name, value } => {
                let samples = self.samples_of(index, *value)?;
                output(b, name, samples);
                return Ok(samples);
            }
            _ => return Err(self.wrong(index, "its type", "samples", "a ciphertext")),
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
}

/// Stores the two components of a result.
fn output(b: &mut Builder, name: &str, pair: [trace::ValueId; 2]) {
    for (component, part) in pair.into_iter().enumerate() {
        b.store(names::answer(name, component), part);
    }
}

/// Applies `of` to the components of two lists, as many as the longer list has.
fn longest(
    x: &[trace::ValueId],
    y: &[trace::ValueId],
    mut of: impl FnMut(Option<trace::ValueId>, Option<trace::ValueId>) -> trace::ValueId,
) -> Vec<trace::ValueId> {
    let parts = (0..x.len().max(y.len())).map(|i| of(x.get(i).copied(), y.get(i).copied()));
    parts.collect()
}

/// `sum_k factors_k pairs_k`, for both components.
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
