//! A program prepared to run: with its parameters, and with everything computed that depends on
//! constants alone.

use crate::error::Result;
use crate::memory::{self, Memory};
use crate::rehearse::{Rehearsed, rehearse};
use circuits::steps::{Action, Maps, Work};
use circuits::{Counts, DryValue, PublicRun};
use exchange::{LoopParams, Verified};
use program::{Form, Program, Step, Type};
use std::ops::Deref;
use std::sync::Arc;

/// A program prepared for runs, as a server needs it. Cheap to clone.
#[derive(Clone)]
pub struct Prepared(Arc<Inner>);

struct Inner {
    verified: Verified,
    actions: Vec<Action>,
    rehearsed: Rehearsed,
    memory: Memory,
}

impl Prepared {
    /// Verifies a program and prepares it.
    ///
    /// # Errors
    /// The errors of [`Verified::new`] and [`Prepared::of`].
    pub fn new(program: Program) -> Result<Self> {
        Self::of(&Verified::new(program)?)
    }

    /// Prepares the constants and rehearses the steps: levels and keys must be those that the
    /// circuits give, and noise and failure no worse than the program states.
    ///
    /// # Errors
    /// If constants do not fit, or the steps would not run as the program says.
    pub fn of(verified: &Verified) -> Result<Self> {
        let (program, params) = (verified.program(), verified.params());
        let actions = actions(program, params)?;
        let rehearsed = rehearse(program, params, &actions)?;
        let memory = memory::predict(
            program,
            params,
            &verified.needs(),
            &actions,
            &rehearsed.values,
        )?;
        Ok(Self(Arc::new(Inner {
            verified: verified.clone(),
            actions,
            rehearsed,
            memory,
        })))
    }

    /// The program and its parameters.
    pub fn verified(&self) -> &Verified {
        &self.0.verified
    }

    pub(crate) fn actions(&self) -> &[Action] {
        &self.0.actions
    }

    /// Level and predicted noise of the ciphertext that a step makes. `None` if it makes samples.
    pub(crate) fn rehearsed(&self, step: usize) -> Option<&DryValue> {
        self.0.rehearsed.values[step].as_ref()
    }

    /// For each step of a run, log2 of a bound on the probability that it makes a wrong value. It
    /// is minus infinity if the step cannot.
    ///
    /// The bound is a sum over all coefficients and values, and over everything that a step
    /// computes. The probabilities are averages over keys.
    pub fn failure(&self) -> &[f64] {
        &self.0.rehearsed.failure
    }

    /// The dry run with inputs under a public key. The program may promise nothing of such runs:
    /// see [`Prediction::public_inputs`](program::Prediction::public_inputs).
    pub fn public_run(&self) -> &PublicRun {
        &self.0.rehearsed.public
    }

    /// The work of a run, counted by a dry run.
    pub fn counts(&self) -> Counts {
        self.0.rehearsed.counts
    }

    /// Predicted largest resident memory of a process. `docs/notes/predictions.md` has measured
    /// figures.
    pub fn memory(&self) -> Memory {
        self.0.memory
    }
}

impl Deref for Prepared {
    type Target = Verified;

    fn deref(&self) -> &Verified {
        &self.0.verified
    }
}

/// The action of each step. The maps between slots and coefficients are made once.
fn actions(program: &Program, params: &LoopParams) -> Result<Vec<Action>> {
    let maps = Maps::default();
    let of = (&program.constants[..], &program.steps[..]);
    let action = |step: &Step| Ok(Action::new(params, of, &step.op, &maps)?);
    program.steps.iter().map(action).collect()
}

/// Step `index` of a program with everything it needs to run.
pub(crate) fn work<'a>(
    program: &'a Program,
    params: &'a LoopParams,
    actions: &'a [Action],
    index: usize,
) -> Work<'a> {
    let step = &program.steps[index];
    let (form, level) = match step.ty {
        Type::Ciphertext { form, level, .. } => (form, level),
        Type::Samples => (Form::Coefficients, 0),
    };
    Work {
        params,
        constants: &program.constants,
        steps: &program.steps,
        op: &step.op,
        action: &actions[index],
        form,
        level,
    }
}
