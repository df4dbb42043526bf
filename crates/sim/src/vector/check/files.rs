//! Register files: what an instruction finds in that of its cluster has been kept there since the cluster met it last.

use std::collections::HashMap;

/// The register file of one cluster, by the instructions of the cluster.
#[derive(Default)]
pub(super) struct File {
    /// For each instruction by how many more limbs are kept behind it than before it.
    changes: Vec<i64>,
    /// For each limb the place of the instruction that read or made it last.
    met: HashMap<u32, usize>,
}

impl File {
    /// The next instruction of the cluster begins.
    pub(super) fn next(&mut self) {
        self.changes.push(0);
    }

    /// The instruction reads a limb, or makes it.
    pub(super) fn meet(&mut self, limb: u32) {
        self.met.insert(limb, self.changes.len() - 1);
    }

    /// Keeps a limb from the instruction that met it last to this one; `false` if there is none.
    pub(super) fn keep(&mut self, limb: u32) -> bool {
        let now = self.changes.len() - 1;
        let Some(&from) = self.met.get(&limb) else {
            return false;
        };
        self.changes[from] += 1;
        self.changes[now] -= 1;
        true
    }

    /// The most limbs that are kept between two instructions.
    pub(super) fn most(&self) -> usize {
        let mut kept = 0;
        let most = self.changes.iter().map(|change| {
            kept += change;
            kept
        });
        most.max().unwrap_or(0) as usize
    }
}
