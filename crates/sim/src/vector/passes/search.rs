//! The search: plans are listed on model machines, and the best of them get their cycles.
//!
//! For each capacity and model machine, the [`FINALISTS`] plans that take the fewest ticks get
//! cycles on the machine, and the fastest schedule is taken. Ticks depend on the units of the
//! machine alone, so a machine with more of anything else has the same finalists: it is never
//! slower (docs/adr/0024). Of all 644 plans of a small network on `f1`, the plan of the fastest
//! schedule was the third by its ticks (docs/notes/vector-machines.md).

use super::attempts::{self, Attempt, BEST, Room};
use super::graph::Graph;
use super::list::{self, Listed};
use super::placement::place;
use super::profile::{PROFILES, Profile};
use super::schedule::Schedule;
use super::spread::{self, Reach};
use super::{Options, Spread};
use crate::error::{Error, Result};
use crate::vector::machine::Machine;
use crate::vector::work::Work;
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Plans for each capacity and model machine that get their cycles.
const FINALISTS: usize = 8;
/// Plans for each model machine that are listed on models with fewer units too.
const RELISTED: usize = 3;
/// Number of instructions up to which programs are planned for parts of the scratchpad too.
const HALVED: usize = 1 << 12;
/// Plans between two calls of `go_on`.
const STEP: usize = 16;
/// Parts of a search, as `go_on` counts them, for all plans of a room.
const PART: usize = 1000;

/// A plan of the movement of limbs.
struct Plan {
    /// Place in the search, which breaks ties.
    number: usize,
    attempt: Attempt,
}

/// A plan with its order on a model machine.
struct Finalist {
    plan: Arc<Plan>,
    listed: Listed,
}

/// The best plans so far on one model machine.
struct Finalists {
    profile: Profile,
    /// At most [`FINALISTS`], by ticks and then by number.
    best: Mutex<Vec<Finalist>>,
    /// Ticks of the last of them, once there are as many as there may be.
    limit: AtomicU64,
}

impl Finalists {
    /// The orders of the best plans, at most [`BEST`].
    fn orders(&self) -> Vec<usize> {
        let best = self.best.lock().expect("no thread panics");
        let mut orders = Vec::with_capacity(BEST);
        for order in best.iter().filter_map(|one| one.plan.attempt.order) {
            if orders.len() < BEST && !orders.contains(&order) {
                orders.push(order);
            }
        }
        orders
    }

    fn into_best(self) -> Vec<Finalist> {
        self.best.into_inner().expect("no thread panics")
    }

    fn new(profile: Profile) -> Self {
        Self {
            profile,
            best: Mutex::default(),
            limit: AtomicU64::new(u64::MAX),
        }
    }

    /// Lists a plan, and keeps it if it is among the best.
    fn meet(&self, machine: &Machine, work: &Work, graph: &Graph, plan: &Arc<Plan>) {
        let channel = plan.attempt.transfers as u64 * self.profile.transfer().busy;
        if channel > self.limit.load(Ordering::Relaxed) {
            return;
        }
        let Some(listed) = list::order(machine, work, graph, self.profile, &self.limit) else {
            return;
        };
        let mut best = self.best.lock().expect("no thread panics");
        let key = |one: &Finalist| (one.listed.ticks, one.plan.number);
        let place = best.partition_point(|one| key(one) < (listed.ticks, plan.number));
        let plan = Arc::clone(plan);
        best.insert(place, Finalist { plan, listed });
        best.truncate(FINALISTS);
        if best.len() == FINALISTS {
            let last = best[FINALISTS - 1].listed.ticks;
            self.limit.store(last, Ordering::Relaxed);
        }
    }
}

/// How far a search is.
struct Progress<'a> {
    done: usize,
    all: usize,
    go_on: &'a mut dyn FnMut(usize, usize) -> bool,
}

impl Progress<'_> {
    /// Adds parts that are about to be done.
    fn step(&mut self, parts: usize) -> Result<()> {
        if !(self.go_on)(self.done, self.all) {
            return Err(Error::Stopped);
        }
        self.done += parts;
        Ok(())
    }
}

