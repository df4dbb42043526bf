//! A body that is being executed, and the last uses of its values.

use super::spare::Spare;
use super::value::Value;
use trace::{Body, Op, ValueId};

/// For each value of a body, the last instruction that uses it.
pub(super) struct Uses {
    last: Vec<Last>,
}

/// The last use of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// No instruction uses the value.
    Never,
    /// The instruction at this index uses the value last.
    At(usize),
    /// The value is a result of the body.
    Result,
}

impl Uses {
    pub(super) fn of(body: &Body) -> Self {
        let made: usize = body.instructions.iter().map(|i| i.types.len()).sum();
        let mut last = vec![Last::Never; body.parameters.len() + made];
        for (index, instruction) in body.instructions.iter().enumerate() {
            let used = |value: ValueId| last[value] = Last::At(index);
            instruction.op.for_each_operand(used);
        }
        body.results.iter().for_each(|&v| last[v] = Last::Result);
        Self { last }
    }
}

/// A body that is being executed.
pub(super) struct Frame<'a> {
    /// Index of the body. The main body is the last.
    pub(super) body: usize,
    /// Index of the next instruction.
    pub(super) next: usize,
    /// Values made so far. Values that are no longer needed are `None`.
    values: Vec<Option<Value>>,
    uses: &'a Uses,
}

impl<'a> Frame<'a> {
    pub(super) fn new(body: usize, uses: &'a [Uses]) -> Self {
        let uses = &uses[body];
        Self {
            body,
            next: 0,
            values: Vec::with_capacity(uses.last.len()),
            uses,
        }
    }

    pub(super) fn value(&self, value: ValueId) -> &Value {
        let held = self.values[value].as_ref();
        held.expect("a value is held until its last use")
    }

    /// Goes on to the next instruction, and drops the values of which `op` was the last use.
    pub(super) fn end(&mut self, op: &Op, spare: &Spare) {
        op.for_each_operand(|value| {
            if self.uses.last[value] == Last::At(self.next)
                && let Some(value) = self.values[value].take()
            {
                value.give_to(spare);
            }
        });
        self.next += 1;
    }

    /// Adds new values, the arguments first. Values without a use are dropped.
    pub(super) fn add(&mut self, made: Vec<Value>, spare: &Spare) {
        for value in made {
            if self.uses.last[self.values.len()] == Last::Never {
                value.give_to(spare);
                self.values.push(None);
            } else {
                self.values.push(Some(value));
            }
        }
    }

    pub(super) fn results(&self, results: &[ValueId]) -> Vec<Value> {
        results.iter().map(|&v| self.value(v).clone()).collect()
    }
}
