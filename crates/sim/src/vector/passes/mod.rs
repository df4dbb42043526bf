//! The passes that turn work into a schedule. Each can be switched off.
//!
//! 1. [`order`] brings operations together that share a key-switch hint.
//! 2. [`walk`] completes one limb of results after the other. [`layers`] brings operations together
//!    that stay within their limbs.
//! 3. [`spread`] brings instructions together that can run at the same time.
//! 4. [`movement`] plans the contents of the scratchpad over time, with full knowledge of the
//!    future.
//! 5. [`list`] orders events by list scheduling on model machines. Instructions wait there in
//!    queues of clusters, their [`homes`].
//! 6. [`registers`] decides which limbs stay in the register files of their clusters.
//! 7. [`placement`] gives each event its cycle and each instruction its units.
//!
//! The first five passes fix an order of events, which does not depend on lanes, latencies, ports,
//! register files or bandwidth. A larger register file keeps all limbs of a smaller one and more,
//! and the last pass serves every unit, port and channel in the fixed order. More of any of these
//! resources therefore never slows a schedule (docs/adr/0024).

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
use walk::Sums;

#[cfg(test)]
pub(in crate::vector) use schedule::INSIDE;
pub use schedule::{Assignment, Event, Schedule, Stall};

/// The order of the trace's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The order of the trace.
    Program,
    /// Operations that share a key-switch hint come together.
    Hints,
}

/// The rule that chooses the limb to leave a full scratchpad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// The limb whose next use is farthest away, or that has none.
    Belady,
    /// The limb whose last use is the longest ago.
    Lru,
}

/// The rule that brings instructions together which can run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// The first instructions that can begin, within a window of the input order.
    Window,
    /// The instructions with the longest chains after them, of the whole program, until most of the
    /// scratchpad is taken. This is a list scheduler that looks at the pressure on registers, after
    /// Goodman and Hsu. It is for comparison.
    Pressure,
}

/// Settings of the passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The order of the trace's operations.
    pub order: Order,
    /// Number of instructions of a region that is executed limb by limb. 0 keeps the order of the
    /// instructions, and 1 makes each operation a region. `None` tries 0, 1 and 4,096.
    pub region: Option<usize>,
    /// Number of places by which an instruction may begin ahead of the first instruction that has
    /// not begun. 1 keeps the order. `None` tries 64, 192, 256 and 1,024.
    pub window: Option<usize>,
    /// The rule that brings instructions together which can run at the same time.
    pub spread: Spread,
    /// The rule that chooses the limb to leave a full scratchpad.
    pub eviction: Eviction,
    /// True if gaps are filled: list scheduling on model machines then orders the events. Otherwise
    /// the events stay in the planned order.
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

/// Numbers of operations by which an operation may come earlier for its hint. All candidates below
/// are from docs/notes/vector-machines.md.
const AHEADS: [&[usize]; 2] = [&[64, usize::MAX], &[64]];
/// Largest number of instructions for which all regions, windows and orders are tried, and each
/// gets its cycles. For longer programs fewer are tried, and only the order with the least traffic
/// on the memory channel gets its cycles.
const FEW: usize = 1 << 17;
/// Sizes of regions to try, for short and for long programs.
const REGIONS: [&[usize]; 2] = [&[0, 1, 4096], &[1, 4096, 8192]];
/// How layers are walked, for short and for long programs: how their sums follow each other, and
/// how many limbs at most change their basis at once.
const WALKS: [&[(Sums, usize)]; 2] = [
    &[(Sums::Whole, usize::MAX), (Sums::Parts, 192)],
    &[(Sums::Parts, usize::MAX), (Sums::Parts, 192)],
];
/// Windows to try, for short and for long programs. Beside each: divisors `d` to try, where `1/d`
/// of the scratchpad stays free for loads ahead of time.
const WINDOWS: [&[(usize, &[usize])]; 2] = [
    &[
        (64, &[8]),
        (192, &[64]),
        (256, &[8]),
        (1024, &[8, 4, 5, 64]),
    ],
    &[(64, &[8])],
];
/// The divisors for a window that the caller chooses.
const RESERVE: &[usize] = &[8];
/// Mean number of instructions per step of a long program from which layers are searched in each
/// step by itself.
const LONG: usize = 1024;
/// Eighths of the limbs of hints that stream through the scratchpad. Used if hints are loaded again
/// and the program is short.
const STREAMED: u32 = 6;

