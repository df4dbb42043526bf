//! What no schedule can be faster than.

use super::traffic::Traffic;
use crate::vector::machine::{Machine, Operation};
use crate::vector::work::Work;

/// Cycles that no schedule on the machine can go below, by reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The longest chain of instructions, each as fast as on an idle machine.
    pub critical_path: u64,
    /// The passes of the busiest kind of unit, divided among its units.
    pub busiest_unit: u64,
    /// Compulsory traffic at the channel's bandwidth.
    pub compulsory_traffic: u64,
}

impl Bound {
    /// The largest of the bounds.
    pub fn cycles(&self) -> u64 {
        self.critical_path
            .max(self.busiest_unit)
            .max(self.compulsory_traffic)
    }
}

impl Bound {
    pub(super) fn new(machine: &Machine, work: &Work, traffic: &Traffic) -> Self {
        let n = work.n();
        let units = machine.units();
        let loaded = machine.transfer(n) + machine.memory_latency();
        let generated = machine
            .generation(n)
            .map_or(loaded, |(cycles, latency)| cycles + latency);
        let arrival = |limb: u32| {
            work.input(limb).map(|input| {
                if input.source.sampled() {
                    generated
                } else {
                    loaded
                }
            })
        };
        let mut done: Vec<u64> = Vec::with_capacity(work.instructions());
        for i in 0..work.instructions() {
            let uses = machine.uses(work.kind(i)).iter().map(|&unit| &units[unit]);
            let terms = work.terms(i);
            let pass = uses.clone().map(|unit| unit.cycles(n, terms)).max();
            let latency: u64 = uses.map(|unit| unit.latency).sum();
            let ready = work
                .operands(i)
                .map(|limb| arrival(limb).unwrap_or_else(|| done[limb as usize]))
                .max();
            done.push(ready.unwrap_or(0) + pass.unwrap_or(0) + latency);
        }
        Self {
            critical_path: done.into_iter().max().unwrap_or(0),
            busiest_unit: busiest_unit(machine, work),
            compulsory_traffic: traffic.compulsory() / machine.limb_bytes(n) * machine.transfer(n),
        }
    }
}

/// Cycles of the kind of unit that has most to do, in the clusters that can do it.
///
/// Operations that only some clusters execute may keep these busy for longer than all work keeps all of them. So for each
/// set of clusters that executes some operation, what is executed nowhere else is divided among its units.
fn busiest_unit(machine: &Machine, work: &Work) -> u64 {
    let clusters = machine.clusters();
    let able = Operation::ALL.map(|operation| -> Vec<bool> {
        clusters
            .iter()
            .map(|cluster| cluster.executes(operation))
            .collect()
    });
    let mut cycles = vec![[0u64; Operation::ALL.len()]; machine.units().len()];
    for i in 0..work.instructions() {
        let kind = work.kind(i);
        for &unit in machine.uses(kind) {
            cycles[unit][kind as usize] += machine.units()[unit].cycles(work.n(), work.terms(i));
        }
    }
    let share = |unit: usize, set: &Vec<bool>| {
        let within = |one: &Vec<bool>| one.iter().zip(set).all(|(one, set)| !one || *set);
        let own = cycles[unit]
            .iter()
            .zip(&able)
            .filter(|(_, able)| within(able));
        let own: u64 = own.map(|(cycles, _)| cycles).sum();
        let units = clusters.iter().zip(set).filter(|(_, set)| **set);
        let units: usize = units.map(|(cluster, _)| cluster.units[unit]).sum();
        own.div_ceil(units.max(1) as u64)
    };
    let shares = able
        .iter()
        .flat_map(|set| (0..cycles.len()).map(|unit| share(unit, set)));
    shares.max().unwrap_or(0)
}
