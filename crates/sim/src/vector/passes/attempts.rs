//! The attempts of a search: orders of instructions, and plans of their movement.
//!
//! Which of them are tried depends on the program and on the scratchpad, and on nothing else of the
//! machine (docs/adr/0024).

use super::layers::{self, Walk, Within};
use super::movement::{self, Uses};
use super::walk::Sums;
use super::{Eviction, Options, Order, Spread, order};
use crate::vector::machine::{Machine, Operation};
use crate::vector::work::Work;
use rayon::prelude::*;

/// Numbers of operations by which an operation may come earlier for its hint, by [`row`]. All
/// candidates below are from docs/notes/vector-machines.md.
const AHEADS: [&[usize]; 3] = [&[64, usize::MAX], &[64], &[64, usize::MAX]];
/// Largest number of instructions for which all regions, windows and orders are tried, and each is
/// listed on the model machines. For longer programs fewer are tried, and only the order with the
/// least traffic on the memory channel is listed.
const FEW: usize = 1 << 17;
/// Sizes of regions to try, by [`row`].
const REGIONS: [&[usize]; 3] = [&[0, 1, 4096], &[1, 4096, 8192], &[1, 4096]];
/// How layers are walked, by [`row`].
const WALKS: [&[Walk]; 3] = [
    &[
        walk(Sums::Whole, usize::MAX),
        walk(Sums::Parts, 192),
        AT_ONCE,
    ],
    &[walk(Sums::Parts, usize::MAX), walk(Sums::Parts, 192)],
    &[walk(Sums::Whole, usize::MAX), AT_ONCE],
];
/// The walk in which no sum waits.
const AT_ONCE: Walk = Walk {
    late: false,
    ..walk(Sums::Whole, usize::MAX)
};
/// Windows and reserves to try, by [`row`]. All orders are tried with the
/// first, and [the best](BEST) with the others.
const ROOMS: [&[Room]; 3] = [
    &[
        Room(1024, 8),
        Room(1024, 4),
        Room(1024, 5),
        Room(1024, 64),
        Room(256, 8),
        Room(192, 64),
        Room(64, 8),
    ],
    &[Room(64, 8)],
    &[Room(16, 8), Room(64, 8)],
];
/// For each model machine, the number of orders that are tried with all windows and reserves.
pub(super) const BEST: usize = 3;
/// Mean number of instructions per step of a long network from which layers are searched in each
/// step by itself.
const LONG: usize = 1024;
/// Eighths of the limbs of hints that stream through the scratchpad. Used if hints are loaded again
/// and the program is short.
const STREAMED: u32 = 6;

/// The room of a plan: number of places by which an instruction may begin ahead, and a divisor `d`,
/// where `1/d` of the scratchpad stays free for loads ahead of time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Room(pub(super) usize, pub(super) usize);

/// A planned order.
pub(super) struct Attempt {
    /// Place of the order in [`orders`], or `None` if it is made of several.
    pub(super) order: Option<usize>,
    /// Limbs that pass the memory channel.
    pub(super) transfers: usize,
    /// Packed events.
    pub(super) events: Vec<u32>,
}

/// Returns true for programs of which everything is tried.
pub(super) fn is_short(work: &Work) -> bool {
    work.instructions() <= FEW
}

/// The row of a table of attempts: 0 for short programs, 1 for long networks, 2 for long circuits.
fn row(work: &Work) -> usize {
    match is_short(work) {
        true => 0,
        false => 1 + usize::from(has_short_steps(work) && !extracts(work)),
    }
}

/// Returns true if the steps are short. Each step of a circuit is one operation.
fn has_short_steps(work: &Work) -> bool {
    work.instructions() < LONG * work.steps().len()
}

/// Returns true for programs that extract samples, as the tables of networks do.
fn extracts(work: &Work) -> bool {
    (0..work.instructions()).any(|i| work.kind(i) == Operation::Extract)
}

/// The windows and reserves to try.
pub(super) fn rooms(work: &Work, options: Options) -> Vec<Room> {
    match options.spread {
        Spread::Window => one_or_all(options.window.map(|size| Room(size, 8)), ROOMS[row(work)]),
        Spread::Pressure => vec![Room(usize::MAX, 8)],
    }
}

