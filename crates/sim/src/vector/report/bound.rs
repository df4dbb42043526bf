//! What no schedule can be faster than.

use super::chains::Chains;
use super::queue::least;
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
    /// Work and the chains around it: for each kind of unit, the memory channel and the generators, and each set of what
    /// they do, the shortest way to one of the set, the work of all, and the shortest way from one to the end.
    pub chains_and_work: u64,
}

impl Bound {
    /// The largest of the first three, which F1's paper knows.
    pub fn cycles(&self) -> u64 {
        self.critical_path
            .max(self.busiest_unit)
            .max(self.compulsory_traffic)
    }

    /// The largest of all.
    pub fn tightest(&self) -> u64 {
        self.cycles().max(self.chains_and_work)
    }
}

impl Bound {
    pub(super) fn new(machine: &Machine, work: &Work, traffic: &Traffic) -> Self {
        let n = work.n();
        let units = machine.units();
        let chains = Chains::new(machine, work);
        let critical_path = chains.longest;
        let ways = chains.with_queues(machine, work);
        let passes: Vec<u64> = units.iter().map(|unit| unit.pass(n)).collect();
        let mut all = vec![0; units.len()];
        let mut jobs = vec![Vec::new(); units.len()];
        for i in 0..work.instructions() {
            for &unit in machine.uses(work.kind(i)) {
                all[unit] += passes[unit] * work.terms(i) as u64;
                jobs[unit].push(ways.job(i));
            }
        }
        let counts: Vec<u64> = unit_counts(machine)
            .into_iter()
            .map(|count| count.max(1) as u64)
            .collect();
        let shares = all
            .iter()
            .zip(&counts)
            .map(|(cycles, &count)| cycles.div_ceil(count));
        let queues = jobs
            .into_iter()
            .zip(&counts)
            .map(|(jobs, &count)| least(jobs, count));
        let [memory, generators] = ways.transfers(machine, work);
        Self {
            critical_path,
            busiest_unit: shares.max().unwrap_or(0),
            compulsory_traffic: traffic.compulsory() / machine.limb_bytes(n) * machine.transfer(n),
            chains_and_work: queues
                .chain([least(memory, 1), least(generators, 1)])
                .max()
                .unwrap_or(0),
        }
    }
}
