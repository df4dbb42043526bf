//! What a schedule takes: time, energy, traffic, and how far it is from a lower bound.

use super::machine::{Machine, Operation};
use super::passes::{Event, Schedule, Stall};
use super::work::{Source, Work};

/// What a schedule of some work takes on a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Cycles from the first event to the last.
    pub cycles: u64,
    /// The same in seconds.
    pub seconds: f64,
    /// Energy by component, in joules: units by name, then the other parts, then what is always on.
    pub joules: Vec<(String, f64)>,
    /// Square millimetres of the machine.
    pub area_mm2: f64,
    /// Bytes between memory and scratchpad.
    pub traffic: Traffic,
    /// Share of time in which units, ports and channels are busy: units by name, then `network` and `memory`.
    pub utilisation: Vec<(String, f64)>,
    /// Cycles between the instructions of a cluster by what the later one waited for, as shares of all.
    pub stalls: Vec<(&'static str, f64)>,
    /// Instructions by what they do.
    pub instructions: Vec<(&'static str, u64)>,
    /// What no schedule can be faster than.
    pub bound: Bound,
}

/// Bytes between memory and scratchpad, by kind. What is compulsory is moved once whatever the scratchpad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Key-switch hints, loaded for the first time.
    pub hints: u64,
    /// Inputs, loaded for the first time.
    pub inputs: u64,
    /// Constants, loaded for the first time.
    pub constants: u64,
    /// Outputs.
    pub outputs: u64,
    /// Hints that are loaded again: not compulsory, as all that follows.
    pub hints_again: u64,
    /// Inputs and constants that are loaded again.
    pub inputs_again: u64,
    /// Results that are loaded.
    pub results_loaded: u64,
    /// Results that are written because there was no room.
    pub results_written: u64,
}

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

impl Traffic {
    /// All numbers with their names.
    pub fn all(&self) -> [(&'static str, u64); 8] {
        [
            ("hints", self.hints),
            ("inputs", self.inputs),
            ("constants", self.constants),
            ("outputs", self.outputs),
            ("hints again", self.hints_again),
            ("inputs again", self.inputs_again),
            ("results loaded", self.results_loaded),
            ("results written", self.results_written),
        ]
    }

    /// Bytes that are moved whatever the scratchpad.
    pub fn compulsory(&self) -> u64 {
        self.hints + self.inputs + self.constants + self.outputs
    }

    /// All bytes.
    pub fn total(&self) -> u64 {
        self.all().iter().map(|(_, bytes)| bytes).sum()
    }
}

impl Bound {
    /// The largest of the bounds.
    pub fn cycles(&self) -> u64 {
        self.critical_path
            .max(self.busiest_unit)
            .max(self.compulsory_traffic)
    }
}

impl Report {
    /// Reads a schedule.
    pub fn new(machine: &Machine, work: &Work, schedule: &Schedule) -> Self {
        let cycles = schedule.cycles();
        let seconds = cycles as f64 / machine.hertz();
        let (traffic, transfers, generated) = traffic(machine, work, schedule);
        let mut passes = unit_passes(machine, work);
        if let Some(&unit) = machine.uses(Operation::Sample).first() {
            passes[unit] += generated * machine.units()[unit].pass(work.n());
        }
        let counts = unit_counts(machine);
        let share = |busy: u64, of: usize| busy as f64 / (cycles as f64 * of.max(1) as f64);

        let ports: u64 = (0..work.instructions()).map(|i| schedule.ports(i)).sum();
        let network = share(ports, machine.clusters().len());
        let memory = share(transfers * machine.transfer(work.n()), 1);
        let units = machine.units().iter().zip(passes.iter().zip(&counts));
        let mut utilisation: Vec<(String, f64)> = units
            .clone()
            .map(|(unit, (&busy, &count))| (unit.name.clone(), share(busy, count)))
            .collect();
        let all = share(passes.iter().sum(), counts.iter().sum());
        let mut joules: Vec<(String, f64)> = units
            .map(|(unit, (&busy, _))| {
                (
                    unit.name.clone(),
                    unit.watts * busy as f64 / machine.hertz(),
                )
            })
            .collect();
        for ((part, watts), used) in machine
            .part_watts()
            .into_iter()
            .zip([all, network, network, memory])
        {
            joules.push((part.to_owned(), watts * used * seconds));
        }
        joules.push(("always on".into(), machine.static_watts() * seconds));
        utilisation.push(("network".into(), network));
        utilisation.push(("memory".into(), memory));

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
            seconds,
            joules,
            area_mm2: machine.areas().iter().map(|(_, area)| area).sum(),
            bound: Bound::new(machine, work, &traffic),
            traffic,
            utilisation,
            stalls: schedule.stalls().map(stall).collect(),
            instructions: named.filter(|(_, count)| *count > 0).collect(),
        }
    }

    /// Energy of all components, in joules.
    pub fn energy(&self) -> f64 {
        self.joules.iter().map(|(_, joules)| joules).sum()
    }

    /// Energy times time, in joule seconds.
    pub fn edp(&self) -> f64 {
        self.energy() * self.seconds
    }

    /// Cycles over the largest lower bound: at least 1.
    pub fn gap(&self) -> f64 {
        self.cycles as f64 / self.bound.cycles().max(1) as f64
    }
}

/// Traffic in bytes, the number of transfers over the memory channel, and that of limbs made from seeds.
fn traffic(machine: &Machine, work: &Work, schedule: &Schedule) -> (Traffic, u64, u64) {
    let bytes = machine.limb_bytes(work.n());
    let generates = machine.generation(work.n()).is_some();
    let (mut traffic, mut transfers, mut generated) = (Traffic::default(), 0, 0);
    let mut known = vec![false; work.inputs().len()];
    for (event, _) in schedule.events() {
        let of = match event {
            Event::Fetch(limb) => match work.input(limb) {
                None => &mut traffic.results_loaded,
                Some(input) if generates && input.source.sampled() => {
                    generated += 1;
                    continue;
                }
                Some(input) => {
                    let again =
                        std::mem::replace(&mut known[limb as usize - work.instructions()], true);
                    match (input.source, again) {
                        (source, true) if source.of_hint() => &mut traffic.hints_again,
                        (_, true) => &mut traffic.inputs_again,
                        (source, false) if source.of_hint() => &mut traffic.hints,
                        (Source::Constant, false) => &mut traffic.constants,
                        (_, false) => &mut traffic.inputs,
                    }
                }
            },
            Event::WriteBack(limb) if work.outputs().binary_search(&limb).is_ok() => {
                &mut traffic.outputs
            }
            Event::WriteBack(_) => &mut traffic.results_written,
            Event::Issue(_) | Event::Release(_) => continue,
        };
        *of += bytes;
        transfers += 1;
    }
    (traffic, transfers, generated)
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

fn unit_counts(machine: &Machine) -> Vec<usize> {
    let count = |unit: usize| {
        machine
            .clusters()
            .iter()
            .map(|cluster| cluster.units[unit])
            .sum()
    };
    (0..machine.units().len()).map(count).collect()
}

impl Bound {
    fn new(machine: &Machine, work: &Work, traffic: &Traffic) -> Self {
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
