//! Operations are written down.

use super::{Combination, Operations, Packing, Plain, Words};
use crate::error::Result;
use crate::keys::LoopParams;
use crate::pack;
use program::recording::{self, Op, Recording, Step, Type, ValueId};
use program::trace::{Constant, ConstantId};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The mode that writes operations down, as a [`Recording`].
pub struct Record {
    params: LoopParams,
    parameters: program::Parameters,
    keys: program::KeyNeeds,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    constants: Vec<Constant>,
    /// Constants by their values: equal ones are one.
    known: HashMap<Constant, ConstantId>,
    packings: Vec<recording::Packing>,
    steps: Vec<Step>,
    /// The rotated secrets of each layout, by its number of values.
    secrets: HashMap<usize, Vec<RecordedCiphertext>>,
    /// Number of the program's step at work.
    of: usize,
}

/// A ciphertext of a recording.
#[derive(Clone, Copy, Debug)]
pub struct RecordedCiphertext {
    id: ValueId,
    level: usize,
    components: usize,
    factor: u64,
}

/// The samples of a recording's ciphertext.
#[derive(Clone, Copy, Debug)]
pub struct RecordedSamples {
    id: ValueId,
}

impl Record {
    /// An empty recording of a run with the given keys.
    pub fn new(
        params: &LoopParams,
        parameters: &program::Parameters,
        keys: &program::KeyNeeds,
    ) -> Self {
        Self {
            params: params.clone(),
            parameters: parameters.clone(),
            keys: keys.clone(),
            state: Mutex::default(),
        }
    }

    /// What follows belongs to step `of` of the program.
    pub fn begin_step(&self, of: usize) {
        self.state().of = of;
    }

    /// Ciphertext `index` of the client, at a level.
    pub fn input(&self, index: usize, level: usize) -> RecordedCiphertext {
        self.push(Op::Input { index }, (level, 2, 1))
    }

    /// A result for the client.
    pub fn output(&self, a: &RecordedCiphertext) {
        self.push(Op::Output { value: a.id }, a.parts());
    }

    /// The operations so far.
    pub fn finish(self) -> Recording {
        let state = self.state.into_inner();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        Recording {
            parameters: self.parameters,
            keys: self.keys,
            constants: state.constants,
            packings: state.packings,
            steps: state.steps,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, op: Op, (level, components, factor): (usize, usize, u64)) -> RecordedCiphertext {
        let ct = recording::Ciphertext {
            level,
            components,
            factor,
        };
        let id = self.state().push(op, Type::Ciphertext(ct));
        RecordedCiphertext {
            id,
            level,
            components,
            factor,
        }
    }

    fn plain(&self, plain: Plain) -> recording::Plain {
        let (words, slots) = match plain {
            Plain::Coefficients(words) => (words, false),
            Plain::Slots(words) => (words, true),
        };
        let constant = match words {
            Words::All(words) => Constant::Words(words.iter().map(|&w| i64::from(w)).collect()),
            Words::Sparse(entries) => Constant::Sparse(entries),
            Words::Repeat { run, values } => Constant::Repeat {
                run,
                values: values.iter().map(|&v| v as i64).collect(),
            },
        };
        recording::Plain {
            constant: self.state().constant(constant),
            slots,
        }
    }

    /// Factor of a ciphertext when dropped to `level`.
    fn factor_at(&self, a: &RecordedCiphertext, level: usize) -> u64 {
        self.params.factor_at((a.level, a.factor), level)
    }

    /// What a plaintext is multiplied by, for the factor `factor` of its product with `a` at `level`.
    fn unit(&self, a: &RecordedCiphertext, (level, factor): (usize, u64)) -> u64 {
        let t = self.params.bfv().t();
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
        let packings = &mut self.state().packings;
        if packings.last() != Some(&recorded) {
            packings.push(recorded);
        }
        packings.len() - 1
    }

    /// The rotations of the secret that a packing takes: the first packing of a layout makes them.
    fn secret(&self, packing: &Packing<'_, RecordedSamples>) -> Result<Vec<RecordedCiphertext>> {
        let values = packing.layout.values();
        if let Some(made) = self.state().secrets.get(&values) {
            return Ok(made.clone());
        }
        let of = |&(of, level): &(usize, usize)| (of == values).then_some(level);
        let level = self.keys.packing.iter().find_map(of);
        let level = level.ok_or(crate::Error::MissingPackingKey { values })?;
        let made = pack::unfold_baby_steps(
            packing.baby_steps,
            |index| {
                let op = Op::PackingKey { values, index };
                self.push(op, (level, 2, 1))
            },
            |last| self.automorphism(last, pack::rotation(self.params.bfv())),
        )?;
        self.state().secrets.insert(values, made.clone());
        Ok(made)
    }
}

impl State {
    fn push(&mut self, op: Op, ty: Type) -> ValueId {
        let of = self.of;
        self.steps.push(Step { op, ty, of });
        self.steps.len() - 1
    }

