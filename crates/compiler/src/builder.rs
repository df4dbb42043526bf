//! Writes a program step by step, running each step dry.

use crate::error::Result;
use circuits::coefficients::{Kernel, multiply};
use circuits::transform::SlotsToCoeffs;
use circuits::{Counts, Engine, Layout, LoopParams, Value};
use program::{
    Constant, ConstantId, Form, Indices, Op, Packed, Row, Shape, Step, Term, Type, ValueId,
};
use std::collections::HashMap;

/// A program under construction.
pub(crate) struct Builder<'p> {
    params: &'p LoopParams,
    engine: Engine<'static>,
    counted: Counts,
    layer: String,
    constants: Vec<Constant>,
    /// Constants by their values: equal ones are one.
    known: HashMap<Vec<i64>, ConstantId>,
    steps: Vec<Step>,
    /// The dry value of each step; `None` for samples.
    values: Vec<Option<(Value, Form)>>,
    /// log2 of the probability that each step is wrong.
    failure: Vec<f64>,
}

/// A coefficient of a value that holds samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) batch: ValueId,
    pub(crate) coefficient: usize,
}

/// An output to be packed: its slot, what it is, and the samples whose sum it is.
pub(crate) struct Slot<'s> {
    pub(crate) slot: usize,
    pub(crate) row: Row,
    pub(crate) sum: &'s [Sample],
}

/// What a builder has made.
pub(crate) struct Built {
    pub(crate) constants: Vec<Constant>,
    pub(crate) steps: Vec<Step>,
    pub(crate) needs: circuits::Needs,
    pub(crate) margin_bits: f64,
    /// log2 of the probability that each step is wrong.
    pub(crate) failure: Vec<f64>,
}

impl<'p> Builder<'p> {
    pub(crate) fn new(params: &'p LoopParams) -> Self {
        Self {
            params,
            engine: params.dry_engine(),
            counted: Counts::default(),
            layer: String::new(),
            constants: Vec::new(),
            known: HashMap::new(),
            steps: Vec::new(),
            values: Vec::new(),
            failure: Vec::new(),
        }
    }

    pub(crate) fn params(&self) -> &LoopParams {
        self.params
    }

    pub(crate) fn finish(self) -> Built {
        let ciphertexts = self.values.iter().flatten();
        let margins = ciphertexts.map(|(v, _)| self.engine.margin_bits(v));
        Built {
            margin_bits: margins.fold(f64::INFINITY, f64::min),
            needs: self.engine.needs(),
            constants: self.constants,
            steps: self.steps,
            failure: self.failure,
        }
    }

    /// Following steps belong to the layer of this name.
    pub(crate) fn layer(&mut self, name: &str) {
        self.layer = name.into();
    }

    pub(crate) fn constant(&mut self, name: &str, values: Vec<i64>) -> ConstantId {
        if let Some(&known) = self.known.get(&values) {
            return known;
        }
        self.known.insert(values.clone(), self.constants.len());
        self.constants.push(Constant {
            name: format!("{}.{name}", self.layer),
            values,
        });
        self.constants.len() - 1
    }

    fn push(&mut self, op: Op, value: Option<(Value, Form)>) -> ValueId {
        let counts = self.engine.counts();
        let seconds = counts.since(&self.counted).seconds(self.params.bfv().n());
        self.counted = counts;
        let ty = match &value {
            None => Type::Samples,
            Some((value, form)) => Type::Ciphertext {
                form: *form,
                level: value.level(),
                noise_bits: value.noise().bits(),
            },
        };
        self.steps.push(Step {
            op,
            ty,
            layer: self.layer.clone(),
            seconds,
        });
        self.values.push(value);
        self.failure.push(self.engine.take_failure());
        self.steps.len() - 1
    }

    fn value(&self, id: ValueId) -> &Value {
        let (value, _) = self.values[id].as_ref().expect("operands are ciphertexts");
        value
    }

    pub(crate) fn input(&mut self, index: usize, level: usize) -> ValueId {
        let value = Value::dry(level, self.engine.model().fresh());
        self.push(Op::Input { index }, Some((value, Form::Coefficients)))
    }

