//! Traces that store checkpoints, and traces that go on from them.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::{PIXELS, small_program, table_program};
use client::Client;
use exchange::{EvaluationKeys, Query, RawAnswer};
use executor::replay;
use palladion_runtime::{Checkpoint, Prepared, RunOutside, Server, answer_of};
use program::Program;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// A program and what a client sends. Every step of the program is a layer, so that checkpoints
/// hold samples too.
struct Run {
    prepared: Prepared,
    keys: EvaluationKeys,
    query: Query,
}

impl Run {
    fn new(mut program: Program) -> Self {
        for (index, step) in program.steps.iter_mut().enumerate() {
            step.layer = format!("layer{index}");
        }
        let prepared = Prepared::new(program).unwrap();
        let client = Client::generate_from(&prepared, &mut ChaCha20Rng::seed_from_u64(1));
        Self {
            keys: client.evaluation_keys().unwrap(),
            query: client.encrypt(&[vec![1; PIXELS]]).unwrap(),
            prepared,
        }
    }

    /// The answer before it is hidden, and the checkpoints of a run on the CPU.
    fn ran(&self) -> (RawAnswer, Vec<Vec<u8>>) {
        let mut saved = Vec::new();
        let server = Server::new(&self.prepared, &self.keys);
        let ran = server.raw_answer(
            &self.query,
            None,
            |_| true,
            |state| {
                saved.push(state.to_bytes(&self.prepared));
                true
            },
        );
        let (answer, _) = ran.unwrap();
        (answer, saved)
    }

    /// The answer before it is hidden, and the checkpoints of a replay.
    fn replayed(&self, from: Option<&Checkpoint>) -> (RawAnswer, Vec<Vec<u8>>) {
        let trace = self.prepared.lower_saving(from).unwrap();
        let results = from.map(|from| from.results(&self.prepared).unwrap());
        let (mut results, mut saved) = (results.unwrap_or_default(), Vec::new());
        let mut save = |bytes| {
            saved.push(bytes);
            true
        };
        let outside = RunOutside::new(&self.keys, &self.query, &mut results).resumed(from);
        let mut outside = outside.saving(&self.prepared, &mut save);
        replay(&trace, &mut outside, |_| true).unwrap();
        let answer = answer_of(&results, &self.prepared, &self.query).unwrap();
        (answer, saved)
    }
}

#[test]
fn a_replay_stores_the_checkpoints_of_a_run_and_goes_on_from_them() {
    for program in [small_program(), table_program(2)] {
        let run = Run::new(program);
        let (answer, all) = run.ran();
        let (replayed, saved) = run.replayed(None);
        assert!(replayed == answer, "the answer");
        // After the first step only the query is held, which no checkpoint repeats.
        assert!(saved == all[1..], "the checkpoints");
        for (index, bytes) in saved.iter().enumerate() {
            let from = Checkpoint::from_bytes(&run.prepared, bytes).unwrap();
            let (replayed, later) = run.replayed(Some(&from));
            assert!(
                replayed == answer,
                "the answer after {} steps",
                from.steps()
            );
            assert!(later == saved[index + 1..], "after {} steps", from.steps());
        }
    }
}

#[test]
fn the_rest_of_a_trace_has_no_work_of_steps_that_are_done() {
    let run = Run::new(table_program(2));
    let (_, all) = run.ran();
    let whole = run.prepared.lower_saving(None).unwrap().counts();
    let mut before = whole.passes.ntt;
    for bytes in &all[1..] {
        let from = Checkpoint::from_bytes(&run.prepared, bytes).unwrap();
        let rest = run.prepared.lower_saving(Some(&from)).unwrap();
        let transforms = rest.counts().passes.ntt;
        assert!(transforms <= before, "{transforms} after {before}");
        before = transforms;
    }
    assert!(10 * before < whole.passes.ntt);
}
