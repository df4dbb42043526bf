//! Recordings of programs, and traces of recordings.

use crate::error::Result;
use crate::prepared::{Prepared, work};
use circuits::operations::{Record, Recorder};
use circuits::steps::{Made, MadeBy};
use circuits::{Value, engine_of};
use program::recording::Recording;
use program::trace::Trace;
use program::{Op, Type};

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
        let (program, params) = (self.program(), self.params());
        let recorder = Recorder::new((&program.parameters).into());
        let engine = engine_of(params, Record::new(&recorder, params.bfv(), &program.keys));
        let mut outputs = 0;
        let mut made: Vec<MadeBy<Record>> = Vec::with_capacity(program.steps.len());
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
            if let (Op::Output { .. }, Made::Ciphertext(value)) = (&step.op, &value) {
                recorder.output(&outputs.to_string(), value.ciphertext());
                outputs += 1;
            }
            made.push(value);
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
        let steps = &self.program().steps;
        let name = |step: usize| step_name(&steps[step]);
        Ok(lower::lower_named(&self.record()?, name)?)
    }
}
