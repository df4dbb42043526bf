//! What no schedule can be faster than.

use super::traffic::Traffic;
use super::unit_counts;
use crate::vector::machine::Machine;
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
            let pass = uses.clone().map(|unit| unit.pass(n)).max().unwrap_or(0);
            let latency: u64 = uses.map(|unit| unit.latency).sum();
            let ready = work
                .operands(i)
                .map(|limb| arrival(limb).unwrap_or_else(|| done[limb as usize]))
                .max();
            done.push(ready.unwrap_or(0) + pass * work.terms(i) as u64 + latency);
        }
        let shares = unit_passes(machine, work)
            .into_iter()
            .zip(unit_counts(machine));
        Self {
            critical_path: done.into_iter().max().unwrap_or(0),
            busiest_unit: shares
                .map(|(cycles, count)| cycles.div_ceil(count.max(1) as u64))
                .max()
                .unwrap_or(0),
            compulsory_traffic: traffic.compulsory() / machine.limb_bytes(n) * machine.transfer(n),
        }
    }
}

/// Cycles of all passes, by kind of unit.
fn unit_passes(machine: &Machine, work: &Work) -> Vec<u64> {
    let passes: Vec<u64> = machine
        .units()
        .iter()
        .map(|unit| unit.pass(work.n()))
        .collect();
    let mut all = vec![0; passes.len()];
    for i in 0..work.instructions() {
        for &unit in machine.uses(work.kind(i)) {
            all[unit] += passes[unit] * work.terms(i) as u64;
        }
    }
    all
}
