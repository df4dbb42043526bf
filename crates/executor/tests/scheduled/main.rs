//! Schedules on vector machines, executed on words, give the words of a replay; changed streams do
//! not.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod mutants;
#[path = "../rows/outside.rs"]
#[allow(dead_code, reason = "there is one query here")]
mod outside;
#[path = "../../../trace/tests/random.rs"]
mod random;

use outside::Values;
use palladion_executor::{Error, execute, replay};
use proptest::prelude::*;
use random::N;
use sim::vector::{Fault, Machine, Options, Streams, Work, check, schedule};
use std::collections::BTreeSet;
use trace::Trace;

/// A machine with room for some limbs of 16 words of 64 bits in its scratchpad, and in the register
/// file of each cluster.
fn machine(rows: usize, registers: usize) -> Machine {
    let text = sim::built_in("tiny").unwrap();
    let text = text
        .replace("bytes = 16777216", &format!("bytes = {}", rows * 128))
        .replace(
            "register_file_bytes = 65536",
            &format!("register_file_bytes = {}", registers * 128),
        );
    Machine::from_toml(&text).unwrap()
}

/// A trace with its schedule's streams.
struct Case {
    machine: Machine,
    trace: Trace,
    work: Work,
    streams: Streams,
}

impl Case {
    /// Schedules a trace. `None` if it has no instruction on limbs, or does not fit the machine.
    fn new(machine: Machine, trace: Trace) -> Option<Self> {
        let work = Work::new(&trace).unwrap();
        let options = Options {
            window: Some(8),
            ..Options::default()
        };
        let of = schedule(&machine, &work, options, &mut |_, _| true).ok()?;
        check(&machine, &work, &of).unwrap();
        let streams = Streams::new(&machine, &work, &of).unwrap();
        streams.verify(&machine, &work).unwrap();
        Some(Self {
            machine,
            trace,
            work,
            streams,
        })
    }

    /// Executes streams, and returns what they store.
    fn run(&self, streams: &Streams) -> Result<Values, Error> {
        let mut outside = Values::of(&self.trace);
        let of = (&self.trace, &self.work, streams);
        execute(&self.machine, of, &mut outside, &mut |_, _| true)?;
        Ok(outside)
    }

    fn replayed(&self) -> Values {
        let mut outside = Values::of(&self.trace);
        replay(&self.trace, &mut outside, |_| true).unwrap();
        outside
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Few rows, so that limbs are written back and rows are used again; few and many registers.
    #[test]
    fn random_traces_give_the_words_of_a_replay(
        numbers in prop::collection::vec(any::<u32>(), 0..600),
        rows in 24usize..60,
        registers in 0usize..12,
    ) {
        if let Some(case) = Case::new(machine(rows, registers), random::trace(&numbers)) {
            prop_assert_eq!(&case.run(&case.streams).unwrap().stored, &case.replayed().stored);
            let bytes = case.streams.to_bytes();
            prop_assert_eq!(&Streams::from_bytes(&bytes).unwrap(), &case.streams);
            let texts: Vec<String> = case.streams.to_texts().map(|(_, text)| text).collect();
            let read = Streams::from_texts(texts.iter().map(String::as_str));
            prop_assert_eq!(&read.unwrap(), &case.streams);
        }
    }
}

/// Numbers for a random trace.
fn numbers(seed: u32) -> Vec<u32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    (0..600).map(next).collect()
}

/// The random traces have every operation, sums of several instructions, loads of limbs that were
/// written back, and results that stay in registers: else the test above shows less than it says.
#[test]
fn random_schedules_have_all_that_streams_can_hold() {
    use sim::vector::{Action, Place};
    let mut seen = BTreeSet::new();
    let random = (0..160).map(|seed| {
        let machine = machine(24 + seed as usize % 20, 4);
        Case::new(machine, random::trace(&numbers(seed)))
    });
    let chain = Case::new(machine(6, 2), mutants::chain());
    for case in random.chain([chain]).flatten() {
        for entry in case
            .streams
            .streams
            .iter()
            .flat_map(|stream| &stream.entries)
        {
            let name = match &entry.action {
                Action::Execute {
                    kind,
                    instruction,
                    operands,
                    row,
                    ..
                } => {
                    let origin = case.work.origin(*instruction as usize);
                    if origin.continues {
                        seen.insert(format!("continued {}", kind.name()));
                    }
                    if row.is_none() {
                        seen.insert("inside".into());
                    }
                    if operands
                        .iter()
                        .any(|operand| matches!(operand.from, Place::Register(_)))
                    {
                        seen.insert("register".into());
                    }
                    kind.name()
                }
                Action::Join { .. } => "join",
                Action::Load { limb, .. } if case.work.input(*limb).is_none() => "load again",
                Action::Load { .. } => "load",
                Action::Generate { .. } => "generate",
                Action::Write { .. } => "write",
            };
            seen.insert(name.to_owned());
        }
    }
    let expected = [
        "ntt",
        "intt",
        "add",
        "mul",
        "dot",
        "scale",
        "combine",
        "permute",
        "extract",
        "quotient",
        "convert",
        "round",
        "digit",
        "load",
        "load again",
        "write",
        "inside",
        "register",
    ];
    let missing: Vec<&str> = expected
        .into_iter()
        .filter(|name| !seen.contains(*name))
        .collect();
    assert!(missing.is_empty(), "missing {missing:?} of {seen:?}");
}

fn fault(result: Result<Values, Error>) -> Fault {
    match result {
        Err(Error::Other(error)) => *error.downcast::<Fault>().unwrap(),
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("accepted"),
    }
}
