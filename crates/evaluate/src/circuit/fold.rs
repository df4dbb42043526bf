//! The walk over a circuit: runs its steps in order, and frees each value after its last use.

use crate::error::Result;
use program::circuit::{Circuit, Op, ValueId};
use std::collections::BTreeMap;

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

/// For each value, the last step that reads it. A value that no step reads has its own step.
pub(super) fn last_uses(circuit: &Circuit) -> Vec<usize> {
    let mut last: Vec<usize> = (0..circuit.steps.len()).collect();
    for (index, step) in circuit.steps.iter().enumerate() {
        step.op.operands().into_iter().for_each(|v| last[v] = index);
    }
    last
}

/// Calls `step` for each step of a verified circuit. Returns the outputs by name.
pub(super) fn walk<V>(
    circuit: &Circuit,
    mut step: impl FnMut(usize, &mut Values<V>) -> Result<V>,
) -> Result<BTreeMap<String, V>> {
    let mut outputs = BTreeMap::new();
    let mut values = Values {
        held: Vec::new(),
        last_use: last_uses(circuit),
        step: 0,
        twice: false,
    };
    for (index, op) in circuit.steps.iter().map(|s| &s.op).enumerate() {
        let mut operands = op.operands();
        operands.sort_unstable();
        values.twice = operands.windows(2).any(|pair| pair[0] == pair[1]);
        values.step = index;
        let value = step(index, &mut values)?;
        for &operand in &operands {
            if values.last_use[operand] == index {
                values.held[operand] = None;
            }
        }
        values.held.push(match op {
            Op::Output { name, .. } => {
                outputs.insert(name.clone(), value);
                None
            }
            _ => (values.last_use[index] > index).then_some(value),
        });
    }
    Ok(outputs)
}
