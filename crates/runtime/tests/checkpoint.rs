//! Runs that stop between two steps and are resumed from bytes.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::{PIXELS, small_program, table_program};
use client::{Client, system_rng};
use exchange::{EvaluationKeys, Query, files};
use palladion_runtime::{Checkpoint, Error, Event, Prepared, Server, StepResult};
use program::{Op, Program, Type};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rlwe::bytes::{BytesError, fingerprint};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes before the payload of a sealed file, and after it.
const HEADER: usize = 56;
const CHECKSUM: usize = 32;
/// Offsets of the payload: the number of steps done comes after the hash and its length, then the
/// first value.
const DONE: usize = HEADER + 40;
const ID: usize = DONE + 8;

/// A program with a layer for every step, so that a run can be stopped after each, and with results
/// in two ciphertexts.
fn in_single_steps(mut program: Program) -> Program {
    let mut second = program.steps.last().unwrap().clone();
    if let Op::Output { rows, at, .. } = &mut program.steps.last_mut().unwrap().op {
        rows.truncate(1);
        at.truncate(1);
    }
    if let Op::Output { rows, at, .. } = &mut second.op {
        rows.remove(0);
        at.remove(0);
    }
    program.steps.push(second);
    for (index, step) in program.steps.iter_mut().enumerate() {
        step.layer = format!("layer{index}");
    }
    program
}

struct Run {
    prepared: Prepared,
    client: Client,
    keys: EvaluationKeys,
    query: Query,
}

fn run_of(program: Program) -> Run {
    let prepared = Prepared::new(program).unwrap();
    let client = Client::generate_from(&prepared, &mut ChaCha20Rng::seed_from_u64(1));
    let keys = client.evaluation_keys().unwrap();
    let query = client.encrypt(&[vec![1; PIXELS]]).unwrap();
    Run {
        prepared,
        client,
        keys,
        query,
    }
}

impl Run {
    fn server(&self) -> Server<'_> {
        Server::new(&self.prepared, &self.keys)
    }

    /// The byte form of the checkpoint after `layers` layers, of a run that ends there.
    fn stopped_after(&self, layers: usize) -> Vec<u8> {
        let (mut seen, mut bytes) = (0, Vec::new());
        let stopped = self.server().resume(
            &self.query,
            None,
            |_| true,
            |state| {
                seen += 1;
                bytes = state.to_bytes(&self.prepared);
                seen < layers
            },
        );
        assert!(matches!(stopped, Err(Error::Stopped { .. })));
        bytes
    }

    fn read(&self, bytes: &[u8]) -> Result<Checkpoint, Error> {
        Checkpoint::from_bytes(&self.prepared, bytes)
    }
}

/// Predicted noise of a step's result.
fn noise_of(event: &Event<'_>) -> Option<String> {
    match event {
        Event::End {
            value: StepResult::Ciphertext(value),
            ..
        } => Some(format!("{:?}", value.noise())),
        Event::End { .. } => Some(String::new()),
        Event::Begin { .. } => None,
    }
}

