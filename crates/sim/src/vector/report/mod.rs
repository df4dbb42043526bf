//! Reports of schedules: time, energy, traffic, and the distance from lower bounds.

mod accesses;
mod activity;
mod around;
mod bound;
mod chains;
mod components;
mod queue;
mod series;
mod steps;
#[cfg(test)]
mod tests;
mod together;
mod traffic;

use super::machine::{Machine, Operation};
use super::passes::{Schedule, Stall};
use super::work::Work;
use activity::Activity;
use together::Spans;

pub use bound::Bound;
pub use components::Component;
pub use series::Series;
pub use steps::StepReport;
pub use together::Together;
pub use traffic::Traffic;

/// The figures of one schedule of work on a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Cycles from the first event to the last.
    pub cycles: u64,
    /// The cycles in seconds.
    pub seconds: f64,
    /// Energy by component, in joules: the units by name, then the other parts, then the parts that
    /// are always on and the leakage.
    pub joules: Vec<(String, f64)>,
    /// Accesses of the components: words of the units by name, then bytes of the other parts.
    pub accesses: Vec<(String, u64)>,
    /// Area by component, in square millimetres: the units by name, then the other parts.
    pub areas: Vec<(String, f64)>,
    /// Bytes between memory and scratchpad.
    pub traffic: Traffic,
    /// Share of the cycles in which units, ports and channels are busy: the units by name, then
    /// `network` and `memory`.
    pub utilisation: Vec<(String, f64)>,
    /// Cycles between successive instructions of a cluster, by the cause for which the later one
    /// waited, as shares of all such cycles.
    pub stalls: Vec<(&'static str, f64)>,
    /// Number of instructions by operation.
    pub instructions: Vec<(&'static str, u64)>,
    /// The steps of the program, in order.
    pub steps: Vec<StepReport>,
    /// Names of the kinds of clusters.
    pub kinds: Vec<String>,
    /// Cycles in which the kinds of clusters work, alone and side by side.
    pub together: Together,
    /// Lower bounds on the cycles of every schedule.
    pub bound: Bound,
}

impl Report {
    /// Computes the report of a schedule.
    pub fn new(machine: &Machine, work: &Work, schedule: &Schedule) -> Self {
        let cycles = schedule.cycles();
        let by_step = activity::by_step(machine, work, schedule);
        let sum = Activity::sum(machine, &by_step);
        let spans = Spans::new(machine, work, schedule);
        let counts = unit_counts(machine);
        let share = |busy: u64, of: usize| busy as f64 / (cycles as f64 * of.max(1) as f64);
        let units = machine.units().iter().zip(sum.passes.iter().zip(&counts));
        let mut utilisation: Vec<(String, f64)> = units
            .map(|(unit, (&busy, &count))| (unit.name.clone(), share(busy, count)))
            .collect();
        let network = share(sum.ports, machine.clusters().len());
        utilisation.push(("network".into(), network));
        utilisation.push(("memory".into(), share(sum.memory, 1)));
        let waited: u64 = schedule.stalls().map(|(_, cycles)| cycles).sum();
        let stall =
            |(cause, cycles): (Stall, u64)| (cause.name(), cycles as f64 / waited.max(1) as f64);
        let mut instructions = [0; Operation::ALL.len()];
        (0..work.instructions()).for_each(|i| instructions[work.kind(i) as usize] += 1);
        let named = Operation::ALL
            .into_iter()
            .map(Operation::name)
            .zip(instructions);
        Self {
            cycles,
            seconds: cycles as f64 / machine.hertz(),
            joules: sum.joules(machine, cycles),
            accesses: sum.accesses.named(machine),
            areas: machine.areas(),
            bound: Bound::new(machine, work, &sum.traffic),
            traffic: sum.traffic,
            utilisation,
            stalls: schedule.stalls().map(stall).collect(),
            instructions: named.filter(|(_, count)| *count > 0).collect(),
            steps: StepReport::all(machine, work, (&by_step, spans.by_step()), cycles),
            kinds: machine.kinds().map(str::to_owned).collect(),
            together: Together::of(&spans.unions()),
        }
    }

    /// Energy of all components, in joules.
    pub fn energy(&self) -> f64 {
        self.joules.iter().map(|(_, joules)| joules).sum()
    }

    /// Area of the machine, in square millimetres.
    pub fn area(&self) -> f64 {
        self.areas.iter().map(|(_, area)| area).sum()
    }

    /// Energy-delay product, in joule seconds.
    pub fn edp(&self) -> f64 {
        self.energy() * self.seconds
    }

    /// Energy-delay-area product, in joule seconds square millimetres.
    pub fn edap(&self) -> f64 {
        self.edp() * self.area()
    }

    /// Cycles divided by the largest of critical path, busiest unit and compulsory traffic: at
    /// least 1.
    pub fn gap(&self) -> f64 {
        self.cycles as f64 / self.bound.cycles().max(1) as f64
    }

    /// Cycles divided by the tightest lower bound: at least 1.
    pub fn tight_gap(&self) -> f64 {
        self.cycles as f64 / self.bound.tightest().max(1) as f64
    }
}

/// Number of units of each kind in all clusters together.
fn unit_counts(machine: &Machine) -> Vec<usize> {
    let count = |unit: usize| {
        let clusters = machine.clusters().iter();
        clusters.map(|cluster| cluster.units[unit]).sum()
    };
    (0..machine.units().len()).map(count).collect()
}
