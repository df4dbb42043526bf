//! Writes a program step by step and runs each step dry.

use crate::error::Result;
use crate::linear::Outputs;
use crate::merge::Over;
use circuits::operations::Dry;
use circuits::steps::{Action, Maps, StepValueOf, Work};
use circuits::{Counts, DryValue, Engine, PublicRun, Value, dry_engine};
use exchange::{Layout, LoopParams, Needs};
use program::{
    Constant, ConstantId, Flood, Form, Indices, Op, Packed, Row, Shifted, Step, TableShape, Term,
    Type, ValueId,
};
use std::collections::HashMap;

/// A program under construction.
pub(crate) struct Builder<'p> {
    params: &'p LoopParams,
    maps: &'p Maps,
    /// log2 of the largest probability that a run is wrong.
    log2_failure: f64,
    engine: Engine<Dry>,
    counted: Counts,
    layer: String,
    constants: Vec<Constant>,
    /// Constants by their values. Equal constants are stored once.
    known: HashMap<Vec<i64>, ConstantId>,
    steps: Vec<Step>,
    /// Results of each step's dry run.
    made: Vec<StepValueOf<Dry>>,
    /// log2 of the probability that each step is wrong.
    failure: Vec<f64>,
    /// Margin of the answer's ciphertexts after they are hidden.
    hidden_margin_bits: f64,
}

/// One sample of a value that holds samples: the value and the coefficient.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) batch: ValueId,
    pub(crate) coefficient: usize,
}

/// An output to be packed: its slot, its image and output index, and the samples whose sum it is.
pub(crate) struct Slot<'s> {
    pub(crate) slot: usize,
    pub(crate) row: Row,
    pub(crate) sum: &'s [Sample],
}

/// The finished parts of a program.
pub(crate) struct Built {
    pub(crate) constants: Vec<Constant>,
    pub(crate) steps: Vec<Step>,
    pub(crate) needs: Needs,
    pub(crate) margin_bits: f64,
    /// log2 of the probability that each step is wrong.
    pub(crate) failure: Vec<f64>,
    /// The run with inputs under a public key.
    pub(crate) public: PublicRun,
}

impl<'p> Builder<'p> {
    pub(crate) fn new(params: &'p LoopParams, maps: &'p Maps, log2_failure: f64) -> Self {
        Self {
            params,
            maps,
            log2_failure,
            engine: dry_engine(params),
            counted: Counts::default(),
            layer: String::new(),
            constants: Vec::new(),
            known: HashMap::new(),
            steps: Vec::new(),
            made: Vec::new(),
            failure: Vec::new(),
            hidden_margin_bits: f64::INFINITY,
        }
    }

    pub(crate) fn params(&self) -> &LoopParams {
        self.params
    }

    pub(crate) fn log2_failure(&self) -> f64 {
        self.log2_failure
    }

    pub(crate) fn finish(self) -> Result<Built> {
        let of = (&self.constants[..], &self.steps[..]);
        let public = PublicRun::new(self.params, of, &self.made, &self.failure)?;
        let ciphertexts = self.made.iter().filter_map(StepValueOf::<Dry>::value);
        let margins = ciphertexts.map(|v| self.engine.margin_bits(v));
        Ok(Built {
            margin_bits: margins.fold(self.hidden_margin_bits, f64::min),
            needs: self.engine.needs(),
            constants: self.constants,
            steps: self.steps,
            failure: self.failure,
            public,
        })
    }

    /// Sets the layer to which the following steps belong.
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

    /// Runs a step dry and appends it. `level` is the level of an input or of a dense layer.
    fn push(&mut self, op: Op, form: Form, level: usize) -> Result<ValueId> {
        let of = (&self.constants[..], &self.steps[..]);
        let action = Action::new(self.params, of, &op, self.maps)?;
        let work = Work {
            params: self.params,
            constants: &self.constants,
            steps: &self.steps,
            op: &op,
            action: &action,
            form,
            level,
        };
        let input = |_| Value::dry(level, self.engine.model().fresh());
        let made = work.run(&self.engine, |id| self.made.get(id), input)?;
        let ty = match made.value() {
            None => Type::Samples,
            Some(value) => Type::Ciphertext {
                form,
                level: value.level(),
                noise_bits: value.noise().bits(),
            },
        };
        let counts = self.engine.counts();
        let seconds = counts.since(&self.counted).seconds(self.params.bfv().n());
        self.counted = counts;
        self.steps.push(Step {
            op,
            ty,
            layer: self.layer.clone(),
            seconds,
        });
        self.made.push(made);
        self.failure.push(self.engine.take_failure());
        Ok(self.steps.len() - 1)
    }