/// Plans orders, each with its place in [`orders`], for a number of slots. If all orders are there,
/// one that is made of them is planned too. Returns the plans with the fewest transfers first. Of a
/// long program it returns the first alone, and no plan whose transfers take `limit` cycles or
/// more.
pub(super) fn plans(
    machine: &Machine,
    work: &Work,
    (orders, all): (&[(usize, &Vec<u32>)], bool),
    (slots, limit): (usize, u64),
    options: Options,
) -> Vec<Attempt> {
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
        let sum = |plan: &(Vec<usize>, _)| plan.0.iter().sum::<usize>();
        if sum(&kept) < sum(&plain) {
            kept
        } else {
            plain
        }
    };
    type Planned = (Option<usize>, (Vec<usize>, Vec<u32>));
    let mut plans: Vec<Planned> = orders
        .par_iter()
        .map(|&(place, order)| (Some(place), plan(order, 0)))
        .collect();
    if options.region.is_none() && all {
        let transfers: Vec<&[usize]> = plans.iter().map(|(_, plan)| &plan.0[..]).collect();
        plans.push((None, plan(&mixed(work, orders, &transfers), 0)));
    }
    if is_short(work) && options.eviction == Eviction::Belady {
        let again: Vec<&(usize, &Vec<u32>)> = orders
            .iter()
            .zip(&plans)
            .filter(|(_, (_, plan))| movement::loads_hints_again(work, &plan.1))
            .map(|(order, _)| order)
            .collect();
        let streamed = again
            .into_par_iter()
            .map(|&(place, order)| (Some(place), plan(order, STREAMED)));
        plans.par_extend(streamed);
    }
    let attempt = |(order, (transfers, events)): Planned| Attempt {
        order,
        transfers: transfers.iter().sum(),
        events,
    };
    let mut plans: Vec<Attempt> = plans.into_iter().map(attempt).collect();
    // The sort is stable, so that the first of equal plans is the same on every computer.
    plans.sort_by_key(|plan| plan.transfers);
    if !is_short(work) {
        plans.truncate(1);
        plans.retain(|plan| (plan.transfers as u64) * machine.transfer(work.n()) < limit);
    }
    plans
}

/// Builds an order that takes each step of the program from the order with the fewest transfers in
/// this step, the first of equals.
fn mixed(work: &Work, orders: &[(usize, &Vec<u32>)], transfers: &[&[usize]]) -> Vec<u32> {
    let mut steps: Vec<Vec<u32>> = vec![Vec::new(); work.steps().len()];
    let best: Vec<usize> = (0..steps.len())
        .map(|step| {
            let moved = |order: &usize| transfers[*order][step];
            (0..orders.len())
                .min_by_key(moved)
                .expect("there is an order")
        })
        .collect();
    for (place, (_, order)) in orders.iter().enumerate() {
        for &instruction in *order {
            let step = work.step(instruction as usize);
            if best[step] == place {
                steps[step].push(instruction);
            }
        }
    }
    steps.concat()
}

/// Lists the orders of instructions to try, each once.
pub(super) fn orders(work: &Work, options: Options) -> Vec<Vec<u32>> {
    let row = row(work);
    let base_orders: Vec<Vec<u32>> = match options.order {
        Order::Program => vec![(0..work.instructions() as u32).collect()],
        Order::Hints => AHEADS[row]
            .iter()
            .map(|&ahead| order::by_hints(work, ahead))
            .collect(),
    };
    let regions = one_or_all(options.region, REGIONS[row]);
    let walked = base_orders.iter().flat_map(|base| {
        regions.iter().map(|&region| match region {
            0 => base.clone(),
            size => super::walk::by_results(work, base, size),
        })
    });
    let within: &[Within] = match row {
        0 => &[
            Within::Step,
            Within::Program,
            Within::Streams(2),
            Within::Streams(usize::MAX),
        ],
        1 if !has_short_steps(work) => &[Within::Step],
        _ => &[Within::Program],
    };
    let layered = base_orders.iter().flat_map(|base| {
        let walks = WALKS[row].iter();
        let all = walks.flat_map(|&walk| within.iter().map(move |&one| (one, walk)));
        all.map(|(within, walk)| layers::by_layers(work, base, within, walk))
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

const fn walk(sums: Sums, most: usize) -> Walk {
    Walk {
        sums,
        most,
        late: true,
    }
}

fn one_or_all<T: Copy>(one: Option<T>, all: &[T]) -> Vec<T> {
    one.map_or_else(|| all.to_vec(), |one| vec![one])
}

/// Number of limbs that may be in use at once, at least `needed`. `1/reserve` of the scratchpad
/// stays free, so that loads can run ahead of their use.
pub(super) fn slots(limbs: usize, needed: usize, reserve: usize) -> usize {
    needed.max(limbs - limbs / reserve)
}
