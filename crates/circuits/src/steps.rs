//! The computation of each step of a program, in any mode. The compiler writes programs with it,
//! the rehearsal checks them, the server runs them, and recordings are made with it.

use crate::coefficients::{Kernel, multiply};
use crate::dense;
use crate::engine::{Engine, Value, ValueOf};
use crate::error::{Error, Result};
use crate::lut::Lut;
use crate::merge::merge;
use crate::operations::{Operations, Plain, Sample, Words};
use crate::pack::pack;
use crate::pack_all::pack_all;
use crate::passes::Encoding;
use crate::transform::{CoeffsToSlots, SlotsToCoeffs, coefficient_of_slot};
use bfv::Params;
use exchange::{Layout, LoopParams};
use program::{Constant, Form, Op, Packed, Step, Type, ValueId};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The result of a step.
#[derive(Clone, Debug)]
pub enum StepValue<C, S> {
    /// A ciphertext, with its predicted noise.
    Ciphertext(Box<Value<C>>),
    /// LWE samples.
    Samples(Box<S>),
}

/// Results of steps in the mode `O`.
pub type StepValueOf<O> = StepValue<<O as Operations>::Ciphertext, <O as Operations>::Samples>;

impl<C, S> StepValue<C, S> {
    /// The value, if it is a ciphertext. `None` for samples.
    pub fn value(&self) -> Option<&Value<C>> {
        match self {
            Self::Ciphertext(value) => Some(value),
            Self::Samples(_) => None,
        }
    }
}

/// The action of a step, with its constants in the form that circuits need.
#[derive(Clone, Debug)]
pub enum Action {
    /// The operation needs no preparation.
    Plain,
    /// A table.
    Table(Lut),
    /// A dense layer from slots.
    Dense(dense::Layer),
    /// Slots to coefficients. Such steps share the map if they keep the same coefficients.
    Transform(Arc<SlotsToCoeffs>),
    /// A packing of all samples. All such steps share the map to slots.
    PackAll(Arc<CoeffsToSlots>),
}

/// The maps between coefficients and slots. Each is prepared when it is first needed.
#[derive(Debug, Default)]
pub struct Maps {
    to_coefficients: OnceLock<Arc<SlotsToCoeffs>>,
    /// Maps that keep some coefficients alone, by their range.
    keeping: Mutex<BTreeMap<[usize; 2], Arc<SlotsToCoeffs>>>,
    to_slots: OnceLock<Arc<CoeffsToSlots>>,
}

impl Maps {
    /// The map from slots to coefficients.
    ///
    /// # Errors
    /// As [`SlotsToCoeffs::balanced`].
    pub fn to_coefficients(&self, params: &Params) -> Result<&Arc<SlotsToCoeffs>> {
        if let Some(made) = self.to_coefficients.get() {
            return Ok(made);
        }
        let made = Arc::new(SlotsToCoeffs::balanced(params)?);
        Ok(self.to_coefficients.get_or_init(|| made))
    }

    /// The map from slots to coefficients that keeps those from the first up to the last, which is
    /// left out, and makes others 0.
    ///
    /// # Errors
    /// As [`SlotsToCoeffs::balanced`].
    pub fn keeping(&self, params: &Params, kept: [usize; 2]) -> Result<Arc<SlotsToCoeffs>> {
        let all = self.to_coefficients(params)?;
        let mut known = self.keeping.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Arc::new(all.keeping(params.encoder(), kept));
        Ok(known.entry(kept).or_insert_with(make).clone())
    }

    /// The map from coefficients to slots, after products with the LWE secret.
    pub fn to_slots(&self, params: &LoopParams) -> &Arc<CoeffsToSlots> {
        let make = || Arc::new(CoeffsToSlots::new(params.bfv(), params.dimension()));
        self.to_slots.get_or_init(make)
    }
}

