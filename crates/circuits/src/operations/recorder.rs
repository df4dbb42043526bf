//! The recorder to which recorded operations are written.

use super::RecordedSamples;
use program::KeyNeeds;
use program::recording::{Message, Op, Packing, Parameters, Recording, Step, Type, ValueId};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use trace::{Constant, ConstantId};

/// A [`Recording`] that is being written, by one or several modes that record.
pub struct Recorder {
    parameters: Parameters,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    constants: Vec<Constant>,
    /// Constants by their values. Equal constants are stored once.
    known: HashMap<Constant, ConstantId>,
    packings: Vec<Packing>,
    steps: Vec<Step>,
    /// The rotated secrets of each layout, by its number of values.
    secrets: HashMap<usize, Vec<RecordedCiphertext>>,
    /// Number of the program's step that is being recorded.
    of: usize,
}

/// A ciphertext of a recording.
#[derive(Clone, Copy, Debug)]
pub struct RecordedCiphertext {
    pub(super) id: ValueId,
    pub(super) ty: program::recording::Ciphertext,
}

impl RecordedCiphertext {
    /// Factor of the message, if the message is a residual.
    pub fn factor(&self) -> u64 {
        match self.ty.message {
            Message::Modulo { factor, .. } => factor,
            Message::Approximate { .. } => 1,
        }
    }
}

/// The parameters in the form of recordings. `t` lists the plaintext moduli, if messages are modulo
/// `t`.
pub fn parameters(rlwe: &rlwe::Params, t: Vec<u64>) -> Parameters {
    let spec = rlwe.spec();
    Parameters {
        n: spec.n,
        q: spec.q.clone(),
        p: spec.p.clone(),
        digits: rlwe.digits(rlwe.max_level()).collect(),
        t,
        samples: None,
    }
}

impl Recorder {
    /// Makes an empty recording.
    pub fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            state: Mutex::default(),
        }
    }

    /// Sets the step of the program to which the following operations belong.
    pub fn begin_step(&self, of: usize) {
        self.state().of = of;
    }

    /// Records a result, with its name.
    pub fn output(&self, name: &str, a: &RecordedCiphertext) {
        let (name, value) = (name.to_owned(), a.id);
        self.push(Op::Output { name, value }, a.ty);
    }

    /// Records samples as a result, with its name.
    pub fn output_samples(&self, name: &str, a: &RecordedSamples) {
        let (name, value) = (name.to_owned(), a.id);
        self.push_any(Op::Output { name, value }, Type::Samples);
    }

    /// Returns the recorded operations. `keys` lists the keys that they need.
    pub fn finish(self, keys: &KeyNeeds) -> Recording {
        let state = self.state.into_inner();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        Recording {
            parameters: self.parameters,
            keys: keys.clone(),
            constants: state.constants,
            packings: state.packings,
            steps: state.steps,
        }
    }

    pub(super) fn push(&self, op: Op, ty: program::recording::Ciphertext) -> RecordedCiphertext {
        let id = self.push_any(op, Type::Ciphertext(ty));
        RecordedCiphertext { id, ty }
    }

    pub(super) fn push_any(&self, op: Op, ty: Type) -> ValueId {
        let mut state = self.state();
        let of = state.of;
        state.steps.push(Step { op, ty, of });
        state.steps.len() - 1
    }

    /// Changes the type of a step's value. No later step may use the value yet.
    pub(super) fn restate(&self, a: &RecordedCiphertext) {
        self.state().steps[a.id].ty = Type::Ciphertext(a.ty);
    }

    pub(super) fn constant(&self, constant: Constant) -> ConstantId {
        let mut state = self.state();
        if let Some(&known) = state.known.get(&constant) {
            return known;
        }
        let id = state.constants.len();
        state.known.insert(constant.clone(), id);
        state.constants.push(constant);
        id
    }

    /// Returns the number of a packing. If it equals the last packing, it has the same number.
    pub(super) fn packing(&self, packing: Packing) -> usize {
        let packings = &mut self.state().packings;
        if packings.last() != Some(&packing) {
            packings.push(packing);
        }
        packings.len() - 1
    }

    /// The rotated secrets of a layout, if they exist already.
    pub(super) fn secrets(&self, values: usize) -> Option<Vec<RecordedCiphertext>> {
        self.state().secrets.get(&values).cloned()
    }

    pub(super) fn keep_secrets(&self, values: usize, made: Vec<RecordedCiphertext>) {
        self.state().secrets.insert(values, made);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
