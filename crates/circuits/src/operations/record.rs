//! The mode that writes operations down.

use super::{Combination, Operations, Packing, Plain, RecordedCiphertext, Recorder, Words};
use crate::engine;
use crate::error::Result;
use crate::pack;
use bfv::Params;
use exchange::packing;
use program::recording::{self, Message, Op, Scalar, Type, ValueId};
use trace::Constant;

/// The mode that writes operations down, as a [`Recording`](program::recording::Recording).
pub struct Record<'r> {
    recorder: &'r Recorder,
    params: Params,
    keys: program::KeyNeeds,
}

/// The samples of a recorded ciphertext.
#[derive(Clone, Copy, Debug)]
pub struct RecordedSamples {
    pub(super) id: ValueId,
}

impl<'r> Record<'r> {
    /// Makes operations that are written to a recorder, for runs with the given keys.
    pub fn new(recorder: &'r Recorder, params: &Params, keys: &program::KeyNeeds) -> Self {
        Self {
            recorder,
            params: params.clone(),
            keys: keys.clone(),
        }
    }

    /// The client's ciphertext `index`, at a level.
    pub fn input(&self, index: usize, level: usize) -> RecordedCiphertext {
        self.push(Op::Input { index }, (level, 2, 1))
    }

    /// An input ciphertext of the given name, with the given level and factor.
    pub fn given(&self, name: &str, (level, factor): (usize, u64)) -> RecordedCiphertext {
        let name = name.to_owned();
        self.push(Op::Given { name }, (level, 2, factor))
    }

    fn push(&self, op: Op, (level, components, factor): (usize, usize, u64)) -> RecordedCiphertext {
        let ty = recording::Ciphertext {
            level,
            components,
            extended: false,
            message: Message::Modulo {
                t: self.params.t().value(),
                factor,
            },
        };
        self.recorder.push(op, ty)
    }

    fn plain(&self, plain: Plain) -> recording::Plain {
        let (words, slots) = match plain {
            Plain::Coefficients(words) => (words, false),
            Plain::Slots(words) => (words, true),
            Plain::Rounded {
                value,
                component,
                unit,
            } => {
                return recording::Plain::Rounded {
                    value,
                    component,
                    unit,
                };
            }
            Plain::Blocks { value, component } => {
                return recording::Plain::Blocks { value, component };
            }
        };
        let constant = match words {
            Words::All(words) => Constant::Words(words.iter().map(|&w| i64::from(w)).collect()),
            Words::Sparse(entries) => Constant::Sparse(entries),
            Words::Repeat { run, values } => Constant::Repeat {
                run,
                values: values.iter().map(|&v| v as i64).collect(),
            },
        };
        let constant = self.recorder.constant(constant);
        match slots {
            true => recording::Plain::Slots(constant),
            false => recording::Plain::Coefficients(constant),
        }
    }

    /// Factor of a ciphertext after it is dropped to `level`.
    fn factor_at(&self, a: &RecordedCiphertext, level: usize) -> u64 {
        engine::factor_at(&self.params, (a.ty.level, a.factor()), level)
    }

    /// Number by which a plaintext is multiplied, so that its product with `a` at `level` has the
    /// factor `factor`.
    fn unit(&self, a: &RecordedCiphertext, (level, factor): (usize, u64)) -> u64 {
        let t = self.params.t();
        let inverse = t.inv(self.factor_at(a, level));
        t.mul(factor, inverse.expect("factors are units"))
    }

    fn packing(&self, packing: &Packing<'_, RecordedSamples>) -> usize {
        let all = || packing.samples.iter().flatten();
        let mut sources: Vec<ValueId> = all().map(|sample| sample.batch.id).collect();
        sources.sort_unstable();
        sources.dedup();
        let place = |id: ValueId| {
            let place = sources.binary_search(&id);
            place.expect("every batch is a source")
        };
        let samples = packing.samples.iter().map(|sum| {
            let sum = sum.iter().map(|s| [place(s.batch.id), s.coefficient]);
            sum.collect()
        });
        let recorded = recording::Packing {
            values: packing.layout.values(),
            baby_steps: packing.baby_steps,
            samples: samples.collect(),
            sources,
        };
        self.recorder.packing(recorded)
    }