/// A run that is stopped within a step, after any number of its operations, loses that step alone.
#[test]
fn a_run_that_is_stopped_within_a_step_goes_on_from_the_step_before() {
    let run = run_of(table_program(2));
    let total = run.prepared.program().steps.len();
    let count = AtomicUsize::new(0);
    let counted = || {
        count.fetch_add(1, Ordering::Relaxed);
        false
    };
    let server = run.server().stopped_by(&counted);
    let whole = server.raw_answer(&run.query, None, |_| true, |_| true);
    let (whole, _) = whole.unwrap();
    let operations = count.into_inner();
    assert!(
        operations > total,
        "{operations} operations in {total} steps"
    );
    let mut kept = BTreeSet::new();
    for last in (0..operations).step_by(operations.div_ceil(40)) {
        let count = AtomicUsize::new(0);
        let stop = || count.fetch_add(1, Ordering::Relaxed) >= last;
        let (mut begun, mut bytes) = (0, None);
        let observe = |event: Event<'_>| {
            if let Event::Begin { step } = event {
                begun = step;
            }
            true
        };
        let save = |state: &Checkpoint| {
            bytes = Some((state.steps(), state.to_bytes(&run.prepared)));
            true
        };
        let server = run.server().stopped_by(&stop);
        let stopped = server.raw_answer(&run.query, None, observe, save);
        assert!(
            matches!(stopped, Err(Error::Stopped { done, total: t }) if (done, t) == (begun, total))
        );
        let Some((done, bytes)) = bytes else {
            assert_eq!(begun, 0, "only a run without a step has no checkpoint");
            continue;
        };
        assert_eq!(done, begun);
        if kept.insert(done) {
            let from = Some(run.read(&bytes).unwrap());
            let resumed = run
                .server()
                .raw_answer(&run.query, from, |_| true, |_| true);
            let (resumed, report) = resumed.unwrap();
            assert_eq!((resumed.digest(), report.resumed), (whole.digest(), done));
        }
    }
    assert!(kept.len() > 1, "{kept:?}");
}

#[test]
fn a_run_that_was_stopped_gives_the_same_result_bit_for_bit() {
    for program in [small_program(), table_program(2)] {
        let run = run_of(in_single_steps(program));
        let total = run.prepared.program().steps.len();
        let mut noises = Vec::new();
        let observe = |event: Event<'_>| {
            noises.extend(noise_of(&event));
            true
        };
        let (whole, report) = run
            .server()
            .raw_answer(&run.query, None, observe, |_| true)
            .unwrap();
        assert_eq!(report.resumed, 0);
        for layers in 1..total {
            let bytes = run.stopped_after(layers);
            let from = run.read(&bytes).unwrap();
            assert_eq!(
                (from.steps(), from.to_bytes(&run.prepared)),
                (layers, bytes)
            );
            let (mut begun, mut later, mut saved) = (Vec::new(), Vec::new(), 0);
            let (raw, report) = run
                .server()
                .raw_answer(
                    &run.query,
                    Some(from),
                    |event| {
                        if let Event::Begin { step } = event {
                            begun.push(step);
                        }
                        later.extend(noise_of(&event));
                        true
                    },
                    |_| {
                        saved += 1;
                        true
                    },
                )
                .unwrap();
            assert!(raw == whole, "the run resumed after {layers} layers");
            assert_eq!(begun, (layers..total).collect::<Vec<_>>());
            assert_eq!(later, noises[layers..], "predictions after {layers} steps");
            assert_eq!(saved, total - layers - 1);
            assert_eq!(report.resumed, layers);
            let ran: usize = report.steps.iter().map(|s| s.count).sum();
            assert_eq!(ran, total - layers);
        }
        let (keys, rng) = (&run.keys, &mut system_rng());
        let output = whole.hide(&run.prepared, keys, rng).unwrap();
        assert!(run.client.decrypt(&output, &run.query).is_ok());
    }
}

#[test]
fn a_checkpoint_holds_only_what_is_read_later() {
    let run = run_of(small_program());
    let n = run.prepared.params().bfv().n();
    let bytes = run.stopped_after(1);
    let steps = &run.prepared.program().steps;
    let packed = steps.iter().find(|s| matches!(s.op, Op::Pack { .. }));
    let Some(&Type::Ciphertext { level, .. }) = packed.map(|s| &s.ty) else {
        panic!("packing makes a ciphertext");
    };
    let basis = run.prepared.params().bfv().rlwe().basis(level).clone();
    let bits: usize = basis.moduli().map(|q| q.bits() as usize).sum();
    // One ciphertext of two components: its step, level and factor, and its residues.
    let value = 3 * 8 + 2 * n * bits / 8;
    assert_eq!(bytes.len(), ID + value + CHECKSUM);
}

