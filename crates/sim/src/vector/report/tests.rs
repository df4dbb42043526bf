//! Tests that the parts of a report add up, for any program and machine, and that its steps are the
//! steps of the trace.

use super::activity;
use super::bound::chains_and_work;
use super::chains::Chains;
use super::{Component, Report, Series};
use crate::vector::machine::{Machine, Operation};
use crate::vector::passes::{Options, Schedule, schedule};
use crate::vector::testing::{Knobs, Random, trace, work};
use crate::vector::tracks::{Part, occupancy, tracks};
use crate::vector::work::Work;
use trace::{Step, Trace, TraceBuilder, Type};

fn scheduled(machine: &Machine, work: &Work) -> Schedule {
    schedule(machine, work, Options::default(), &mut |_, _| true).expect("it fits")
}

/// A random trace whose main body is cut into steps.
fn stepped(seed: u64) -> Trace {
    let mut trace = trace(seed, 60);
    let length = trace.main.instructions.len();
    let step = |number: usize| Step {
        name: format!("layer {number}: work"),
        first: 3 + number * (length - 3) / 4,
    };
    trace.steps = (0..4).map(step).collect();
    trace.verify().expect("steps are fine");
    trace
}

#[test]
fn steps_add_up_to_the_program() {
    let mut random = Random::new(1);
    for seed in 0..40 {
        let machine = Knobs::random(&mut random).machine();
        let work = Work::new(&stepped(seed)).expect("short enough");
        assert_eq!(work.steps().len(), 5, "what stands before the first is one");
        let schedule = scheduled(&machine, &work);
        let report = Report::new(&machine, &work, &schedule);
        let sum = |of: fn(&super::StepReport) -> u64| report.steps.iter().map(of).sum::<u64>();
        assert_eq!(sum(|step| step.cycles), report.cycles);
        assert_eq!(sum(|step| step.instructions), work.instructions() as u64);
        assert_eq!(sum(|step| step.traffic.total()), report.traffic.total());
        let joules: f64 = report.steps.iter().map(|step| step.joules).sum();
        assert!((joules / report.energy() - 1.0).abs() < 1e-9);
        assert!(
            (report.edap() / report.energy() / report.seconds / report.area() - 1.0).abs() < 1e-9
        );
        for step in &report.steps {
            assert!(step.begins < step.ends && step.ends <= report.cycles);
        }
    }
}

#[test]
fn an_instruction_is_of_the_step_in_which_its_call_stands() {
    let trace = stepped(3);
    let work = Work::new(&trace).expect("short enough");
    for i in 0..work.instructions() {
        let of = trace
            .steps
            .iter()
            .rposition(|step| step.first <= work.group(i));
        let name = of.map_or("before the first step", |of| &trace.steps[of].name);
        assert_eq!(work.steps()[work.step(i)], name);
    }
    let whole = super::super::testing::work(3, 60);
    assert_eq!(whole.steps(), ["the whole program"]);
}

/// Compares the shares of a report with the intervals of its series, and with a count cycle by
/// cycle.
#[test]
fn shares_over_time_are_those_of_the_whole() {
    let mut random = Random::new(2);
    for seed in 0..20 {
        let machine = match seed {
            0 => Machine::named("athena").expect("built in"),
            _ => Knobs::random(&mut random).machine(),
        };
        let work = work(seed, 50);
        let schedule = scheduled(&machine, &work);
        let report = Report::new(&machine, &work, &schedule);
        for parts in [1, 7, 100] {
            let series = Series::new(&machine, &work, &schedule, parts);
            assert_eq!(series.busy.len(), report.utilisation.len());
            for ((name, shares), (of, whole)) in series.busy.iter().zip(&report.utilisation) {
                assert_eq!((name, shares.len()), (of, parts));
                let mean = shares.iter().sum::<f64>() / parts as f64;
                assert!((mean - whole).abs() < 1e-9, "{name}: {mean}, {whole}");
                assert!(
                    shares
                        .iter()
                        .all(|&share| (-1e-9..=1.0 + 1e-9).contains(&share))
                );
            }
        }
        let memory = Series::new(&machine, &work, &schedule, schedule.cycles() as usize);
        let (_, memory) = memory.busy.last().expect("memory is last");
        let slices = tracks(&machine, &work, &schedule);
        let slices = slices.iter().find(|track| track.part == Part::Memory);
        for (cycle, share) in memory.iter().enumerate() {
            let cycle = cycle as u64;
            let busy =
                |slice: &crate::vector::tracks::Slice| (slice.start..slice.end).contains(&cycle);
            let expected = slices.expect("there is memory").slices.iter().any(busy);
            assert!(
                (share - f64::from(u8::from(expected))).abs() < 1e-6,
                "{cycle}: {share}"
            );
        }
    }
}

