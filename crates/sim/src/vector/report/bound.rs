//! What no schedule can be faster than.

use super::chains::{Chains, LARGE};
use super::queue::least;
use super::traffic::Traffic;
use super::unit_counts;
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
        let chains = Chains::new(machine, work);
        Self {
            critical_path: chains.longest,
            busiest_unit: busiest_unit(machine, work),
            compulsory_traffic: traffic.compulsory() / machine.limb_bytes(n) * machine.transfer(n),
            chains_and_work: chains_and_work(machine, work, chains, LARGE),
        }
    }
}

/// The bound of chains and work, with queues around operations of at least so many instructions.
pub(super) fn chains_and_work(machine: &Machine, work: &Work, chains: Chains, large: usize) -> u64 {
    let ways = chains.with_queues(machine, work, large);
    let mut jobs = vec![Vec::new(); machine.units().len()];
    for i in 0..work.instructions() {
        for &unit in machine.uses(work.kind(i)) {
            jobs[unit].push(ways.job(i));
        }
    }
    let queues = jobs
        .into_iter()
        .zip(unit_counts(machine))
        .map(|(jobs, count)| least(jobs, count as u64));
    let [memory, generators] = ways.transfers(machine, work);
    let transfers = [least(memory, 1), least(generators, 1)];
    queues.chain(transfers).max().unwrap_or(0)
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