/// Schedules work on a machine. Calls `go_on(done, all)` with the thousandths of attempts that are
/// done, and the number of all. If it returns false, the search stops.
///
/// # Errors
/// [`Error::Unfit`] for a ring degree, a modulus or an instruction that is too large for the
/// machine, and for work without instructions; [`Error::Stopped`] if `go_on` returns false.
pub fn schedule(
    machine: &Machine,
    work: &Work,
    options: Options,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Schedule> {
    let needed = fits(machine, work)?;
    let capacity = machine.scratchpad_limbs(work.n());
    let many = usize::from(work.instructions() > FEW);
    // Plans for half the scratchpad are tried too, so that a scratchpad of twice the size never
    // slows a schedule.
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
    // Computing an order takes about as long as one attempt.
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
            // The sort is stable, so that the first of equal plans is the same on every computer.
            plans.sort_by_key(|plan| plan.0);
            plans.dedup();
            if many == 1 {
                plans.truncate(1);
            }
            for (transfers, events) in plans {
                let limit = fastest.as_ref().map_or(u64::MAX, |best| best.cycles);
                if transfers as u64 * machine.transfer(work.n()) >= limit {
                    // The memory channel alone would take longer than the fastest schedule.
                    break;
                }
                let graph = Graph::new(work, events, capacity);
                for profile in &profiles {
                    let listed = profile.map(|one| list::order(machine, work, &graph, one));
                    let mut step = |_: usize| go_on(done, steps);
                    let limit = fastest.as_ref().map_or(u64::MAX, |best| best.cycles);
                    let placed = place(machine, work, (&graph, listed.as_ref()), limit, &mut step)?;
                    fastest = placed.or(fastest);
                }
            }
            done += attempts * reserves.len();
        }
    }
    Ok(fastest.expect("something is tried"))
}

/// Plans the movement of limbs for each order. Returns each plan with the number of limbs that it
/// moves over the memory channel.
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

/// Builds an order that takes each step of the program from the order with the fewest transfers in
/// this step, the first of equals.
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

/// Lists the orders of instructions to try, each once.
fn orders(work: &Work, options: Options, many: usize) -> Vec<Vec<u32>> {
    let base_orders: Vec<Vec<u32>> = match options.order {
        Order::Program => vec![(0..work.instructions() as u32).collect()],
        Order::Hints => AHEADS[many]
            .iter()
            .map(|&ahead| order::by_hints(work, ahead))
            .collect(),
    };
    let regions = one_or_all(options.region, REGIONS[many]);
    let walked = base_orders.iter().flat_map(|base| {
        regions.iter().map(|&region| match region {
            0 => base.clone(),
            size => walk::by_results(work, base, size),
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
    let layered = base_orders.iter().flat_map(|base| {
        let walks = WALKS[many].iter();
        let all = walks.flat_map(|&(sums, most)| within.iter().map(move |&one| (one, sums, most)));
        all.map(|walk| layers::by_layers(work, base, walk))
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

/// Refuses work that the machine cannot run. Returns the number of limbs that the largest
/// instruction needs.
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

/// Number of limbs that may be in use at once, at least `needed`. `1/reserve` of the scratchpad
/// stays free, so that loads can run ahead of their use.
fn slots(limbs: usize, needed: usize, reserve: usize) -> usize {
    needed.max(limbs - limbs / reserve)
}
