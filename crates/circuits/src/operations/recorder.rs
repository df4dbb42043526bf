//! Where recorded operations go.

use program::KeyNeeds;
use program::recording::{Message, Op, Packing, Parameters, Recording, Step, Type, ValueId};
use program::trace::{Constant, ConstantId};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A [`Recording`] that is being written, by one mode that records or by several.
pub struct Recorder {
    parameters: Parameters,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    constants: Vec<Constant>,
    /// Constants by their values: equal ones are one.
    known: HashMap<Constant, ConstantId>,
    packings: Vec<Packing>,
    steps: Vec<Step>,
    /// The rotated secrets of each layout, by its number of values.
    secrets: HashMap<usize, Vec<RecordedCiphertext>>,
    /// Number of the program's step at work.
    of: usize,
}

/// A ciphertext of a recording.
#[derive(Clone, Copy, Debug)]
pub struct RecordedCiphertext {
    pub(super) id: ValueId,
    pub(super) ty: program::recording::Ciphertext,
}

impl RecordedCiphertext {
    /// Factor of a message that is a residual.
    pub(super) fn factor(&self) -> u64 {
        match self.ty.message {
            Message::Modulo { factor, .. } => factor,
            Message::Approximate { .. } => 1,
        }
    }
}

/// The parameters of ciphertexts whose messages are modulo `t`, if any, as recordings have them.
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
    /// An empty recording.
    pub fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            state: Mutex::default(),
        }
    }

    /// What follows belongs to step `of` of the program.
    pub fn begin_step(&self, of: usize) {
        self.state().of = of;
    }

    /// A result for the client, under a name.
    pub fn output(&self, name: &str, a: &RecordedCiphertext) {
        let (name, value) = (name.to_owned(), a.id);
        self.push(Op::Output { name, value }, a.ty);
    }

    /// The operations so far, which take the given keys.
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

    /// Says of a step that has no use yet that its value has another type.
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

    /// The number of a packing: the last one's, if it is that.
    pub(super) fn packing(&self, packing: Packing) -> usize {
        let packings = &mut self.state().packings;
        if packings.last() != Some(&packing) {
            packings.push(packing);
        }
        packings.len() - 1
    }

    /// The rotated secrets of a layout, if they are made.
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