    /// The rotations of the secret that a packing needs. The first packing of a layout makes them.
    fn secret(&self, packing: &Packing<'_, RecordedSamples>) -> Result<Vec<RecordedCiphertext>> {
        let values = packing.layout.values();
        if let Some(made) = self.recorder.secrets(values) {
            return Ok(made);
        }
        let of = |&(of, level): &(usize, usize)| (of == values).then_some(level);
        let level = self.keys.packing.iter().find_map(of);
        let level = level.ok_or(exchange::Error::MissingPackingKey { values })?;
        let made = pack::unfold_baby_steps(
            packing.baby_steps,
            |index| {
                let op = Op::PackingKey { values, index };
                self.push(op, (level, 2, 1))
            },
            |last| self.automorphism(last, pack::rotation(&self.params)),
        )?;
        self.recorder.keep_secrets(values, made.clone());
        Ok(made)
    }
}

fn ids(values: &[&RecordedCiphertext]) -> Vec<ValueId> {
    values.iter().map(|value| value.id).collect()
}

impl Operations for Record<'_> {
    type Ciphertext = RecordedCiphertext;
    type Samples = RecordedSamples;
    type Masks = ();

    fn tensor_sum(
        &self,
        left: &[&RecordedCiphertext],
        right: &[&RecordedCiphertext],
    ) -> Result<RecordedCiphertext> {
        let levels = left.iter().chain(right).map(|ct| ct.ty.level);
        let level = levels.min().expect("a sum of products has a term");
        let [a, b] = [left[0], right[0]].map(|ct| self.factor_at(ct, level));
        let factor = engine::product_factor(&self.params, level, a, b);
        let pairs = left.iter().zip(right);
        let terms = pairs.map(|(a, b)| [a.id, b.id]).collect();
        Ok(self.push(Op::Tensor { terms }, (level, 3, factor)))
    }

    fn combine(
        &self,
        (level, factors): (usize, &[u64]),
        combination: &Combination<'_>,
        low: &[&RecordedCiphertext],
        middle: &[&RecordedCiphertext],
    ) -> Result<Vec<RecordedCiphertext>> {
        let coefficients = combination.coefficients.iter().map(|&c| c as i64);
        let list = Constant::List(coefficients.collect());
        let list = self.recorder.constant(list);
        let groups = combination.rows.chunks(middle.len()).zip(factors);
        let products = groups.enumerate().map(|(g, (rows, &factor))| {
            let op = Op::Combine {
                low: ids(low),
                middle: ids(middle),
                list,
                first: g * middle.len() * low.len(),
                rows: rows.to_vec(),
                columns: combination.columns.clone(),
            };
            self.push(op, (level, 3, factor))
        });
        Ok(products.collect())
    }

    fn relinearize(
        &self,
        product: &RecordedCiphertext,
        dropped: usize,
    ) -> Result<RecordedCiphertext> {
        let op = Op::Relinearize { value: product.id };
        Ok(self.push(op, (product.ty.level - dropped, 2, product.factor())))
    }

    fn mul_plain_sum(
        &self,
        (level, factor): (usize, u64),
        values: &[&RecordedCiphertext],
        plaintext: impl Fn(usize) -> Plain + Sync,
    ) -> Result<RecordedCiphertext> {
        let terms = values.iter().enumerate().map(|(k, value)| {
            let unit = self.unit(value, (level, factor));
            (value.id, self.plain(plaintext(k)), unit)
        });
        let terms = terms.collect();
        Ok(self.push(Op::MulPlain { terms }, (level, 2, factor)))
    }

    fn masks(&self, _: &Packing<'_, RecordedSamples>) {}

    fn mul_masks(
        &self,
        level: usize,
        (packing, ()): (&Packing<'_, RecordedSamples>, &()),
        giants: &[usize],
    ) -> Result<Vec<RecordedCiphertext>> {
        let secret = self.secret(packing)?;
        let secret = &secret[..packing.baby_steps];
        let step = |&giant| {
            let units = secret.iter().map(|ct| self.unit(ct, (level, 1)));
            let op = Op::MulMasks {
                packing: self.packing(packing),
                giant,
                secret: secret.iter().map(|ct| ct.id).collect(),
                units: units.collect(),
            };
            self.push(op, (level, 2, 1))
        };
        Ok(giants.iter().map(step).collect())
    }

    fn add_bodies(
        &self,
        a: &mut RecordedCiphertext,
        packing: &Packing<'_, RecordedSamples>,
    ) -> Result<()> {
        let op = Op::AddBodies {
            value: a.id,
            packing: self.packing(packing),
        };
        *a = self.recorder.push(op, a.ty);
        Ok(())
    }

    fn secret(&self) -> Result<RecordedCiphertext> {
        let values = packing::ALL;
        let of = |&(of, level): &(usize, usize)| (of == values).then_some(level);
        let level = self.keys.packing.iter().find_map(of);
        let level = level.ok_or(exchange::Error::MissingPackingKey { values })?;
        Ok(self.push(Op::PackingKey { values, index: 0 }, (level, 2, 1)))
    }

    fn blocks(&self, samples: &RecordedSamples, component: usize) -> Plain {
        Plain::Blocks {
            value: samples.id,
            component,
        }
    }

    fn trivial(&self, level: usize, plaintext: impl FnOnce() -> Plain) -> RecordedCiphertext {
        let plain = self.plain(plaintext());
        self.push(Op::Trivial { plain }, (level, 2, 1))
    }

    fn add_assign(&self, a: &mut RecordedCiphertext, b: &RecordedCiphertext) -> Result<()> {
        let (left, right) = (a.id, b.id);
        *a = self.recorder.push(Op::Add { left, right }, a.ty);
        Ok(())
    }

    fn sub_assign(&self, a: &mut RecordedCiphertext, b: &RecordedCiphertext) -> Result<()> {
        let (left, right) = (a.id, b.id);
        *a = self.recorder.push(Op::Sub { left, right }, a.ty);
        Ok(())
    }

    fn add_plain_assign(&self, a: &mut RecordedCiphertext, plaintext: impl FnOnce() -> Plain) {
        let plain = self.plain(plaintext());
        *a = self
            .recorder
            .push(Op::AddPlain { value: a.id, plain }, a.ty);
    }

    fn automorphisms(
        &self,
        a: &RecordedCiphertext,
        elements: &[usize],
    ) -> Result<Vec<RecordedCiphertext>> {
        let elements = elements.iter();
        elements.map(|&g| self.automorphism(a, g)).collect()
    }

    fn automorphism(&self, a: &RecordedCiphertext, element: usize) -> Result<RecordedCiphertext> {
        if element == 1 {
            return Ok(*a);
        }
        let op = Op::Automorphism {
            value: a.id,
            element,
        };
        Ok(self.recorder.push(op, a.ty))
    }

    fn switch_to(&self, a: RecordedCiphertext, level: usize) -> Result<RecordedCiphertext> {
        if level == a.ty.level {
            return Ok(a);
        }
        let op = Op::Switch { value: a.id };
        Ok(self.push(op, (level, a.ty.components, a.factor())))
    }

    fn drop_to(&self, a: RecordedCiphertext, level: usize) -> Result<RecordedCiphertext> {
        if level == a.ty.level {
            return Ok(a);
        }
        let factor = self.factor_at(&a, level);
        let op = Op::Drop { value: a.id };
        Ok(self.push(op, (level, a.ty.components, factor)))
    }

    fn reread(&self, a: RecordedCiphertext, factor: u64) -> RecordedCiphertext {
        let op = Op::Scale {
            value: a.id,
            by: Scalar::ONE,
        };
        self.push(op, (a.ty.level, a.ty.components, factor))
    }

    fn rounded(&self, a: &RecordedCiphertext, component: usize, unit: u64) -> Result<Plain> {
        Ok(Plain::Rounded {
            value: a.id,
            component,
            unit,
        })
    }

    fn to_samples(&self, a: &RecordedCiphertext) -> Result<RecordedSamples> {
        let op = Op::ToSamples { value: a.id };
        let id = self.recorder.push_any(op, Type::Samples);
        Ok(RecordedSamples { id })
    }
}