#[test]
fn each_part_does_one_thing_at_a_time_and_its_stalls_are_its_gaps() {
    let mut random = Random::new(4);
    for seed in 0..20 {
        let machine = Knobs::random(&mut random).machine();
        let work = work(seed, 50);
        let schedule = scheduled(&machine, &work);
        for track in tracks(&machine, &work, &schedule) {
            for pair in track.slices.windows(2) {
                assert!(pair[0].end <= pair[1].start, "{:?}: {pair:?}", track.part);
            }
        }
        let components = Component::all(&machine, &work, &schedule);
        let ports: u64 = (0..work.instructions()).map(|i| schedule.ports(i)).sum();
        let of_ports = components.iter().filter(|one| one.name.ends_with("ports"));
        assert_eq!(of_ports.map(|one| one.busy).sum::<u64>(), ports);
        for one in &components {
            assert!(one.busy + one.stalled <= schedule.cycles(), "{one:?}");
            assert!(one.longest <= one.stalled && one.stalls <= one.instructions);
            assert_eq!(one.stalls == 0, one.stalled == 0);
        }
    }
}

#[test]
fn the_scratchpad_never_holds_more_than_fits() {
    let mut random = Random::new(5);
    for seed in 0..20 {
        let machine = Knobs::random(&mut random).machine();
        let work = work(seed, 50);
        let capacity = machine.scratchpad_limbs(work.n()) as i64;
        let held = occupancy(&scheduled(&machine, &work));
        assert!(held.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(
            held.iter()
                .all(|&(_, limbs)| (0..=capacity).contains(&limbs))
        );
    }
}

#[test]
fn latencies_are_those_of_the_units() {
    let f1 = Machine::named("f1").expect("built in");
    let latencies = activity::latencies(&f1);
    assert_eq!(latencies[Operation::Ntt as usize], 270);
    assert_eq!(
        latencies[Operation::Dot as usize],
        6 + 2,
        "a multiplier, then an adder"
    );
}

/// Compares the working cycles of kinds of clusters with a count cycle by cycle, and overlaps of
/// steps with their definition.
#[test]
fn kinds_of_clusters_work_as_counted_cycle_by_cycle() {
    let mut random = Random::new(6);
    for seed in 0..20 {
        let machine = Knobs::random(&mut random).apart(random.below(4));
        let work = Work::new(&stepped(seed)).expect("short enough");
        let schedule = scheduled(&machine, &work);
        let report = Report::new(&machine, &work, &schedule);
        let steps = work.steps().len();
        let mut working = vec![vec![[false; 2]; schedule.cycles() as usize]; steps + 1];
        let mut begins = vec![u64::MAX; steps];
        for (event, start) in schedule.events() {
            let crate::vector::passes::Event::Issue(instruction) = event else {
                continue;
            };
            let i = instruction as usize;
            let step = work.step(i);
            let kind = machine.clusters()[usize::from(schedule.place(i).cluster)].kind;
            let unit = &machine.units()[machine.uses(work.kind(i))[0]];
            for cycle in start..start + unit.cycles(work.n(), work.terms(i)) {
                working[step][cycle as usize][kind] = true;
                working[steps][cycle as usize][kind] = true;
            }
            begins[step] = begins[step].min(start);
        }
        let counted = |of: &[[bool; 2]]| {
            let works = [0, 1].map(|kind| of.iter().filter(|both| both[kind]).count() as u64);
            (
                works.to_vec(),
                of.iter().filter(|both| both[0] && both[1]).count() as u64,
            )
        };
        let together = &report.together;
        assert_eq!(
            (together.works.clone(), together.together),
            counted(&working[steps])
        );
        for step in &report.steps {
            let place = work.steps().iter().position(|name| *name == step.name);
            let place = place.expect("a step of the work");
            let together = &step.together;
            assert_eq!(
                (together.works.clone(), together.together),
                counted(&working[place])
            );
            let later = begins[place + 1..]
                .iter()
                .copied()
                .min()
                .unwrap_or(u64::MAX);
            let shared = (together.begins..together.ends).filter(|&cycle| cycle >= later);
            assert_eq!(step.overlap, shared.count() as u64);
        }
        let series = Series::new(&machine, &work, &schedule, 7);
        let names: Vec<&str> = series.works.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["cluster", "sums", "together"]);
        let whole = [together.works[0], together.works[1], together.together];
        for ((name, shares), cycles) in series.works.iter().zip(whole) {
            let mean = shares.iter().sum::<f64>() / 7.0;
            let share = cycles as f64 / schedule.cycles() as f64;
            assert!((mean - share).abs() < 1e-9, "{name}: {mean}, {share}");
        }
    }
}

