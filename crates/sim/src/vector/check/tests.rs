//! Tests that the checker accepts schedules of the passes, and refuses 1,000 that were changed.

use super::{Violation, check};
use crate::vector::machine::Machine;
use crate::vector::passes::{Assignment, Event, INSIDE, Options, Schedule, schedule};
use crate::vector::testing::{Knobs, Random, work};
use crate::vector::work::Work;

/// Indices of the events that `which` selects.
fn places(schedule: &Schedule, which: impl Fn(Event) -> bool) -> Vec<usize> {
    let events = schedule.events().enumerate();
    events
        .filter(|(_, (event, _))| which(*event))
        .map(|(place, _)| place)
        .collect()
}

fn remove(schedule: &mut Schedule, place: usize) {
    schedule.events.remove(place);
    schedule.starts.remove(place);
}

/// Makes one change that breaks the schedule. Returns a description of the change, or `None` if the
/// schedule has no place for it.
fn mutate(
    schedule: &mut Schedule,
    (machine, work): (&Machine, &Work),
    random: &mut Random,
) -> Option<&'static str> {
    let issues = places(schedule, |event| matches!(event, Event::Issue(_)));
    let fetches = places(schedule, |event| matches!(event, Event::Fetch(_)));
    let transfers = places(schedule, |event| {
        matches!(event, Event::Fetch(_) | Event::WriteBack(_))
    });
    let releases = places(schedule, |event| matches!(event, Event::Release(_)));
    let issue = issues[random.below(issues.len())];
    let Event::Issue(instruction) = Event::unpack(schedule.events[issue]) else {
        unreachable!("an issue")
    };
    let i = instruction as usize;
    Some(match random.below(18) {
        0 => {
            remove(schedule, issue);
            "an instruction is left out"
        }
        1 => {
            remove(schedule, fetches[random.below(fetches.len())]);
            "a load is left out"
        }
        2 => {
            schedule.events.push(Event::Issue(instruction).pack());
            schedule.starts.push(schedule.cycles);
            "an instruction comes twice"
        }
        3 => {
            let is_result = |limb: u32| (limb as usize) < work.instructions();
            let operand = work.operands(i).find(|&limb| is_result(limb))?;
            let before = schedule
                .events
                .iter()
                .position(|&event| event == Event::Issue(operand).pack())?;
            schedule.starts[issue] = schedule.starts[before] + schedule.busy[operand as usize];
            "an instruction does not wait for the latency of another"
        }
        4 => {
            schedule.busy[i] = (schedule.busy[i] + 2).saturating_sub(random.below(2) as u64 * 3);
            "units are busy for another time"
        }
        5 => {
            let less = random.below(2) == 1 && schedule.ports[i] > 0;
            schedule.ports[i] = (schedule.ports[i] + 2) - u64::from(less) * 3;
            "ports are busy for another time"
        }
        6 => {
            schedule.places[i].cluster += 2 + random.below(9) as u16;
            "a cluster that is not there"
        }
        7 => {
            schedule.places[i].units[0] += 1 + random.below(9) as u8;
            "a unit that is not there"
        }
        8 => {
            let same = |&other: &usize| match Event::unpack(schedule.events[other]) {
                Event::Issue(other) => {
                    let unit = |i: usize| (schedule.places[i].cluster, work.kind(i));
                    other != instruction && unit(other as usize) == unit(i)
                }
                _ => false,
            };
            let other = issues.iter().copied().find(same)?;
            schedule.starts[other] = schedule.starts[issue];
            "two instructions on one unit"
        }
        9 => {
            let [one, other] = [0; 2].map(|_| transfers[random.below(transfers.len())]);
            if one == other {
                return None;
            }
            schedule.starts[one] = schedule.starts[other];
            "two transfers at once"
        }
        10 => {
            schedule.starts[releases[random.below(releases.len())]] = 0;
            "a limb leaves before it was there"
        }
        11 => {
            let fetch = fetches[random.below(fetches.len())];
            let Event::Fetch(limb) = Event::unpack(schedule.events[fetch]) else {
                unreachable!("a load")
            };
            let reads = |&place: &usize| match Event::unpack(schedule.events[place]) {
                Event::Issue(reader) => {
                    place > fetch && work.operands(reader as usize).any(|read| read == limb)
                }
                _ => false,
            };
            let reader = issues.iter().copied().find(reads)?;
            schedule.events.swap(fetch, reader);
            schedule.starts.swap(fetch, reader);
            "a limb is read before it is loaded"
        }
        12 => {
            schedule.cycles += 1;
            schedule.cycles -= 2 * random.below(2) as u64;
            "another end"
        }
        13 => {
            let other = 1 - schedule.places[i].cluster;
            if machine.clusters()[usize::from(other)].executes(work.kind(i)) {
                return None;
            }
            schedule.places[i].cluster = other;
            "a cluster that does not execute it"
        }
        14 => {
            if machine.buffer_limbs(work.n()) > 0 {
                // Limbs in the buffer pass no ports either.
                return None;
            }
            let operand = random.below(work.operands(i).count());
            if schedule.holds(i, operand) {
                schedule.held[i] &= !(1 << operand);
                "an operand passes the ports in no time"
            } else {
                schedule.held[i] |= 1 << operand;
                "an operand is in the register file without having passed the ports"
            }
        }
        15 => {
            schedule.held[i] ^= INSIDE;
            "a result leaves the register file, or does not, in another time"
        }
        16 => {
            let release = releases[random.below(releases.len())];
            let Event::Release(limb) = Event::unpack(schedule.events[release]) else {
                unreachable!("a release")
            };
            let again = |&fetch: &usize| {
                fetch > release && schedule.events[fetch] == Event::Fetch(limb).pack()
            };
            let fetch = fetches.iter().copied().find(again)?;
            schedule.starts[release] = schedule.starts[fetch] + 1;
            "a limb comes again before it has left"
        }
        _ => {
            let place = random.below(schedule.events.len());
            schedule.events[place] =
                Event::Release(work.limbs() as u32 + random.below(9) as u32).pack();
            "a limb that is not there"
        }
    })
}

