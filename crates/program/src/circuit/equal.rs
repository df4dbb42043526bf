//! Finds operations that equal an earlier one, so that none is computed twice.

use super::ir::{Step, Type, ValueId};
use super::op::{Change, Op};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Steps by a hash of their operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Written(HashMap<u64, Vec<ValueId>>);

impl Written {
    /// The step whose operation, operands and type are equal, if there is one. Factors and terms
    /// may be in another order if all are ciphertexts.
    pub(super) fn find(&self, steps: &[Step], op: &Op, ty: Type) -> Option<ValueId> {
        let alike = self.0.get(&hash(op)?)?.iter().copied();
        let sorted = sorted(steps, op);
        let mut alike = alike.filter(|&value| steps[value].ty == ty);
        alike.find(|&value| self::sorted(steps, &steps[value].op) == sorted)
    }

    /// Notes the operation of a step.
    pub(super) fn note(&mut self, op: &Op, value: ValueId) {
        if let Some(hash) = hash(op) {
            self.0.entry(hash).or_default().push(value);
        }
    }
}

/// A hash that does not depend on the order of operands. `None` for operations that are written
/// each time: inputs, constants, outputs, and repeated parts.
fn hash(op: &Op) -> Option<u64> {
    let effect = op.effect()?;
    if let Op::Output { .. } = op {
        return None;
    }
    let mut operands = op.operands();
    operands.sort_unstable();
    let mut hasher = DefaultHasher::new();
    (op.name(), operands.first()?, &operands).hash(&mut hasher);
    let permutation = effect.change().and_then(Change::permutation);
    permutation.hash(&mut hasher);
    Some(hasher.finish())
}

/// The operation with operands in order, where their order means nothing.
fn sorted(steps: &[Step], op: &Op) -> Op {
    let ordered = |[left, right]: [ValueId; 2]| match steps[right].ty.encrypted {
        true => [left.min(right), left.max(right)],
        false => [left, right],
    };
    match op {
        &Op::Add { left, right } => {
            let [left, right] = ordered([left, right]);
            Op::Add { left, right }
        }
        Op::Mul { terms } => {
            let mut terms: Vec<_> = terms.iter().map(|&term| ordered(term)).collect();
            terms.sort_unstable();
            Op::Mul { terms }
        }
        other => other.clone(),
    }
}
