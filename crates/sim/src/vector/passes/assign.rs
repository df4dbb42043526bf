//! The assignment of instructions to clusters, for plans without list scheduling.
//!
//! An instruction goes to the cluster that produced one of its operands, unless this cluster is far
//! ahead of the least loaded one. Load is counted in passes for each unit. Lanes, ports and
//! bandwidth do not count, so they change no choice.

use crate::vector::machine::{Machine, Operation};
use crate::vector::work::{NONE, Work};

/// Passes by which a cluster may be ahead of the least loaded one.
const AHEAD: u64 = 4;
/// Load of one pass, before it is divided by the number of units of the kind in the cluster.
const PASS: u64 = 720_720;

/// The load of all clusters, and the cluster of each limb, during assignment.
pub(super) struct Assign<'a> {
    machine: &'a Machine,
    /// For each operation, the clusters that execute it.
    able: Vec<Vec<u16>>,
    /// For each cluster and kind of unit, the load so far.
    load: Vec<Vec<u64>>,
    /// For each limb, the cluster that produced it, or `ELSEWHERE`.
    producers: Vec<u16>,
}

const ELSEWHERE: u16 = u16::MAX;

impl<'a> Assign<'a> {
    pub(super) fn new(machine: &'a Machine, work: &Work) -> Self {
        let clusters = machine.clusters();
        let able = Operation::ALL.map(|operation| {
            (0..clusters.len())
                .filter(|&cluster| clusters[cluster].executes(operation))
                .map(|cluster| cluster as u16)
                .collect()
        });
        Self {
            machine,
            able: able.to_vec(),
            load: vec![vec![0; machine.units().len()]; clusters.len()],
            producers: vec![ELSEWHERE; work.limbs()],
        }
    }

    /// Chooses the cluster of an instruction, and adds the instruction to its load.
    pub(super) fn cluster(&mut self, work: &Work, instruction: usize) -> u16 {
        let kind = work.kind(instruction);
        let unit = self.machine.uses(kind)[0];
        let able = &self.able[kind as usize];
        let load = |cluster: &u16| self.load[usize::from(*cluster)][unit];
        let least = *able
            .iter()
            .min_by_key(|cluster| load(cluster))
            .expect("machines are checked");
        let limit = load(&least) + AHEAD * PASS;
        let sum = work.continues[instruction];
        let near = |limb: u32| {
            let cluster = self.producers[limb as usize];
            (cluster != ELSEWHERE && able.binary_search(&cluster).is_ok()).then_some(cluster)
        };
        // A sum continues on the cluster where it began.
        let chosen = if sum != NONE {
            self.producers[sum as usize]
        } else {
            let mut near = work
                .operands(instruction)
                .filter_map(near)
                .filter(|cluster| load(cluster) < limit);
            near.next().unwrap_or(least)
        };
        self.producers[instruction] = chosen;
        let terms = work.terms(instruction) as u64;
        for &unit in self.machine.uses(kind) {
            let count = self.machine.clusters()[usize::from(chosen)].units[unit] as u64;
            self.load[usize::from(chosen)][unit] += terms * PASS / count;
        }
        chosen
    }
}
