//! The fold over a circuit: computes a value for each step in order, from the values of its
//! operands, and frees each value after its last use.
//!
//! A run in the clear, a run on ciphertexts and a prediction of noise are each a [`Meaning`]. A
//! meaning only defines the effect of an operation on its kind of values.

use crate::error::Result;
use program::circuit::{Circuit, Effect, Op, Type, ValueId};
use std::collections::BTreeMap;

/// The meaning of operations for one kind of values.
pub(super) trait Meaning {
    /// A value: slots, a ciphertext, a noise.
    type Value;

    /// Returns the value of a step. `values` has the values of its operands.
    ///
    /// # Errors
    /// The errors of the meaning. The fold ends with the first.
    fn step(&mut self, step: &Current<'_>, values: &mut Values<Self::Value>)
    -> Result<Self::Value>;
}

/// The step whose value is computed.
pub(super) struct Current<'c> {
    pub(super) index: usize,
    pub(super) op: &'c Op,
    pub(super) effect: Effect<'c>,
    pub(super) ty: Type,
}

/// Computed values that later steps still need.
pub(super) struct Values<V> {
    held: Vec<Option<V>>,
    last_use: Vec<usize>,
    step: usize,
    /// True if the current step uses an operand twice.
    twice: bool,
}

impl<V> Values<V> {
    pub(super) fn get(&self, value: ValueId) -> &V {
        self.held[value]
            .as_ref()
            .expect("a value stays until its last use")
    }

    /// Returns the value itself if the current step is the last to use it, otherwise a copy.
    pub(super) fn take(&mut self, value: ValueId) -> V
    where
        V: Clone,
    {
        let last = self.last_use[value] == self.step && !self.twice;
        let held = if last {
            self.held[value].take()
        } else {
            self.held[value].clone()
        };
        held.expect("a value stays until its last use")
    }
}

/// The effect of an operation in a circuit that has every iteration written out.
///
/// # Panics
/// For a repeated part and its results.
pub(super) fn effect(op: &Op) -> Effect<'_> {
    op.effect().expect("every iteration is written out")
}

/// For each value, the last step that reads it. A value that no step reads has its own step.
pub(super) fn last_uses(circuit: &Circuit) -> Vec<usize> {
    let mut last: Vec<usize> = (0..circuit.steps.len()).collect();
    for (index, step) in circuit.steps.iter().enumerate() {
        step.op.operands().into_iter().for_each(|v| last[v] = index);
    }
    last
}

/// Computes the value of each step of a verified circuit that has every iteration written out.
/// Returns the values of the outputs by name.
///
/// # Errors
/// The first error of the meaning.
pub(super) fn fold<M: Meaning>(
    circuit: &Circuit,
    meaning: &mut M,
) -> Result<BTreeMap<String, M::Value>> {
    let mut outputs = BTreeMap::new();
    let mut values = Values {
        held: Vec::with_capacity(circuit.steps.len()),
        last_use: last_uses(circuit),
        step: 0,
        twice: false,
    };
    for (index, step) in circuit.steps.iter().enumerate() {
        let mut operands = step.op.operands();
        operands.sort_unstable();
        values.twice = operands.windows(2).any(|pair| pair[0] == pair[1]);
        values.step = index;
        let current = Current {
            index,
            op: &step.op,
            effect: effect(&step.op),
            ty: step.ty,
        };
        let value = meaning.step(&current, &mut values)?;
        for &operand in &operands {
            if values.last_use[operand] == index {
                values.held[operand] = None;
            }
        }
        values.held.push(match &step.op {
            Op::Output { name, .. } => {
                outputs.insert(name.clone(), value);
                None
            }
            _ => (values.last_use[index] > index).then_some(value),
        });
    }
    Ok(outputs)
}
