//! From work to a schedule, in passes that can be switched off one by one.
//!
//! 1. [`order`] brings operations together that share a key-switch hint.
//! 2. [`walk`] makes one limb of results after the other, and [`layers`] what stays within its limbs together.
//! 3. [`spread`] brings instructions together that can run at the same time.
//! 4. [`movement`] decides what lies in the scratchpad when, with full knowledge of the future.
//! 5. [`list`] orders events by list scheduling on model machines. There instructions wait at their [`homes`].
//! 6. [`registers`] decides which limbs stay in the register files of their clusters.
//! 7. [`placement`] gives each instruction units and a cycle.
//!
//! The first five fix an order of events, which does not depend on lanes, latencies, ports, register files or bandwidth. A
//! larger register file keeps more, and the last pass serves every unit, port and channel in that order. More of any of
//! these therefore never slows a schedule (docs/adr/0024).

mod assign;
mod graph;
mod homes;
#[cfg(test)]
mod kinds_tests;
mod layers;
mod list;
mod model;
mod movement;
mod operations;
mod order;
mod placement;
mod profile;
mod registers;
mod schedule;
mod spread;
#[cfg(test)]
mod tests;
mod walk;

use super::machine::Machine;
use super::words::check_words;
use super::work::Work;
use crate::error::{Error, Result};
use graph::Graph;
use layers::Within;
use movement::Uses;
use placement::place;
use profile::{PROFILES, Profile};
use spread::Reach;

#[cfg(test)]
pub(in crate::vector) use schedule::INSIDE;
pub use schedule::{Event, Place, Schedule, Stall};

/// Order of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// That of the trace.
    Program,
    /// Operations that share a key-switch hint come together.
    Hints,
}

/// Which limb leaves a full scratchpad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// The one that is read last, or never again.
    Belady,
    /// The one whose last use is the longest ago.
    Lru,
}

/// How instructions that can run at the same time come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// The first ones that can begin, in a window of the given order.
    Window,
    /// Those that the longest chain waits for, of the whole program, until most of the scratchpad is taken: a list
    /// scheduler that looks at the pressure on registers, after Goodman and Hsu. To compare with.
    Pressure,
}

/// Which passes do their work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Order of operations.
    pub order: Order,
    /// Instructions of a region that is executed limb by limb; 0 keeps their order, and 1 makes each operation a region.
    /// `None` tries 0, 1 and 4,096.
    pub region: Option<usize>,
    /// How far ahead of the first instruction that has not begun another one may begin; 1 keeps their order. `None` tries
    /// 64, 192, 256 and 1,024.
    pub window: Option<usize>,
    /// How instructions that can run at the same time come together.
    pub spread: Spread,
    /// Which limb leaves a full scratchpad.
    pub eviction: Eviction,
    /// Whether gaps are filled: events are ordered by list scheduling on model machines, and otherwise as planned.
    pub listed: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            order: Order::Hints,
            region: None,
            window: None,
            spread: Spread::Window,
            eviction: Eviction::Belady,
            listed: true,
        }
    }
}

/// How far ahead an operation may come for its hint: see docs/notes/vector-machines.md, as for all
/// that is tried.
const AHEADS: [usize; 2] = [64, usize::MAX];
/// Instructions up to which all regions, windows and orders are tried, and each is given its cycles. Of more instructions
/// fewer are tried, and of these the order that moves least over the memory channel.
const FEW: usize = 1 << 17;
/// Regions that are tried, for few instructions and for many.
const REGIONS: [&[usize]; 2] = [&[0, 1, 4096], &[1, 4096]];
/// Windows that are tried, for few instructions and for many, and with each which parts of the scratchpad, one in so many,
/// are left for loads that run ahead.
const WINDOWS: [&[(usize, &[usize])]; 2] = [
    &[
        (64, &[8]),
        (192, &[64]),
        (256, &[8]),
        (1024, &[8, 4, 5, 64]),
    ],
    &[(16, &[8])],
];
/// The part that is left with other windows.
const RESERVE: &[usize] = &[8];
/// Instructions of a step, in the mean, from which on layers of many instructions are found in each step by itself.
const LONG: usize = 1024;
/// Eighths of the limbs of hints that stream through, where hints are loaded again and instructions are few.
const STREAMED: u32 = 6;