#[test]
fn no_schedule_is_faster_than_its_bounds() {
    let mut random = Random::new(6);
    for seed in 0..100 {
        let machine = match seed {
            0 => Machine::named("f1").expect("built in"),
            1 => Machine::named("athena").expect("built in"),
            _ => Knobs::random(&mut random).machine(),
        };
        let work = work(seed, 1 + random.below(60));
        let options = Options {
            window: Some(16),
            region: Some(50 * (seed as usize % 2)),
            ..Options::default()
        };
        let schedule = schedule(&machine, &work, options, &mut |_, _| true).expect("it fits");
        let report = Report::new(&machine, &work, &schedule);
        assert!(report.bound.cycles() <= report.bound.tightest());
        assert!(
            report.bound.tightest() <= report.cycles,
            "seed {seed}: {:?}",
            report.bound
        );
        assert!(
            report.bound.chains_and_work >= report.bound.critical_path,
            "seed {seed}"
        );
    }
}

/// A state of a search over all schedules: the cycles from which limbs are available, and from
/// which units and the channel are free.
#[derive(Clone)]
struct Search {
    there: Vec<Option<u64>>,
    units: Vec<Vec<u64>>,
    memory: u64,
    end: u64,
}

/// The shortest time over all orders in which instructions, loads and the write of the output
/// begin. All units are in one cluster, ports have no limit, and all limbs have room.
fn shortest(machine: &Machine, work: &Work, state: &Search, best: &mut u64) {
    if state.end >= *best {
        return;
    }
    let n = work.n();
    let mut open = false;
    for limb in (0..work.limbs()).filter(|&limb| state.there[limb].is_none()) {
        let mut next = state.clone();
        if work.input(limb as u32).is_some() {
            next.memory += machine.transfer(n);
            next.there[limb] = Some(next.memory + machine.memory_latency());
        } else {
            let operands = work.operands(limb).map(|one| state.there[one as usize]);
            let Some(ready) = operands.collect::<Option<Vec<u64>>>() else {
                continue;
            };
            let uses = machine.uses(work.kind(limb));
            let begin = uses.iter().map(|&unit| state.units[unit].iter().min());
            let begin = begin.map(|free| *free.expect("there is one"));
            let begin = begin.chain(ready).max().unwrap_or(0);
            let units = uses.iter().map(|&unit| &machine.units()[unit]);
            let cycles = units.clone().map(|unit| unit.cycles(n, work.terms(limb)));
            let busy = cycles.max().unwrap_or(0);
            for &unit in uses {
                let free = next.units[unit].iter_mut().min();
                *free.expect("there is one") = begin + busy;
            }
            let there = begin + busy + units.map(|unit| unit.latency).sum::<u64>();
            next.there[limb] = Some(there);
            next.end = next.end.max(there);
            if work.outputs().contains(&(limb as u32)) {
                next.memory = next.memory.max(there) + machine.transfer(n);
                next.end = next.end.max(next.memory);
            }
        }
        open = true;
        shortest(machine, work, &next, best);
    }
    if !open {
        *best = state.end;
    }
}

#[test]
fn the_bound_of_queues_is_at_most_the_shortest_of_all_schedules() {
    let mut random = Random::new(7);
    let mut met = 0;
    const CASES: usize = 150;
    for case in 0..CASES {
        let machine = Knobs::random(&mut random).machine();
        let mut builder = TraceBuilder::new(16, &[97]).expect("moduli");
        let mut main = builder.main();
        let mut values: Vec<_> = ["x", "y"]
            .map(|name| main.load(name, Type::eval(0..1)))
            .into();
        for _ in 0..2 + random.below(3) {
            let mut one = || values[random.below(values.len())];
            let (a, b) = (one(), one());
            let result = match random.below(3) {
                0 => main.mul(a, b),
                1 => main.automorphism(a, 5),
                _ => main.add(a, b),
            };
            values.push(result);
        }
        main.store("z", values[values.len() - 1]);
        let work = Work::new(&builder.finish().expect("a trace")).expect("short enough");
        let bound = chains_and_work(&machine, &work, Chains::new(&machine, &work), 1);
        let counts = super::unit_counts(&machine);
        let start = Search {
            there: vec![None; work.limbs()],
            units: counts.into_iter().map(|count| vec![0; count]).collect(),
            memory: 0,
            end: 0,
        };
        let mut best = u64::MAX;
        shortest(&machine, &work, &start, &mut best);
        assert!(bound <= best, "case {case}: {bound}, {best}");
        met += usize::from(bound == best);
    }
    assert!(met > CASES / 2, "it is exact in {met} of {CASES} cases");
}