    pub(crate) fn input(&mut self, index: usize, level: usize) -> Result<ValueId> {
        self.push(Op::Input { index }, Form::Coefficients, level)
    }

    pub(crate) fn mul_coefficients(&mut self, terms: Vec<Term>) -> Result<ValueId> {
        self.push(Op::MulCoefficients { terms }, Form::Coefficients, 0)
    }

    pub(crate) fn add_coefficients(
        &mut self,
        value: ValueId,
        term: ConstantId,
        at: ConstantId,
    ) -> Result<ValueId> {
        let op = Op::AddCoefficients { value, term, at };
        self.push(op, Form::Coefficients, 0)
    }

    pub(crate) fn samples_of(&mut self, value: ValueId) -> Result<ValueId> {
        self.push(Op::ToSamples { value }, Form::Coefficients, 0)
    }

    pub(crate) fn pack(
        &mut self,
        slots: &[Slot<'_>],
        layout: Layout,
        start_level: usize,
    ) -> Result<ValueId> {
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
        self.push(op, Form::Slots(layout.values()), 0)
    }

    /// Packs all samples of a ciphertext. Output `outputs[i]` has the strip of `batch` coefficients
    /// that begins at `i batch`.
    pub(crate) fn pack_all(
        &mut self,
        value: ValueId,
        layout: Layout,
        (outputs, batch): (Vec<usize>, usize),
        start_level: usize,
    ) -> Result<ValueId> {
        let op = Op::PackAll {
            value,
            outputs,
            batch,
            start_level,
        };
        self.push(op, Form::Slots(layout.values()), 0)
    }

    pub(crate) fn table(
        &mut self,
        value: ValueId,
        layout: Layout,
        (polynomial, indices): (ConstantId, Indices),
        shape: TableShape,
    ) -> Result<ValueId> {
        let op = Op::Table {
            value,
            polynomial,
            indices,
            shape,
        };
        self.push(op, Form::Slots(layout.values()), 0)
    }

    /// Product of two values in slots. Both have the same layout.
    pub(crate) fn product(
        &mut self,
        left: ValueId,
        right: ValueId,
        layout: Layout,
    ) -> Result<ValueId> {
        let op = Op::Product { left, right };
        self.push(op, Form::Slots(layout.values()), 0)
    }

    /// A dense layer from slots, at a level at which its result still decrypts: 1 or more.
    /// `weights` come with the number of inputs of an output.
    pub(crate) fn dense(
        &mut self,
        value: ValueId,
        level: usize,
        (weights, inputs): (ConstantId, usize),
        rows: Vec<Row>,
    ) -> Result<ValueId> {
        let op = Op::Dense {
            value,
            weights,
            inputs,
            rows,
        };
        self.push(op, Form::Coefficients, level)
    }

    pub(crate) fn slots_to_coefficients(&mut self, value: ValueId) -> Result<ValueId> {
        self.some_to_coefficients(value, None)
    }

    /// Slots to coefficients of a range alone. Other coefficients become 0.
    pub(crate) fn some_to_coefficients(
        &mut self,
        value: ValueId,
        kept: Option<[usize; 2]>,
    ) -> Result<ValueId> {
        let op = Op::SlotsToCoefficients { value, kept };
        self.push(op, Form::Coefficients, 0)
    }

    /// The flood over a value of the answer.
    pub(crate) fn flood_over(&self, made: &DryValue, over: Over) -> Option<Flood> {
        let (t, noise_bits) = (self.params.bfv().t().value(), made.peak().bits());
        over.map(|(count, answers)| Flood::over(noise_bits, t, count, answers))
    }

    /// The dry value of a ciphertext.
    ///
    /// # Panics
    /// If the value holds samples.
    pub(crate) fn dry(&self, value: ValueId) -> DryValue {
        let made = self.made[value].value();
        made.expect("the value is a ciphertext").clone()
    }

    pub(crate) fn merge(&mut self, sources: Vec<Shifted>) -> Result<ValueId> {
        self.push(Op::Merge { sources }, Form::Coefficients, 0)
    }

    /// Outputs. `over` is the number of all outputs of the program and the number of answers over
    /// which floods hide their noise.
    pub(crate) fn output(
        &mut self,
        Outputs { value, rows, at }: Outputs,
        over: Over,
    ) -> Result<ValueId> {
        let mut flood = None;
        if let Some(made) = self.made[value].value() {
            flood = self.flood_over(made, over);
            let hidden = self.engine.hidden(made, flood);
            let margin = self.engine.margin_bits(&hidden);
            self.hidden_margin_bits = self.hidden_margin_bits.min(margin);
        }
        let op = Op::Output {
            value,
            rows,
            at,
            flood,
        };
        self.push(op, Form::Coefficients, 0)
    }
}
