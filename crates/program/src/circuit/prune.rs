//! Removes steps that no output needs.

use super::ir::{Circuit, Step};
use super::op::Op;
use std::collections::BTreeSet;

impl Circuit {
    /// Returns the circuit without the steps and constants on which no output depends. Every input
    /// keeps at least one step.
    pub(super) fn pruned(&self) -> Self {
        let mut used = vec![false; self.steps.len()];
        let mut named = BTreeSet::new();
        for (index, step) in self.steps.iter().enumerate().rev() {
            used[index] |= matches!(step.op, Op::Output { .. });
            if used[index] {
                step.op.operands().into_iter().for_each(|v| used[v] = true);
                named.extend(input_name(&step.op));
            }
        }
        for (index, step) in self.steps.iter().enumerate() {
            used[index] |= input_name(&step.op).is_some_and(|name| named.insert(name));
        }
        let mut pruned = Self {
            constants: Vec::new(),
            steps: Vec::new(),
            ..self.clone()
        };
        let (mut steps, mut constants) = (vec![0; used.len()], vec![None; self.constants.len()]);
        for (index, step) in self.steps.iter().enumerate().filter(|&(i, _)| used[i]) {
            let mut op = step.op.clone().reading(|value| steps[value]);
            if let Op::Constant { constant } = &mut op {
                *constant = *constants[*constant].get_or_insert_with(|| {
                    pruned.constants.push(self.constants[*constant].clone());
                    pruned.constants.len() - 1
                });
            }
            steps[index] = pruned.steps.len();
            pruned.steps.push(Step { op, ty: step.ty });
        }
        pruned
    }
}

fn input_name(op: &Op) -> Option<&str> {
    match op {
        Op::Input { name } => Some(name),
        _ => None,
    }
}
