//! Counts of the activity on a machine, for each step of the program. Their sum is that of the
//! whole program.

use super::accesses::{Accesses, Counter};
use super::traffic::Traffic;
use crate::vector::machine::{Machine, Operation};
use crate::vector::passes::{Event, Schedule};
use crate::vector::work::{NONE, Source, Work};

/// Counts of the activity for a part of the work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Activity {
    /// Cycles in which units do passes, by kind of unit.
    pub(super) passes: Vec<u64>,
    /// Cycles in which instructions occupy the ports of their clusters.
    pub(super) ports: u64,
    /// Cycles in which the memory channel moves limbs.
    pub(super) memory: u64,
    pub(super) traffic: Traffic,
    pub(super) accesses: Accesses,
    pub(super) instructions: u64,
    /// The cycle in which the first instruction or load begins, and the cycle in which the last
    /// result is available.
    pub(super) begins: u64,
    pub(super) ends: u64,
}

impl Activity {
    fn new(machine: &Machine) -> Self {
        Self {
            passes: vec![0; machine.units().len()],
            accesses: Accesses::new(machine),
            begins: u64::MAX,
            ..Self::default()
        }
    }

    fn spans(&mut self, begins: u64, ends: u64) {
        self.begins = self.begins.min(begins);
        self.ends = self.ends.max(ends);
    }

    /// Adds the counts of all steps.
    pub(super) fn sum(machine: &Machine, steps: &[Self]) -> Self {
        let mut sum = Self::new(machine);
        for step in steps {
            for (sum, passes) in sum.passes.iter_mut().zip(&step.passes) {
                *sum += passes;
            }
            sum.ports += step.ports;
            sum.memory += step.memory;
            sum.traffic.add_assign(&step.traffic);
            sum.accesses.add_assign(&step.accesses);
            sum.instructions += step.instructions;
            sum.spans(step.begins, step.ends);
        }
        sum
    }

    /// Energy by component, in joules: the units by name, then the other parts, then the parts that
    /// are always on and the leakage, for `cycles`.
    pub(super) fn joules(&self, machine: &Machine, cycles: u64) -> Vec<(String, f64)> {
        let seconds = cycles as f64 / machine.hertz();
        let mut joules = self.accesses.joules(machine);
        joules.push(("always on".into(), machine.static_watts() * seconds));
        joules.push(("leakage".into(), machine.leakage_watts() * seconds));
        joules
    }
}

/// Counts the activity of each step. A load counts for the step of the instruction that reads the
/// limb next, a write for the step of the instruction that produced the limb.
pub(super) fn by_step(machine: &Machine, work: &Work, schedule: &Schedule) -> Vec<Activity> {
    let n = work.n();
    let (bytes, transfer) = (machine.limb_bytes(n), machine.transfer(n));
    let passes: Vec<u64> = machine.units().iter().map(|unit| unit.pass(n)).collect();
    let latencies = latencies(machine);
    let mut owners = load_owners(work, schedule);
    let mut counter = Counter::new(machine, work, schedule);
    let mut known = vec![false; work.inputs().len()];
    let mut steps = vec![Activity::new(machine); work.steps().len()];
    for (event, start) in schedule.events() {
        match event {
            Event::Issue(instruction) => {
                let i = instruction as usize;
                let step = &mut steps[work.step(i)];
                let kind = work.kind(i);
                for &unit in machine.uses(kind) {
                    step.passes[unit] += machine.units()[unit].cycles(n, work.terms(i));
                }
                counter.count(i, &mut step.accesses);
                step.ports += schedule.ports(i);
                step.instructions += 1;
                step.spans(start, start + schedule.busy(i) + latencies[kind as usize]);
            }
            Event::Fetch(limb) => {
                let owner = owners.pop().expect("one for each load");
                let step = &mut steps[owner as usize];
                let input = work.input(limb);
                let sampled = input.is_some_and(|input| input.source.sampled());
                if let (true, Some((cycles, latency))) = (sampled, machine.generation(n)) {
                    let unit = machine.uses(Operation::Sample)[0];
                    step.passes[unit] += passes[unit];
                    step.accesses.words[unit] += machine.units()[unit].words(n, 1);
                    step.accesses.scratchpad += bytes;
                    step.spans(start, start + cycles + latency);
                    continue;
                }
                let again = input.is_some()
                    && std::mem::replace(&mut known[limb as usize - work.instructions()], true);
                let traffic = &mut step.traffic;
                *match (input.map(|input| input.source), again) {
                    (None, _) => &mut traffic.results_loaded,
                    (Some(source), true) if source.of_hint() => &mut traffic.hints_again,
                    (Some(_), true) => &mut traffic.inputs_again,
                    (Some(source), false) if source.of_hint() => &mut traffic.hints,
                    (Some(Source::Constant), false) => &mut traffic.constants,
                    (Some(_), false) => &mut traffic.inputs,
                } += bytes;
                step.accesses.memory += bytes;
                step.accesses.scratchpad += bytes;
                step.memory += transfer;
                step.spans(start, start + transfer + machine.memory_latency());
            }
            Event::WriteBack(limb) => {
                let producer = (limb as usize).min(work.instructions() - 1);
                let step = &mut steps[work.step(producer)];
                if work.outputs().binary_search(&limb).is_ok() {
                    step.traffic.outputs += bytes;
                } else {
                    step.traffic.results_written += bytes;
                }
                step.accesses.memory += bytes;
                step.accesses.scratchpad += bytes;
                step.memory += transfer;
                step.spans(start, start + transfer);
            }
            Event::Release(_) => {}
        }
    }
    steps
}

/// For each operation, the cycles from its last word in to its last word out.
pub(in crate::vector) fn latencies(machine: &Machine) -> [u64; Operation::ALL.len()] {
    Operation::ALL.map(|operation| {
        let units = machine.uses(operation).iter();
        units.map(|&unit| machine.units()[unit].latency).sum()
    })
}

/// For each load, from the last to the first, the step of the next instruction that reads the limb.
fn load_owners(work: &Work, schedule: &Schedule) -> Vec<u32> {
    let mut readers = vec![NONE; work.limbs()];
    let mut owners = Vec::new();
    for &packed in schedule.events.iter().rev() {
        match Event::unpack(packed) {
            Event::Issue(instruction) => {
                let step = work.step(instruction as usize) as u32;
                let operands = work.operands(instruction as usize);
                operands.for_each(|limb| readers[limb as usize] = step);
            }
            Event::Fetch(limb) => {
                let reader = readers[limb as usize];
                owners.push(if reader == NONE { 0 } else { reader });
            }
            Event::WriteBack(_) | Event::Release(_) => {}
        }
    }
    owners
}
