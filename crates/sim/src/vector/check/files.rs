//! Register files. A limb that an instruction finds in its cluster's register file was kept there
//! since the previous instruction of the cluster that read or produced it.

use std::collections::HashMap;

/// The register file of one cluster, followed along the cluster's instructions.
#[derive(Default)]
pub(super) struct File {
    /// For each instruction, the number of kept limbs after it minus the number before it.
    changes: Vec<i64>,
    /// For each limb, the index of the last instruction that read or produced it.
    met: HashMap<u32, usize>,
}

impl File {
    /// Begins the next instruction of the cluster.
    pub(super) fn next(&mut self) {
        self.changes.push(0);
    }

    /// Notes that the instruction reads or produces a limb.
    pub(super) fn meet(&mut self, limb: u32) {
        self.met.insert(limb, self.changes.len() - 1);
    }

    /// Keeps a limb from the last instruction that met it to this one. Returns false if no
    /// instruction has met it.
    pub(super) fn keep(&mut self, limb: u32) -> bool {
        let now = self.changes.len() - 1;
        let Some(&from) = self.met.get(&limb) else {
            return false;
        };
        self.changes[from] += 1;
        self.changes[now] -= 1;
        true
    }

    /// Largest number of limbs kept between two instructions.
    pub(super) fn most(&self) -> usize {
        let mut kept = 0;
        let most = self.changes.iter().map(|change| {
            kept += change;
            kept
        });
        most.max().unwrap_or(0) as usize
    }
}