impl Action {
    /// Makes the action of an operation on values of the given steps.
    ///
    /// # Errors
    /// [`Error::Shape`] if constants do not fit.
    pub fn new(
        params: &LoopParams,
        (constants, steps): (&[Constant], &[Step]),
        op: &Op,
        maps: &Maps,
    ) -> Result<Self> {
        let values = |id: usize| constants[id].values.as_slice();
        Ok(match op {
            Op::Table {
                polynomial, shape, ..
            } => {
                let t = params.bfv().t();
                let coefficients = values(*polynomial).iter().map(|&c| t.from_i64(c)).collect();
                Self::Table(Lut::new(coefficients, *shape)?)
            }
            Op::Dense {
                value,
                weights,
                inputs,
                rows,
            } => {
                let weights = rows.iter().map(|row| {
                    let neuron = &values(*weights)[row.output * inputs..][..*inputs];
                    (row.image * inputs, neuron.to_vec())
                });
                let layout = layout_of(params, &steps[*value].ty)?;
                Self::Dense(dense::Layer::new(layout, weights.collect())?)
            }
            Op::SlotsToCoefficients { kept, .. } => Self::Transform(match kept {
                None => maps.to_coefficients(params.bfv())?.clone(),
                Some(kept) => maps.keeping(params.bfv(), *kept)?,
            }),
            Op::PackAll { .. } => Self::PackAll(maps.to_slots(params).clone()),
            _ => Self::Plain,
        })
    }
}

/// A step, with the parameters, constants and other steps that its run needs.
pub struct Work<'a> {
    /// Parameters of the loop.
    pub params: &'a LoopParams,
    /// Constants of the program.
    pub constants: &'a [Constant],
    /// Steps of the program. At least the steps before this one must be present.
    pub steps: &'a [Step],
    /// Operation of the step.
    pub op: &'a Op,
    /// The same operation with its constants prepared.
    pub action: &'a Action,
    /// Form of the result's message.
    pub form: Form,
    /// Level at which a dense layer runs. Other operations ignore it.
    pub level: usize,
}

impl Work<'_> {
    /// Runs the step. `made` returns the results of earlier steps, and `input` the client's
    /// ciphertexts.
    ///
    /// # Errors
    /// Errors of the circuits, and [`Error::Operand`] if an operand is missing or of another kind.
    pub fn run<'m, O: Operations>(
        &self,
        engine: &Engine<O>,
        made: impl Fn(ValueId) -> Option<&'m StepValueOf<O>>,
        input: impl FnOnce(usize) -> ValueOf<O>,
    ) -> Result<StepValueOf<O>>
    where
        O::Ciphertext: 'm,
        O::Samples: 'm,
    {
        let Self { params, op, .. } = *self;
        let missing = |value: ValueId| Error::Operand {
            op: op.name(),
            value,
        };
        let of = |id: ValueId| match made(id) {
            Some(StepValue::Ciphertext(value)) => Ok(value.as_ref()),
            _ => Err(missing(id)),
        };
        let constant = |id: usize| self.constants[id].values.as_slice();
        let value = match (op, self.action) {
            (Op::Input { index }, _) => input(*index),
            (Op::MulCoefficients { terms }, _) => {
                let terms: Vec<_> = terms
                    .iter()
                    .map(|term| {
                        let kernel = Kernel {
                            weights: constant(term.weights),
                            exponents: constant(term.exponents),
                        };
                        Ok((of(term.value)?, kernel))
                    })
                    .collect::<Result<_>>()?;
                multiply(engine, &terms)?
            }
            (Op::AddCoefficients { value, term, at }, _) => {
                let mut sum = of(*value)?.clone();
                engine.add_plain_assign(&mut sum, Encoding::Coefficients, || {
                    coefficients(params.bfv().n(), constant(*term), constant(*at))
                });
                sum
            }
            (Op::ToSamples { value }, _) => {
                let samples = engine.to_samples(params, of(*value)?)?;
                return Ok(StepValue::Samples(Box::new(samples)));
            }
            (
                Op::Pack {
                    sources,
                    values,
                    start_level,
                },
                _,
            ) => {
                let batches: Vec<&O::Samples> = sources
                    .iter()
                    .map(|&id| match made(id) {
                        Some(StepValue::Samples(batch)) => Ok(batch.as_ref()),
                        _ => Err(missing(id)),
                    })
                    .collect::<Result<_>>()?;
                let layout = layout(params, self.form)?;
                let mut samples = Vec::new();
                if O::READS_PLAINTEXTS {
                    samples.resize_with(layout.values(), Vec::new);
                    for Packed(slot, _, _, sum) in values {
                        let sum = sum.iter().map(|&[source, coefficient]| Sample {
                            batch: batches[source],
                            coefficient,
                        });
                        samples[*slot] = sum.collect();
                    }
                }
                pack(engine, params, layout, &samples, *start_level)?
            }
            (
                Op::PackAll {
                    value, start_level, ..
                },
                Action::PackAll(map),
            ) => match made(*value) {
                Some(StepValue::Samples(samples)) => pack_all(engine, map, samples, *start_level)?,
                _ => return Err(missing(*value)),
            },
            (Op::Table { value, indices, .. }, Action::Table(lut)) => {
                let source = &self.steps[*value];
                let room = indices.border - indices.bound;
                match &source.op {
                    Op::Pack { values, .. } => {
                        let samples = values.iter().map(|packed| packed.3.len());
                        engine.note_failure(params.log2_beyond(room, samples));
                    }
                    Op::PackAll { outputs, batch, .. } => {
                        let samples = std::iter::repeat_n(1, outputs.len() * batch);
                        engine.note_failure(params.log2_beyond(room, samples));
                    }
                    _ => {}
                }
                lut.apply(engine, layout_of(params, &source.ty)?, of(*value)?)?
            }
            (Op::Product { left, right }, _) => engine.mul("product", of(*left)?, of(*right)?)?,
            (Op::Dense { value, .. }, Action::Dense(layer)) => {
                let layout = layout_of(params, &self.steps[*value].ty)?;
                let ready = dense::Layer::ready(engine, layout, of(*value)?.clone(), self.level)?;
                let low = engine.drop_to(ready, self.level)?;
                layer.apply(engine, &low)?
            }
            (Op::SlotsToCoefficients { value, .. }, Action::Transform(transform)) => {
                transform.apply(engine, of(*value)?)?
            }
            (Op::Merge { sources }, _) => {
                let sources = sources.iter().map(|s| Ok((of(s.value)?, s.back)));
                merge(engine, &sources.collect::<Result<Vec<_>>>()?)?
            }
            (Op::Output { value, flood, .. }, _) => {
                let value = of(*value)?;
                engine.hide(value, *flood);
                value.clone()
            }
            (
                Op::Table { value, .. }
                | Op::PackAll { value, .. }
                | Op::Dense { value, .. }
                | Op::SlotsToCoefficients { value, .. },
                _,
            ) => return Err(missing(*value)),
        };
        Ok(StepValue::Ciphertext(Box::new(value)))
    }
}

