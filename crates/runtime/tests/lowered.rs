//! Does the trace of a program describe what runs? Replayed, it gives the answer of the encrypted
//! run, word for word. A run calls the kernels for as many transforms as the trace counts.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

#[path = "../../lower/tests/common/mutated.rs"]
mod mutated;

use client::Client;
use compiler::{Options, compile};
use kernels::Counted;
use mutated::mutated;
use network::{Dense, Input, IntNetwork, Layer, Linear, Lut, Source, Term};
use palladion_runtime::replay_run;
use palladion_runtime::{Prepared, Server};
use program::recording::Recording;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use std::time::Instant;
use trace::{Passes, Trace};

fn prepared(model: &str) -> Prepared {
    let path = format!("{}/../../models/{model}.json", env!("CARGO_MANIFEST_DIR"));
    let network = IntNetwork::from_json(&std::fs::read_to_string(path).unwrap()).unwrap();
    Prepared::new(compile(&network, Options::of_batch(1)).unwrap()).unwrap()
}

/// Inner products with many rows. Few of them fit in a ciphertext, so they are merged.
fn merged() -> Prepared {
    let (inputs, outputs) = (25, 6000);
    let weights = (0..inputs * outputs).map(|i| (i * 7 % 31) as i64 - 15);
    let dense = Dense {
        inputs,
        outputs,
        weights: weights.collect(),
    };
    let layer = Layer {
        name: "rows".into(),
        terms: vec![Term {
            source: Source::Input,
            linear: Linear::Dense(dense),
        }],
        product: None,
        bias: (0..outputs as i64).map(|o| o % 11 - 5).collect(),
        bound: 30_000,
        lut: None,
        scale: 1.0,
    };
    let network = IntNetwork {
        name: "rows".into(),
        input: Input {
            shape: [inputs, 1, 1],
            min: -15,
            max: 15,
            scale: 1.0,
            mean: vec![],
            std: vec![],
        },
        interface: None,
        layers: vec![layer],
    };
    Prepared::new(compile(&network, Options::of_batch(1)).unwrap()).unwrap()
}

/// A table on one value of each of 20,000 images.
fn interleaved() -> Prepared {
    let mut network = IntNetwork {
        name: "interleaved".into(),
        input: Input {
            shape: [3, 1, 1],
            min: -3,
            max: 3,
            scale: 1.0,
            mean: vec![],
            std: vec![],
        },
        interface: None,
        layers: Vec::new(),
    };
    for (source, inputs, lut) in [(0, 3, true), (1, 1, false)] {
        let dense = Dense {
            inputs,
            outputs: 1,
            weights: (1..=inputs as i64).collect(),
        };
        network.layers.push(Layer {
            name: format!("layer {source}"),
            terms: vec![Term {
                source: source.into(),
                linear: Linear::Dense(dense),
            }],
            product: None,
            bias: vec![2],
            bound: 20,
            lut: lut.then(|| Lut::new(20, |x| x.abs())),
            scale: 1.0,
        });
    }
    let program = compile(&network, Options::of_batch(20_000)).unwrap();
    assert!(program.interleaved);
    Prepared::new(program).unwrap()
}

fn check(model: &str, prepared: &Prepared, kernels: &Counted) {
    let mut rng = ChaCha20Rng::seed_from_u64(13);
    let begin = Instant::now();
    let recording = prepared.record().unwrap();
    let recorded = begin.elapsed().as_secs_f64();
    assert_eq!(Recording::parse(&recording.to_string()).unwrap(), recording);
    let begin = Instant::now();
    let trace = lower::lower(&recording).unwrap();
    println!(
        "{model}: {} operations recorded in {recorded:.2} s, lowered in {:.2} s to {} instructions, {} sub-traces\n{}\n{}",
        recording.steps.len(),
        begin.elapsed().as_secs_f64(),
        trace.main.instructions.len(),
        trace.subs.len(),
        recording.counts(),
        trace.counts()
    );
    let client = Client::generate_from(prepared, &mut rng);
    let keys = client.evaluation_keys().unwrap();
    let program = prepared.program();
    let [min, max] = program.input_range;
    let pixels: usize = program.input.iter().product();
    let image = (0..pixels).map(|_| rng.random_range(min..=max)).collect();
    let query = client.encrypt(&[image]).unwrap();
    kernels.take();
    let begin = Instant::now();
    let server = Server::new(prepared, &keys);
    let (answer, _) = server.raw_answer(&query, None, |_| true, |_| true).unwrap();
    let ran = begin.elapsed().as_secs_f64();
    let passes = trace.counts().passes;
    assert_eq!(kernels.take(), [passes.ntt, passes.intt]);
    // Costs are predicted from the counts of a dry run. A dry run does not know how many limbs
    // packings choose and add up, or how many limbs are scaled by a unit other than 1.
    let predicted = prepared.counts().passes;
    let costly = |p: Passes| {
        let terms = [p.dot_terms, p.conversion_terms, p.combination_terms];
        ([p.ntt, p.intt, p.quotients, p.roundings, p.digits], terms)
    };
    assert_eq!(costly(predicted), costly(passes));
    println!("dry run: {predicted:?}");
    let begin = Instant::now();
    let (replayed, counts) = replay_run(prepared, &trace, (&keys, &query), |_| true).unwrap();
    println!(
        "run {ran:.2} s, replay {:.2} s",
        begin.elapsed().as_secs_f64()
    );
    assert!(answer == replayed, "the replay differs from the run");
    assert_eq!(counts, trace.counts());
}

#[test]
fn the_replayed_traces_of_programs_are_the_encrypted_runs() {
    let kernels = Counted::install().unwrap();
    check("mnist", &prepared("mnist_w7a7"), kernels);
    let merged = merged();
    let ops = merged.program().steps.iter().map(|step| step.op.name());
    assert_eq!(ops.filter(|&name| name == "merge").count(), 1);
    check("rows", &merged, kernels);
    check("interleaved", &interleaved(), kernels);
}

/// The verifier finds traces that are not well formed. Lowering again finds well-formed traces that
/// compute something else.
#[test]
fn a_changed_trace_is_refused() {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let prepared = prepared("mnist_w7a7");
    let trace = prepared.lower().unwrap();
    prepared.check_trace(&trace).unwrap();
    assert_eq!(Trace::parse(&trace.to_string()).unwrap(), trace);
    let (mut mutants, mut malformed) = (0, 0);
    while mutants < 60 {
        let Some(mutant) = mutated(&trace, &mut rng) else {
            continue;
        };
        mutants += 1;
        malformed += usize::from(mutant.verify().is_err());
        let error = prepared.check_trace(&mutant).unwrap_err().to_string();
        assert!(
            error.contains("another program's or was changed"),
            "{error}"
        );
    }
    println!("{mutants} mutants refused, {malformed} of them by the verifier alone");
    assert!(malformed > mutants / 3);
}