/// Schedules work on a machine. `go_on` is told how many thousandths of all attempts are done, and how many there are; if
/// it says no, the work stops.
///
/// # Errors
/// [`Error::Unfit`] for a ring degree, a modulus or an instruction that is too large for the machine, and for work without
/// instructions; [`Error::Stopped`].
pub fn schedule(
    machine: &Machine,
    work: &Work,
    options: Options,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Schedule> {
    let needed = fits(machine, work)?;
    let capacity = machine.scratchpad_limbs(work.n());
    let many = usize::from(work.instructions() > FEW);
    // What fits half the scratchpad is tried too, so that twice as much never slows a schedule.
    let halves = std::iter::successors(Some(capacity), |capacity| Some(capacity / 2));
    let capacities: Vec<usize> = halves.take_while(|&half| half >= needed).collect();
    let windows = match options.spread {
        Spread::Window => one_or_all(options.window.map(|one| (one, RESERVE)), WINDOWS[many]),
        Spread::Pressure => vec![(usize::MAX, RESERVE)],
    };
    let profiles: Vec<Option<Profile>> = match options.listed {
        true => PROFILES.into_iter().map(Some).collect(),
        false => vec![None],
    };
    let orders = orders(work, options, many);
    // An order takes about as long as an attempt.
    let attempts = 1000 * profiles.len() * if many == 0 { orders.len() + 1 } else { 1 };
    let plans: usize = windows.iter().map(|(_, reserves)| reserves.len()).sum();
    let steps = 1000 * windows.len() * orders.len() + plans * attempts * capacities.len();
    let mut done = 0;
    let mut fastest: Option<Schedule> = None;
    for (window, reserves) in windows {
        let reach = match options.spread {
            Spread::Window => Reach::window(window),
            Spread::Pressure => Reach::pressure(slots(capacity, needed, RESERVE[0])),
        };
        let mut spread = Vec::with_capacity(orders.len());
        for order in &orders {
            if !go_on(done, steps) {
                return Err(Error::Stopped);
            }
            spread.push(spread::by_time(machine, work, order, PROFILES[0], reach));
            done += 1000;
        }
        for &capacity in &capacities {
            let mut plans: Vec<(usize, Vec<u32>)> = Vec::new();
            for &reserve in reserves {
                let slots = slots(capacity, needed, reserve);
                plans.extend(planned(machine, work, &spread, slots, options, many));
            }
            // Stable, so that the first of equals is the same everywhere.
            plans.sort_by_key(|plan| plan.0);
            plans.dedup();
            if many == 1 {
                plans.truncate(1);
            }
            for (transfers, events) in plans {
                let limit = fastest.as_ref().map_or(u64::MAX, |best| best.cycles);
                if transfers as u64 * machine.transfer(work.n()) >= limit {
                    // The memory channel alone would take longer.
                    break;
                }
                let graph = Graph::new(work, events, capacity);
                for profile in &profiles {
                    let listed = profile.map(|one| list::order(machine, work, &graph, one));
                    let mut step = |_: usize| go_on(done, steps);
                    let limit = fastest.as_ref().map_or(u64::MAX, |best| best.cycles);
                    let found = place(machine, work, (&graph, listed.as_ref()), limit, &mut step)?;
                    fastest = found.or(fastest);
                }
            }
            done += attempts * reserves.len();
        }
    }
    Ok(fastest.expect("something is tried"))
}

/// Plans of some orders, each with the limbs that it moves over the memory channel.
fn planned(
    machine: &Machine,
    work: &Work,
    orders: &[Vec<u32>],
    slots: usize,
    options: Options,
    many: usize,
) -> Vec<(usize, Vec<u32>)> {
    let plan = |order: &Vec<u32>, streamed: u32| {
        let uses = Uses::of(work, order);
        let of = |kept: bool| {
            let events = movement::plan(work, &uses, slots, options.eviction, (streamed, kept));
            (movement::transfers(machine, work, &events), events)
        };
        let plain = of(false);
        if options.eviction == Eviction::Lru || !movement::writes(work, &plain.1) {
            return plain;
        }
        let kept = of(true);
        let all = |plan: &(Vec<usize>, _)| plan.0.iter().sum::<usize>();
        if all(&kept) < all(&plain) {
            kept
        } else {
            plain
        }
    };
    let mut plans: Vec<(Vec<usize>, Vec<u32>)> =
        orders.iter().map(|order| plan(order, 0)).collect();
    if options.region.is_none() {
        let transfers: Vec<&[usize]> = plans.iter().map(|plan| &plan.0[..]).collect();
        plans.push(plan(&mixed(work, orders, &transfers), 0));
    }
    if many == 0 && options.eviction == Eviction::Belady {
        let again: Vec<&Vec<u32>> = orders
            .iter()
            .zip(&plans)
            .filter(|(_, plan)| movement::loads_hints_again(work, &plan.1))
            .map(|(order, _)| order)
            .collect();
        plans.extend(again.into_iter().map(|order| plan(order, STREAMED)));
    }
    let sum = |plan: (Vec<usize>, Vec<u32>)| (plan.0.iter().sum::<usize>(), plan.1);
    plans.into_iter().map(sum).collect()
}

/// Takes each step of the program from the order that moves fewest limbs in it, the first of equals.
fn mixed(work: &Work, orders: &[Vec<u32>], transfers: &[&[usize]]) -> Vec<u32> {
    let mut steps: Vec<Vec<u32>> = vec![Vec::new(); work.steps().len()];
    let best: Vec<usize> = (0..steps.len())
        .map(|step| {
            let moved = |order: &usize| transfers[*order][step];
            (0..orders.len())
                .min_by_key(moved)
                .expect("there is an order")
        })
        .collect();
    for (place, order) in orders.iter().enumerate() {
        for &instruction in order {
            let step = work.step(instruction as usize);
            if best[step] == place {
                steps[step].push(instruction);
            }
        }
    }
    steps.concat()
}

/// Orders of instructions that are tried.
fn orders(work: &Work, options: Options, many: usize) -> Vec<Vec<u32>> {
    let given: Vec<Vec<u32>> = match options.order {
        Order::Program => vec![(0..work.instructions() as u32).collect()],
        Order::Hints => AHEADS.map(|ahead| order::by_hints(work, ahead)).into(),
    };
    let regions = one_or_all(options.region, REGIONS[many]);
    let walked = given.iter().flat_map(|given| {
        regions.iter().map(|&region| match region {
            0 => given.clone(),
            size => walk::by_results(work, given, size),
        })
    });
    let short = work.instructions() < LONG * work.steps().len();
    let within: &[Within] = match (many, short) {
        (0, _) => &[
            Within::Step,
            Within::Program,
            Within::Streams(2),
            Within::Streams(usize::MAX),
        ],
        (_, true) => &[Within::Program],
        (_, false) => &[Within::Step],
    };
    let layered = given.iter().flat_map(|given| {
        let layered = |&within| layers::by_layers(work, given, within);
        within.iter().map(layered)
    });
    let all: Vec<Vec<u32>> = match options.region {
        Some(_) => walked.collect(),
        None => walked.chain(layered).collect(),
    };
    let mut different: Vec<Vec<u32>> = Vec::with_capacity(all.len());
    for order in all {
        if !different.contains(&order) {
            different.push(order);
        }
    }
    different
}

fn one_or_all<T: Copy>(one: Option<T>, all: &[T]) -> Vec<T> {
    one.map_or_else(|| all.to_vec(), |one| vec![one])
}

/// Refuses work that the machine cannot run at all; gives the limbs that its largest instruction needs.
fn fits(machine: &Machine, work: &Work) -> Result<usize> {
    let unfit = |what: String, found: String, expected: String| Error::Unfit {
        machine: machine.name().to_owned(),
        what,
        found,
        expected,
    };
    if work.n() as u64 > machine.max_n() {
        let expected = format!("at most max_n = {}", machine.max_n());
        return Err(unfit(
            "the ring degree".into(),
            work.n().to_string(),
            expected,
        ));
    }
    check_words(machine, work)?;
    if work.instructions() == 0 {
        return Err(unfit(
            "its length".into(),
            "no instruction on limbs".into(),
            "at least one".into(),
        ));
    }
    let capacity = machine.scratchpad_limbs(work.n());
    let most = (0..work.instructions())
        .max_by_key(|&i| work.operands(i).count())
        .expect("there is one");
    let needed = work.operands(most).count() + 1;
    if needed > capacity {
        let bytes = needed as u64 * machine.limb_bytes(work.n());
        return Err(unfit(
            "scratchpad.bytes".into(),
            format!("enough for {capacity} limbs of {} words", work.n()),
            format!(
                "{needed} limbs ({bytes} bytes) for one {}",
                work.kind(most).name()
            ),
        ));
    }
    Ok(needed)
}

/// Limbs that may be in use at once, at least `needed`. The rest of the scratchpad lets loads run ahead of their use.
fn slots(limbs: usize, needed: usize, reserve: usize) -> usize {
    needed.max(limbs - limbs / reserve)
}