/// A plaintext in which the values, or one value for all, are added up at the given coefficients.
fn coefficients(n: usize, values: &[i64], at: &[i64]) -> Plain {
    let mut sums = vec![0; n];
    for (&place, &value) in at.iter().zip(values.iter().cycle()) {
        sums[place as usize] += value;
    }
    let entries = sums.into_iter().enumerate().filter(|&(_, sum)| sum != 0);
    Plain::Coefficients(Words::Sparse(entries.collect()))
}

/// The samples that a packing reads, and the values that it makes of them.
pub type SamplesAndValues<'a> = (Cow<'a, [ValueId]>, Cow<'a, [Packed]>);

/// The samples and the values of a packing. `None` for other operations.
pub fn packed<'a>(params: &LoopParams, op: &'a Op) -> Option<SamplesAndValues<'a>> {
    match op {
        Op::Pack {
            sources, values, ..
        } => Some((sources.into(), values.into())),
        Op::PackAll {
            value,
            outputs,
            batch,
            ..
        } => {
            let strips = outputs.iter().enumerate();
            let values = strips.flat_map(|(strip, &output)| {
                (0..*batch).map(move |image| {
                    let coefficient = strip * batch + image;
                    let slot = coefficient_of_slot(params.bfv().n(), coefficient);
                    Packed(slot, image, output, vec![[0, coefficient]])
                })
            });
            Some((vec![*value].into(), values.collect()))
        }
        _ => None,
    }
}

/// The layout of a value in slots.
///
/// # Errors
/// [`Error::Shape`] if it is not in slots.
pub fn layout_of(params: &LoopParams, ty: &Type) -> Result<Layout> {
    match ty {
        Type::Ciphertext { form, .. } => layout(params, *form),
        Type::Samples => layout(params, Form::Coefficients),
    }
}

fn layout(params: &LoopParams, form: Form) -> Result<Layout> {
    let values = match form {
        Form::Slots(values) => values,
        Form::Coefficients => 0,
    };
    Ok(Layout::new(params.bfv().n(), values)?)
}