/// Searches for a schedule. `needed` is the number of limbs that the largest instruction needs.
/// Calls `go_on(done, all)` with the parts of the search that are done, and the number of all.
pub(super) fn search(
    machine: &Machine,
    work: &Work,
    options: Options,
    needed: usize,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Schedule> {
    let largest = machine.scratchpad_limbs(work.n());
    // Plans of a very short program for half the scratchpad are tried too, so that a scratchpad of
    // twice the size never slows it.
    let halves = std::iter::successors(Some(largest), |capacity| Some(capacity / 2));
    let halves = halves.take_while(|&half| half >= needed);
    let most = if work.instructions() > HALVED {
        1
    } else {
        usize::MAX
    };
    let capacities: Vec<usize> = halves.take(most).collect();
    let rooms = attempts::rooms(work, options);
    let mut progress = Progress {
        done: 0,
        all: PART * (1 + capacities.len() * (2 * rooms.len() + 1)),
        go_on,
    };
    progress.step(PART)?;
    let mut orders = Orders::new(machine, work, options, needed);
    let mut fastest: Option<Schedule> = None;
    for capacity in capacities {
        let finalists = PROFILES.map(Finalists::new);
        let mut unlisted = Vec::new();
        let mut known = HashSet::new();
        // For each model machine, the orders that are tried on it.
        let mut tried: Vec<Vec<usize>> = vec![(0..orders.all.len()).collect(); PROFILES.len()];
        for (turn, &room) in rooms.iter().enumerate() {
            progress.step(PART)?;
            let limit = fastest.as_ref().map_or(u64::MAX, |best| best.cycles);
            let mut plans = orders.plans(room, &tried, capacity, limit);
            plans.retain(|plan| known.insert(digest(&plan.events)));
            let first = known.len() - plans.len();
            let numbered = plans.into_iter().zip(first..);
            let plans: Vec<Arc<Plan>> = numbered
                .map(|(attempt, number)| Arc::new(Plan { number, attempt }))
                .collect();
            if !options.listed {
                unlisted.extend(plans);
                continue;
            }
            for some in plans.chunks(STEP) {
                progress.step(PART * some.len() / plans.len())?;
                some.par_iter().for_each(|plan| {
                    let graph = Graph::new(work, plan.attempt.events.clone(), capacity);
                    for (one, tried) in finalists.iter().zip(&tried) {
                        if plan
                            .attempt
                            .order
                            .is_none_or(|order| tried.contains(&order))
                        {
                            one.meet(machine, work, &graph, plan);
                        }
                    }
                });
            }
            if turn == 0 {
                tried = finalists.iter().map(Finalists::orders).collect();
            }
        }
        let fewer = on_fewer_units(machine, work, &finalists, capacity);
        let listed = finalists.into_iter().flat_map(Finalists::into_best);
        let listed = listed.map(|one| (one.plan, Some(one.listed)));
        let listed = listed.chain(fewer.into_iter().map(|(plan, listed)| (plan, Some(listed))));
        let unlisted = unlisted.into_iter().map(|plan| (plan, None));
        let all: Vec<(Arc<Plan>, Option<Listed>)> = listed.chain(unlisted).collect();
        let count = all.len().max(1);
        for (plan, listed) in all {
            progress.step(PART / count)?;
            let limit = fastest.as_ref().map_or(u64::MAX, |best| best.cycles);
            if plan.attempt.transfers as u64 * machine.transfer(work.n()) >= limit {
                // The memory channel alone would take longer than the fastest schedule.
                continue;
            }
            let graph = Graph::new(work, plan.attempt.events.clone(), capacity);
            let mut step = |_: usize| progress.step(0).is_ok();
            let placed = place(machine, work, (&graph, listed.as_ref()), limit, &mut step)?;
            fastest = placed.or(fastest);
        }
    }
    Ok(fastest.expect("something is tried"))
}

/// Lists the best plans of each model machine on models with fewer units. A list scheduler may do
/// worse with more units, and these orders serve for more of them too.
fn on_fewer_units(
    machine: &Machine,
    work: &Work,
    finalists: &[Finalists],
    capacity: usize,
) -> Vec<(Arc<Plan>, Listed)> {
    if !attempts::is_short(work) {
        return Vec::new();
    }
    let fewer = machine.with_fewer_units();
    let mut all: Vec<(Arc<Plan>, Profile, &Machine)> = Vec::new();
    for one in finalists {
        let best = one.best.lock().expect("no thread panics");
        for finalist in best.iter().take(RELISTED) {
            let plan = || Arc::clone(&finalist.plan);
            all.extend(fewer.iter().map(|machine| (plan(), one.profile, machine)));
        }
    }
    let listed = all.into_par_iter().filter_map(|(plan, profile, machine)| {
        let graph = Graph::new(work, plan.attempt.events.clone(), capacity);
        let listed = list::order(machine, work, &graph, profile, &AtomicU64::new(u64::MAX))?;
        Some((plan, listed))
    });
    listed.collect()
}

/// All orders of a search, and those that were spread for a window.
struct Orders<'a> {
    machine: &'a Machine,
    work: &'a Work,
    options: Options,
    needed: usize,
    all: Vec<Vec<u32>>,
    spread: HashMap<(usize, usize), Vec<u32>>,
}

impl<'a> Orders<'a> {
    fn new(machine: &'a Machine, work: &'a Work, options: Options, needed: usize) -> Self {
        Self {
            machine,
            work,
            options,
            needed,
            all: attempts::orders(work, options),
            spread: HashMap::new(),
        }
    }

    /// Plans for a room, in a scratchpad of `capacity` limbs, of the orders that are tried on some
    /// model machine.
    fn plans(
        &mut self,
        Room(window, reserve): Room,
        tried: &[Vec<usize>],
        capacity: usize,
        limit: u64,
    ) -> Vec<Attempt> {
        let (machine, work, needed) = (self.machine, self.work, self.needed);
        let reach = match self.options.spread {
            Spread::Window => Reach::window(window),
            Spread::Pressure => {
                let largest = machine.scratchpad_limbs(work.n());
                Reach::pressure(attempts::slots(largest, needed, reserve))
            }
        };
        let places: BTreeSet<usize> = tried.iter().flatten().copied().collect();
        let lacks = |place: &usize| !self.spread.contains_key(&(window, *place));
        let missing: Vec<usize> = places.iter().copied().filter(lacks).collect();
        let by_time = |place: usize| {
            let order = spread::by_time(machine, work, &self.all[place], PROFILES[0], reach);
            ((window, place), order)
        };
        let more: Vec<_> = missing.into_par_iter().map(by_time).collect();
        self.spread.extend(more);
        let orders: Vec<(usize, &Vec<u32>)> = places
            .iter()
            .map(|&place| (place, &self.spread[&(window, place)]))
            .collect();
        let slots = attempts::slots(capacity, needed, reserve);
        let all = orders.len() == self.all.len();
        attempts::plans(machine, work, (&orders, all), (slots, limit), self.options)
    }
}

/// A digest of a plan's events, by which equal plans are known.
fn digest(events: &[u32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    events.hash(&mut hasher);
    hasher.finish()
}
