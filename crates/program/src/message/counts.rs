//! Cost of a circuit.

use super::ir::{Circuit, Op};
use std::collections::BTreeMap;

impl Circuit {
    /// Number of bootstrappings in a run.
    pub fn bootstrappings(&self) -> usize {
        self.steps.iter().map(Op::bootstrappings).sum()
    }

    /// Number of bootstrappings one after another. The others can run at the same time as these.
    pub fn depth(&self) -> usize {
        let mut depths: Vec<usize> = Vec::with_capacity(self.steps.len());
        for op in &self.steps {
            let before = op.operands().into_iter().map(|v| depths[v]).max();
            depths.push(before.unwrap_or(0) + op.bootstrappings().min(1));
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// Number of operations, by name.
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for op in &self.steps {
            *counts.entry(op.name()).or_default() += 1;
        }
        counts
    }
}