#[test]
fn a_thousand_changed_schedules_are_refused() {
    let mut refused = 0;
    for seed in 0.. {
        let mut random = Random::new(seed);
        let work = work(seed % 40, 1 + random.below(30));
        let knobs = Knobs::random(&mut random);
        let machine = match seed % 2 {
            0 => knobs.machine(),
            _ => knobs.apart(random.below(8)),
        };
        let options = Options {
            window: Some(1 + random.below(20)),
            ..Options::default()
        };
        let good = schedule(&machine, &work, options, &mut |_, _| true).expect("it fits");
        assert_eq!(check(&machine, &work, &good), Ok(()), "seed {seed}");
        for _ in 0..4 {
            let mut bad = good.clone();
            let Some(change) = mutate(&mut bad, (&machine, &work), &mut random) else {
                continue;
            };
            assert!(
                check(&machine, &work, &bad).is_err(),
                "seed {seed}: {change}"
            );
            refused += 1;
        }
        if refused >= 1000 {
            return;
        }
    }
}

/// A program of two additions, the second of which reads the result of the first, with its schedule
/// on the machine `tiny`.
fn two_additions() -> (Machine, Work, Schedule) {
    let text = "palladion-trace/1\nring 16\nmoduli 97\n\nmain:\n  %0: eval 0..1 = load x\n  %1: eval 0..1 = add %0 %0\n  \
                %2: eval 0..1 = add %1 %1\n  store y %2\nend\n";
    let work = Work::new(&trace::Trace::parse(text).expect("a trace")).expect("short enough");
    let machine = Machine::named("tiny").expect("built in");
    let good = schedule(&machine, &work, Options::default(), &mut |_, _| true).expect("it fits");
    (machine, work, good)
}

#[test]
fn a_result_is_legal_in_its_cycle_and_illegal_in_the_one_before() {
    let (machine, work, good) = two_additions();
    assert_eq!(check(&machine, &work, &good), Ok(()));
    let mut early = good.clone();
    let place = places(&good, |event| event == Event::Issue(1))[0];
    early.starts[place] -= 1;
    let violation = check(&machine, &work, &early).expect_err("one cycle too early");
    let ready = good.starts[place];
    let Violation::Dependence {
        ref state,
        cycle,
        limb,
        ..
    } = violation
    else {
        panic!("{violation}")
    };
    assert_eq!((cycle, limb), (ready - 1, 0));
    assert!(state.contains(&ready.to_string()), "{state}");
    assert!(
        violation.to_string().contains("instruction 1 (add)"),
        "{violation}"
    );
}

#[test]
fn a_scratchpad_that_is_too_small_is_found() {
    let mut knobs = Knobs {
        limbs: 40,
        bandwidth: 64,
        lanes: 8,
        ports: 4,
        registers: 0,
    };
    let work = work(5, 30);
    let machine = knobs.machine();
    let good = schedule(&machine, &work, Options::default(), &mut |_, _| true).expect("it fits");
    assert_eq!(check(&machine, &work, &good), Ok(()));
    knobs.limbs = 8;
    let verdict = check(&knobs.machine(), &work, &good);
    assert!(
        matches!(
            verdict,
            Err(Violation::Capacity {
                capacity: 8,
                found: 9,
                ..
            })
        ),
        "{verdict:?}"
    );
}

#[test]
fn a_register_file_that_is_too_small_is_found() {
    let knobs = Knobs {
        limbs: 40,
        bandwidth: 64,
        lanes: 8,
        ports: 4,
        registers: 5,
    };
    let work = work(5, 30);
    let machine = knobs.machine();
    let good = schedule(&machine, &work, Options::default(), &mut |_, _| true).expect("it fits");
    assert_eq!(check(&machine, &work, &good), Ok(()));
    let smaller = Knobs {
        registers: 1,
        ..knobs
    };
    let verdict = check(&smaller.machine(), &work, &good);
    assert!(
        matches!(verdict, Err(Violation::Registers { capacity: 1, found, .. }) if found > 1),
        "{verdict:?}"
    );
}

#[test]
fn lists_of_another_length_and_lost_outputs_are_found() {
    let (machine, work, good) = two_additions();
    let mut bad = good.clone();
    bad.places.push(Assignment::default());
    assert!(matches!(
        check(&machine, &work, &bad),
        Err(Violation::Length { what: "places", .. })
    ));
    let mut bad = good.clone();
    let written = places(&good, |event| matches!(event, Event::WriteBack(_)))[0];
    remove(&mut bad, written);
    assert_eq!(
        check(&machine, &work, &bad),
        Err(Violation::Output { limb: 1 })
    );
}