    fn constant(&mut self, constant: Constant) -> ConstantId {
        if let Some(&known) = self.known.get(&constant) {
            return known;
        }
        let id = self.constants.len();
        self.known.insert(constant.clone(), id);
        self.constants.push(constant);
        id
    }
}

impl RecordedCiphertext {
    fn parts(&self) -> (usize, usize, u64) {
        (self.level, self.components, self.factor)
    }
}

fn ids(values: &[&RecordedCiphertext]) -> Vec<ValueId> {
    values.iter().map(|value| value.id).collect()
}

impl Operations for Record {
    type Ciphertext = RecordedCiphertext;
    type Samples = RecordedSamples;

    fn tensor_sum(
        &self,
        left: &[&RecordedCiphertext],
        right: &[&RecordedCiphertext],
    ) -> Result<RecordedCiphertext> {
        let levels = left.iter().chain(right).map(|ct| ct.level);
        let level = levels.min().expect("a sum of products has a term");
        let [a, b] = [left[0], right[0]].map(|ct| self.factor_at(ct, level));
        let factor = self.params.product_factor(level, a, b);
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
        let list = self.state().constant(list);
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
        Ok(self.push(op, (product.level - dropped, 2, product.factor)))
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

    fn mul_masks(
        &self,
        level: usize,
        packing: &Packing<'_, RecordedSamples>,
        giant: usize,
    ) -> Result<RecordedCiphertext> {
        let secret = self.secret(packing)?;
        let secret = &secret[..packing.baby_steps];
        let units = secret.iter().map(|ct| self.unit(ct, (level, 1)));
        let op = Op::MulMasks {
            packing: self.packing(packing),
            giant,
            secret: secret.iter().map(|ct| ct.id).collect(),
            units: units.collect(),
        };
        Ok(self.push(op, (level, 2, 1)))
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
        *a = self.push(op, a.parts());
        Ok(())
    }

    fn trivial(&self, level: usize, plaintext: impl FnOnce() -> Plain) -> RecordedCiphertext {
        let plain = self.plain(plaintext());
        self.push(Op::Trivial { plain }, (level, 2, 1))
    }

    fn add_assign(&self, a: &mut RecordedCiphertext, b: &RecordedCiphertext) -> Result<()> {
        let (left, right) = (a.id, b.id);
        *a = self.push(Op::Add { left, right }, a.parts());
        Ok(())
    }

    fn sub_assign(&self, a: &mut RecordedCiphertext, b: &RecordedCiphertext) -> Result<()> {
        let (left, right) = (a.id, b.id);
        *a = self.push(Op::Sub { left, right }, a.parts());
        Ok(())
    }

    fn add_plain_assign(&self, a: &mut RecordedCiphertext, plaintext: impl FnOnce() -> Plain) {
        let plain = self.plain(plaintext());
        *a = self.push(Op::AddPlain { value: a.id, plain }, a.parts());
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
        Ok(self.push(op, a.parts()))
    }

    fn switch_to(&self, a: RecordedCiphertext, level: usize) -> Result<RecordedCiphertext> {
        if level == a.level {
            return Ok(a);
        }
        let op = Op::Switch { value: a.id };
        Ok(self.push(op, (level, a.components, a.factor)))
    }

    fn drop_to(&self, a: RecordedCiphertext, level: usize) -> Result<RecordedCiphertext> {
        if level == a.level {
            return Ok(a);
        }
        let factor = self.factor_at(&a, level);
        let op = Op::Drop { value: a.id };
        Ok(self.push(op, (level, a.components, factor)))
    }

    fn reread(&self, a: RecordedCiphertext, factor: u64) -> RecordedCiphertext {
        RecordedCiphertext { factor, ..a }
    }

    fn to_samples(&self, a: &RecordedCiphertext) -> Result<RecordedSamples> {
        let op = Op::ToSamples { value: a.id };
        let id = self.state().push(op, Type::Samples);
        Ok(RecordedSamples { id })
    }
}
