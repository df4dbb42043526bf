//! Lower bounds on the cycles of any schedule.

use super::chains::{Chains, LARGE};
use super::queue::least;
use super::traffic::Traffic;
use super::unit_counts;
use crate::vector::machine::{Machine, Operation};
use crate::vector::work::Work;

/// Lower bounds on the cycles of any schedule of the work on the machine, by reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The longest chain of dependent instructions, each as fast as on an idle machine.
    pub critical_path: u64,
    /// The cycles of the busiest kind of unit, divided among its units.
    pub busiest_unit: u64,
    /// The cycles of the compulsory traffic at the bandwidth of the memory channel.
    pub compulsory_traffic: u64,
    /// The largest sum of three terms, over all kinds of units and all sets of jobs of the kind:
    /// the shortest path to a job of the set, the cycles of all its jobs divided among the units,
    /// the shortest path from one of them to the end. The memory channel and the generators count
    /// as kinds of one unit.
    pub chains_and_work: u64,
}

impl Bound {
    /// The largest of the three bounds that F1's paper has: all but
    /// [`chains_and_work`](Self::chains_and_work).
    pub fn cycles(&self) -> u64 {
        self.critical_path
            .max(self.busiest_unit)
            .max(self.compulsory_traffic)
    }

    /// The largest of all four bounds.
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

/// The bound [`Bound::chains_and_work`]. It looks at queues around operations of at least `large`
/// instructions.
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

/// Cycles of the busiest kind of unit, in the clusters that can execute its operations.
///
/// Operations that only some clusters execute may keep these clusters busy for longer than all the
/// work keeps all clusters. Each set of clusters that executes some operation therefore gives a
/// bound: the work that no other cluster can execute, divided among the units of the set.
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