    pub(crate) fn mul_coefficients(&mut self, terms: Vec<Term>) -> Result<ValueId> {
        let kernels: Vec<(&Value, Kernel<'_>)> = terms
            .iter()
            .map(|term| {
                let kernel = Kernel {
                    weights: &self.constants[term.weights].values,
                    exponents: &self.constants[term.exponents].values,
                };
                (self.value(term.value), kernel)
            })
            .collect();
        let product = multiply(&self.engine, &kernels)?;
        let op = Op::MulCoefficients { terms };
        Ok(self.push(op, Some((product, Form::Coefficients))))
    }

    pub(crate) fn add_coefficients(
        &mut self,
        value: ValueId,
        term: ConstantId,
        at: ConstantId,
    ) -> ValueId {
        let sum = self.value(value).clone();
        self.engine.count_sum(sum.level());
        self.push(
            Op::AddCoefficients { value, term, at },
            Some((sum, Form::Coefficients)),
        )
    }

    pub(crate) fn samples_of(&mut self, value: ValueId) -> ValueId {
        let digits = self.params.small().digits();
        self.engine.count_samples(self.value(value).level(), digits);
        self.push(Op::ToSamples { value }, None)
    }

    pub(crate) fn pack(
        &mut self,
        slots: &[Slot<'_>],
        layout: Layout,
        start_level: usize,
    ) -> Result<ValueId> {
        let value = circuits::pack::pack(&self.engine, self.params, layout, &[], start_level)?;
        let batches = slots.iter().flat_map(|s| s.sum.iter().map(|s| s.batch));
        let mut sources: Vec<ValueId> = batches.collect();
        sources.sort_unstable();
        sources.dedup();
        let place = |s: &Sample| {
            let source = sources.binary_search(&s.batch);
            [source.expect("every batch is a source"), s.coefficient]
        };
        let packed = |s: &Slot<'_>| {
            let sum = s.sum.iter().map(place).collect();
            Packed(s.slot, s.row.image, s.row.output, sum)
        };
        let mut values: Vec<Packed> = slots.iter().map(packed).collect();
        values.sort_unstable_by_key(|v| v.0);
        let op = Op::Pack {
            values,
            sources,
            start_level,
        };
        Ok(self.push(op, Some((value, Form::Slots(layout.values())))))
    }

    pub(crate) fn table(
        &mut self,
        value: ValueId,
        layout: Layout,
        (polynomial, indices): (ConstantId, Indices),
        shape: circuits::lut::Shape,
    ) -> Result<ValueId> {
        let coefficients = self.constants[polynomial]
            .values
            .iter()
            .map(|&c| c as u64)
            .collect();
        let lut = circuits::lut::Lut::new(coefficients, shape)?;
        let result = lut.apply(&self.engine, layout, self.value(value))?;
        if let Op::Pack { values, .. } = &self.steps[value].op {
            let samples = values.iter().map(|packed| packed.3.len());
            let room = indices.border - indices.bound;
            self.engine
                .note_failure(self.params.log2_beyond(room, samples));
        }
        let op = Op::Table {
            value,
            polynomial,
            indices,
            shape: Shape {
                segments: shape.segments,
                digits: shape.digits,
            },
        };
        Ok(self.push(op, Some((result, Form::Slots(layout.values())))))
    }

    /// Product of two values in slots of one layout.
    pub(crate) fn product(
        &mut self,
        left: ValueId,
        right: ValueId,
        layout: Layout,
    ) -> Result<ValueId> {
        let result = self
            .engine
            .mul("product", self.value(left), self.value(right))?;
        let op = Op::Product { left, right };
        Ok(self.push(op, Some((result, Form::Slots(layout.values())))))
    }

    /// A dense layer from slots, at level 1: what it yields still decrypts there.
    pub(crate) fn dense(
        &mut self,
        value: ValueId,
        layout: Layout,
        weights: ConstantId,
        inputs: usize,
        rows: Vec<Row>,
    ) -> Result<ValueId> {
        let low = self.engine.drop_to(self.value(value).clone(), 1)?;
        let result = circuits::dense::apply_dry(&self.engine, layout, rows.len(), &low)?;
        let op = Op::Dense {
            value,
            weights,
            inputs,
            rows,
        };
        Ok(self.push(op, Some((result, Form::Coefficients))))
    }

    pub(crate) fn slots_to_coefficients(
        &mut self,
        value: ValueId,
        transform: &SlotsToCoeffs,
    ) -> Result<ValueId> {
        let result = transform.apply(&self.engine, self.value(value))?;
        let op = Op::SlotsToCoefficients { value };
        Ok(self.push(op, Some((result, Form::Coefficients))))
    }

    pub(crate) fn output(&mut self, value: ValueId, rows: Vec<Row>, at: Vec<usize>) -> ValueId {
        let result = self.value(value).clone();
        self.push(
            Op::Output { value, rows, at },
            Some((result, Form::Coefficients)),
        )
    }
}
