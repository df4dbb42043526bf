//! A program made ready to run: parameters built, and what depends on constants alone computed.

use crate::error::Result;
use crate::memory::{self, Memory};
use crate::rehearse::rehearse;
use circuits::steps::{Action, Work};
use circuits::transform::SlotsToCoeffs;
use circuits::{DryValue, LoopParams, Needs};
use program::{Form, Op, Program, Type};
use rlwe::ParamsSpec;
use rlwe::bytes::{Fingerprint, fingerprint};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A verified program with its parameters. Cheap to clone.
#[derive(Clone)]
pub struct Prepared(Arc<Inner>);

struct Inner {
    program: Program,
    params: LoopParams,
    fingerprint: Fingerprint,
    actions: Vec<Action>,
    /// For each step, the level and noise of the ciphertext it makes.
    rehearsed: Vec<Option<DryValue>>,
    /// log2 of the probability that each step is wrong.
    failure: Vec<f64>,
    memory: Memory,
}

impl Prepared {
    /// Builds the parameters, which checks their security, prepares the constants, and rehearses the steps:
    /// levels, noise and keys must be those that the circuits give.
    ///
    /// # Errors
    /// If the parameters are not secure or name no ring, constants do not fit, or the steps would not run
    /// as the program says.
    pub fn new(program: Program) -> Result<Self> {
        program.verify()?;
        let p = &program.parameters;
        let spec = ParamsSpec {
            n: p.n,
            q: p.q.clone(),
            p: p.p.clone(),
            digit_limbs: p.digit_limbs,
        };
        let bfv = bfv::Params::new(&spec, p.t)?;
        let params = LoopParams::new(&bfv, p.lwe_dimension, p.lwe_digit_bits)?;
        let params = params
            .with_slack(p.slack_bits)
            .with_baby_steps(p.baby_steps)?;
        let actions = actions(&program, &params)?;
        let (rehearsed, failure) = rehearse(&program, &params, &actions)?;
        let needs = needs_of(&program);
        let memory = memory::predict(&program, &params, &needs, &actions, &rehearsed)?;
        let fingerprint = fingerprint(program.to_json().as_bytes());
        Ok(Self(Arc::new(Inner {
            program,
            params,
            fingerprint,
            actions,
            rehearsed,
            failure,
            memory,
        })))
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.0.program
    }

    /// Its parameters.
    pub fn params(&self) -> &LoopParams {
        &self.0.params
    }

    /// What binds keys and ciphertexts to this program.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.0.fingerprint
    }

    pub(crate) fn actions(&self) -> &[Action] {
        &self.0.actions
    }

    /// Level and predicted noise of the ciphertext that a step makes; `None` if it makes samples.
    pub(crate) fn rehearsed(&self, step: usize) -> Option<&DryValue> {
        self.0.rehearsed[step].as_ref()
    }

    /// The keys the program uses.
    pub fn needs(&self) -> Needs {
        needs_of(self.program())
    }

    /// log2 of a bound on the probability that each step of a run makes a wrong value; minus infinity
    /// where none can be.
    ///
    /// Sums over all coefficients and values, and over everything that a step computes on its way. The
    /// probabilities are averages over keys.
    pub fn failure(&self) -> &[f64] {
        &self.0.failure
    }

    /// Standard deviation of the rounding noise of each layer's accumulators, in the order of the
    /// layers that have a table: samples that are added up bring noise each.
    pub fn sigmas(&self) -> Vec<(String, f64)> {
        // A factor of a product is packed more than once, and is the same sum.
        type Sums = BTreeMap<(usize, usize), usize>;
        let mut layers: Vec<(&str, Sums)> = Vec::new();
        for step in &self.program().steps {
            let Op::Pack { values, .. } = &step.op else {
                continue;
            };
            if layers.last().is_none_or(|(name, _)| *name != step.layer) {
                layers.push((&step.layer, BTreeMap::new()));
            }
            if let Some((_, samples)) = layers.last_mut() {
                samples.extend(values.iter().map(|p| ((p.1, p.2), p.3.len())));
            }
        }
        let sigma = self.params().rounding_sigma();
        let layers = layers.into_iter().map(|(name, samples)| {
            let mean = samples.values().sum::<usize>() as f64 / samples.len().max(1) as f64;
            (name.to_owned(), sigma * mean.sqrt())
        });
        layers.collect()
    }

    /// Predicted largest resident memory of a process; `docs/cli.md` has what was measured.
    pub fn memory(&self) -> Memory {
        self.0.memory
    }

    /// Level of the client's ciphertexts.
    pub(crate) fn input_level(&self) -> usize {
        let input = self
            .program()
            .steps
            .iter()
            .find(|s| matches!(s.op, Op::Input { .. }));
        match input.map(|s| s.ty) {
            Some(program::Type::Ciphertext { level, .. }) => level,
            _ => 0,
        }
    }

    /// Steps that yield results, with their levels, in order.
    pub(crate) fn outputs(&self) -> Vec<(usize, usize)> {
        let steps = self.program().steps.iter().enumerate();
        steps
            .filter_map(|(id, step)| match (&step.op, step.ty) {
                (Op::Output { .. }, program::Type::Ciphertext { level, .. }) => Some((id, level)),
                _ => None,
            })
            .collect()
    }
}

fn needs_of(program: &Program) -> Needs {
    let keys = &program.keys;
    Needs::new(keys.relinearization, &keys.galois, &keys.packing)
}

/// What each step does. Slots to coefficients are made once.
fn actions(program: &Program, params: &LoopParams) -> Result<Vec<Action>> {
    let mut made: Option<Arc<SlotsToCoeffs>> = None;
    let mut actions = Vec::with_capacity(program.steps.len());
    for step in &program.steps {
        let transform = || match &made {
            Some(made) => Ok(made.clone()),
            None => SlotsToCoeffs::balanced(params.bfv().encoder()).map(Arc::new),
        };
        let of = (&program.constants[..], &program.steps[..]);
        let action = Action::new(params, of, &step.op, transform)?;
        if let Action::Transform(transform) = &action {
            made = Some(transform.clone());
        }
        actions.push(action);
    }
    Ok(actions)
}

/// Step `index` of a program, ready to be run.
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
