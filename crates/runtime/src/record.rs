//! Recordings of programs, and traces of recordings.

use crate::checkpoint::{Checkpoint, kept};
use crate::error::Result;
use crate::prepared::{Prepared, work};
use circuits::operations::{Record, Recorder};
use circuits::steps::{StepValue, StepValueOf};
use circuits::{Value, engine_of};
use lower::names::Held;
use program::recording::Recording;
use program::{Op, Type};
use trace::Trace;

/// The name of a step, as reports show it: its layer and its operation.
pub(crate) fn step_name(step: &program::Step) -> String {
    format!("{}: {}", step.layer, step.op.name())
}

impl Prepared {
    /// Records the operations of a run on ciphertexts, in order. The same code as in a run does
    /// this, in the mode that writes operations down.
    ///
    /// # Errors
    /// Errors of the circuits.
    pub fn record(&self) -> Result<Recording> {
        self.recorded(|_, _| {})
    }

    /// As [`record`](Self::record), with results beside the answer: after each layer except the
    /// last, all values that a [`Checkpoint`] holds.
    fn record_saving(&self) -> Result<Recording> {
        let steps = &self.program().steps;
        self.recorded(|recorder, made| {
            let done = made.len();
            if steps
                .get(done)
                .is_none_or(|next| next.layer == steps[done - 1].layer)
            {
                return;
            }
            for step in kept(self.program(), done) {
                let name = |factor| Held { done, step, factor }.name();
                match &made[step] {
                    StepValue::Ciphertext(value) => {
                        let ct = value.ciphertext();
                        recorder.output(&name(ct.factor()), ct);
                    }
                    StepValue::Samples(samples) => recorder.output_samples(&name(1), samples),
                }
            }
        })
    }

    /// Records a run. `ended` is called after each step, with the results so far.
    fn recorded(
        &self,
        mut ended: impl FnMut(&Recorder, &[StepValueOf<Record<'_>>]),
    ) -> Result<Recording> {
        let (program, params) = (self.program(), self.params());
        let recorder = Recorder::new((&program.parameters).into());
        let engine = engine_of(params, Record::new(&recorder, params.bfv(), &program.keys));
        let mut outputs = 0;
        let mut made: Vec<StepValueOf<Record>> = Vec::with_capacity(program.steps.len());
        for (index, step) in program.steps.iter().enumerate() {
            recorder.begin_step(index);
            let level = match step.ty {
                Type::Ciphertext { level, .. } => level,
                Type::Samples => 0,
            };
            let input = |index: usize| {
                let ct = engine.operations().input(index, level);
                Value::new(ct, level, 1, engine.model().fresh())
            };
            let work = work(program, params, self.actions(), index);
            let value = work.run(&engine, |id| made.get(id), input)?;
            if let (Op::Output { .. }, StepValue::Ciphertext(value)) = (&step.op, &value) {
                recorder.output(&outputs.to_string(), value.ciphertext());
                outputs += 1;
            }
            made.push(value);
            ended(&recorder, &made);
        }
        drop(engine);
        Ok(recorder.finish(&program.keys))
    }

    /// Checks that a trace equals the result of [`lower`](Self::lower) on this program, instruction
    /// by instruction.
    ///
    /// # Errors
    /// [`lower::Error::Differs`] with the first difference.
    pub fn check_trace(&self, trace: &Trace) -> Result<()> {
        Ok(lower::check(&self.record()?, trace)?)
    }

    /// Returns the instructions on limbs of a run.
    ///
    /// # Errors
    /// Errors of the circuits and of lowering.
    pub fn lower(&self) -> Result<Trace> {
        self.lowered(&self.record()?)
    }

    /// As [`lower`](Self::lower), for a run that can be resumed: after each layer except the last,
    /// it stores the values of a [`Checkpoint`], which [`Checkpoint::of_results`] makes of them.
    /// With a checkpoint this is [the rest](Trace::resumed) of such a run.
    ///
    /// # Errors
    /// As [`lower`](Self::lower).
    pub fn lower_saving(&self, from: Option<&Checkpoint>) -> Result<Trace> {
        let trace = self.lowered(&self.record_saving()?)?;
        match from {
            Some(from) => Ok(trace.resumed(|name| from.limbs(name).is_some())?),
            None => Ok(trace),
        }
    }

    fn lowered(&self, recording: &Recording) -> Result<Trace> {
        let steps = &self.program().steps;
        let name = |step: usize| step_name(&steps[step]);
        Ok(lower::lower_named(recording, name)?)
    }
}