#[test]
fn damaged_checkpoints_are_refused() {
    let run = run_of(in_single_steps(small_program()));
    let total = run.prepared.program().steps.len();
    let refused = |bytes: &[u8]| match run.read(bytes) {
        Err(Error::Exchange(exchange::Error::Bytes(error))) => error,
        other => panic!("{other:?}"),
    };
    let of_value = |what: &'static str, bytes: &[u8]| match refused(bytes) {
        BytesError::Value { what: found, .. } => assert_eq!(found, what),
        other => panic!("{what}: {other}"),
    };
    for layers in 2..total {
        let bytes = run.stopped_after(layers);
        for part in 0..=16 {
            let error = refused(&bytes[..(bytes.len() - 1) * part / 16]);
            let cut = matches!(error, BytesError::Magic | BytesError::Length { .. });
            assert!(cut, "{error}");
            let mut flipped = bytes.clone();
            flipped[HEADER + (bytes.len() - HEADER - 1) * part / 16] ^= 1 << (part % 8);
            assert_eq!(refused(&flipped), BytesError::Checksum);
        }
        // Payloads that match their checksum but not the program.
        let with = |at: usize, new: &[u8]| {
            let mut content = bytes[..bytes.len() - CHECKSUM].to_vec();
            content[at..at + new.len()].copy_from_slice(new);
            let checksum = fingerprint(&content);
            content.extend_from_slice(&checksum);
            content
        };
        let number = |at: usize, value: u64| with(at, &value.to_le_bytes());
        for done in [0, total as u64, u64::MAX] {
            of_value("the number of steps done", &number(DONE, done));
        }
        of_value("the step of a value", &number(ID, 0));
        let is_batch = run.prepared.program().steps[layers - 1].ty == Type::Samples;
        if is_batch {
            of_value("a residue of an LWE sample", &with(ID + 8, &[0xff; 8]));
        } else {
            of_value("the level of a value", &number(ID + 8, 9));
            of_value("the factor of a value", &number(ID + 16, 0));
            of_value("the factor of a value", &number(ID + 16, 65_537));
            of_value("a residue", &with(ID + 24, &[0xff; 16]));
        }
        of_value("the length of a hash", &{
            let mut shorter = number(HEADER, 31);
            shorter.truncate(shorter.len() - CHECKSUM);
            let checksum = fingerprint(&shorter);
            shorter.extend_from_slice(&checksum);
            shorter
        });
    }
}

#[test]
fn checkpoints_of_other_programs_and_inputs_are_refused() {
    let run = run_of(small_program());
    let bytes = run.stopped_after(1);
    let mut other = small_program();
    other.constants[3].values[0] += 1;
    let other = run_of(other);
    let error = other.read(&bytes).err();
    let of_program = |error: &Option<Error>| {
        matches!(
            error,
            Some(Error::Exchange(exchange::Error::Bytes(
                BytesError::Fingerprint { .. }
            )))
        )
    };
    assert!(of_program(&error), "{error:?}");
    // The same checks apply in memory and in files.
    let checkpoint = run.read(&bytes).unwrap();
    let server = other.server();
    let resumed = server.resume(&other.query, Some(checkpoint.clone()), |_| true, |_| true);
    assert!(of_program(&resumed.err()));

    // The same images, encrypted again.
    let input = run.client.encrypt(&[vec![1; PIXELS]]).unwrap();
    let resumed = run
        .server()
        .resume(&input, Some(checkpoint), |_| true, |_| true);
    let error = resumed.err();
    assert!(
        matches!(
            error,
            Some(Error::Exchange(exchange::Error::OtherQuery { .. }))
        ),
        "{error:?}"
    );
    let words = error.map(|e| e.to_string()).unwrap_or_default();
    assert!(
        words.contains("this checkpoint belongs to another query"),
        "{words}"
    );

    let error = run.read(&files::query_to_bytes(&run.query)).err();
    assert!(
        matches!(
            error,
            Some(Error::Exchange(exchange::Error::Bytes(
                BytesError::Kind { .. }
            )))
        ),
        "{error:?}"
    );
}
