//! Floods over the outputs: the noise of an answer does not tell which weights a network has.

use crate::halves::hidden::Run;
use compiler::{Error, Options, compile};
use exchange::Answer;
use network::{Dense, Evaluator, Input, IntNetwork, Layer, Linear, Lut, Term};
use palladion_runtime::{Prepared, Server};
use program::{MAX_LOG2_DISTANCE, Op, Program};

pub(super) const INPUTS: usize = 32;
pub(super) const ANSWERS: u64 = 1 << 20;

pub(super) fn flooded(answers: u64) -> Options {
    Options {
        flooded_answers: Some(answers),
        ..Options::default()
    }
}

/// A dense layer of a source. `by` changes its weights.
pub(super) fn dense(source: usize, inputs: usize, outputs: usize, by: fn(usize) -> i64) -> Term {
    Term {
        source: source.into(),
        linear: Linear::Dense(Dense {
            inputs,
            outputs,
            weights: (0..inputs * outputs).map(by).collect(),
        }),
    }
}

pub(super) fn layer(name: &str, terms: Vec<Term>, outputs: usize, lut: Option<Lut>) -> Layer {
    Layer {
        name: name.into(),
        terms,
        product: None,
        bias: (0..outputs as i64).collect(),
        bound: 100,
        lut,
        scale: 1.0,
    }
}

pub(super) fn network(layers: Vec<Layer>) -> IntNetwork {
    IntNetwork {
        name: "hidden".into(),
        input: Input {
            shape: [INPUTS, 1, 1],
            min: 0,
            max: 3,
            scale: 1.0,
            mean: vec![],
            std: vec![],
        },
        interface: None,
        layers,
    }
}

/// A regression: its outputs are sums over the input. The weights of the second half of the input
/// are given.
pub(super) fn regression(second: fn(usize) -> i64) -> IntNetwork {
    let mut term = dense(0, INPUTS, 32, |i| (i * 7 % 255) as i64 - 127);
    if let Linear::Dense(dense) = &mut term.linear {
        let weights = dense.weights.iter_mut().enumerate();
        let second_half = weights.filter(|(i, _)| i % INPUTS >= INPUTS / 2);
        second_half.for_each(|(i, weight)| *weight = second(i));
    }
    let mut layers = vec![layer("sums", vec![term], 32, None)];
    layers[0].bound = 20_000;
    network(layers)
}

/// A layer with a table, and outputs that are sums over it, and over the input too if `wide`.
pub(super) fn deep(wide: bool) -> IntNetwork {
    let first = dense(0, INPUTS, 8, |i| (i % 3) as i64 - 1);
    let table = Lut::new(100, |x| (x / 8).clamp(0, 7));
    let mut outputs = vec![dense(1, 8, 3, |i| (i * 5 % 13) as i64 - 6)];
    if wide {
        outputs.push(dense(0, INPUTS, 3, |i| (i % 7) as i64 - 3));
    }
    let mut layers = vec![
        layer("hidden", vec![first], 8, Some(table)),
        layer("outputs", outputs, 3, None),
    ];
    layers[1].bound = 2_000;
    network(layers)
}

/// An input whose second half is 0.
pub(super) fn input() -> Vec<i64> {
    (0..INPUTS)
        .map(|i| if i < INPUTS / 2 { (i % 4) as i64 } else { 0 })
        .collect()
}

/// Residuals of the outputs.
fn residuals(run: &Run, ct: &bfv::Ciphertext) -> Vec<f64> {
    let bfv = run.prepared.params().bfv();
    let all = bfv::residuals(bfv, run.client.keys().secret(), ct).unwrap();
    run.shown().into_iter().map(|place| all[place]).collect()
}

fn of_answer(run: &Run, answer: &Answer) -> Vec<f64> {
    residuals(run, &answer.ciphertexts()[0])
}

/// How much of the difference between two networks' noise an answer has: about 0 for an answer of
/// the first network, and about 1 for one of the second.
fn share(found: &[f64], [first, second]: [&[f64]; 2]) -> f64 {
    let by: Vec<f64> = second.iter().zip(first).map(|(b, a)| b - a).collect();
    let dot: f64 = found
        .iter()
        .zip(first)
        .zip(&by)
        .map(|((x, a), d)| (x - a) * d)
        .sum();
    dot / by.iter().map(|d| d * d).sum::<f64>()
}

/// The attack that floods prevent. Both networks have the same outputs for the input, so only the
/// noise can tell them apart. A client knows its keys, so it can compute the noise for any weights.
#[test]
fn noise_tells_which_weights_a_network_has_unless_it_is_flooded() {
    let networks = [|_| -120, |i: usize| (i % 11) as i64 * 20 - 100].map(regression);
    for (options, told) in [(Options::default(), true), (flooded(ANSWERS), false)] {
        let programs = networks
            .each_ref()
            .map(|network| compile(network, options).unwrap());
        let [program, other] = programs.map(|p| Prepared::new(p).unwrap());
        let run = Run::of(program.program().clone(), 51, &input());
        // The client computes what the other network would answer.
        let query = &run.query;
        let server = Server::new(&other, &run.keys);
        let (guess, _) = server.raw_answer(query, None, |_| true, |_| true).unwrap();
        let own = residuals(&run, &run.raw.ciphertexts[0]);
        let others = residuals(&run, &guess.ciphertexts[0]);
        let shares: Vec<f64> = (0..8)
            .map(|_| share(&of_answer(&run, &run.answer()), [&own, &others]))
            .collect();
        println!("shares {shares:.3?}");
        let near = shares.iter().filter(|share| share.abs() < 0.5).count();
        assert_eq!(near, if told { 8 } else { 0 }, "{shares:?}");
        let expected = Evaluator::new(&networks[0])
            .unwrap()
            .evaluate(&input())
            .unwrap()
            .logits;
        let logits = run
            .client
            .decrypt(&run.answer(), &run.query)
            .unwrap()
            .logits;
        assert_eq!(logits[0], expected);
    }
}

#[test]
fn floods_of_deep_networks_have_the_planned_size_and_change_no_output() {
    for wide in [false, true] {
        let network = deep(wide);
        let program = compile(&network, flooded(ANSWERS)).unwrap();
        let flood = program.terms().outputs[0].flood.unwrap();
        assert_eq!(flood.answers, ANSWERS);
        let run = Run::of(program, 52, &input());
        let (bfv, secret) = (run.prepared.params().bfv(), run.client.keys().secret());
        let outputs = run.prepared.outputs().iter().zip(&run.raw.ciphertexts);
        assert_eq!(
            outputs.len(),
            if wide { 2 } else { 1 },
            "parts of the outputs"
        );
        let mut expected = vec![0; 3];
        for (outputs, ct) in outputs {
            let raw = bfv::decrypt_unchecked(bfv, secret, ct).unwrap();
            for (row, &place) in outputs.rows.iter().zip(&outputs.at) {
                expected[row.output] += bfv.t().center(raw.coefficients()[place]);
            }
        }
        let mut squares = Vec::new();
        for _ in 0..100 {
            let answer = run.answer();
            squares.extend(of_answer(&run, &answer).iter().map(|r| r * r));
            let logits = run.client.decrypt(&answer, &run.query).unwrap().logits;
            assert_eq!(logits[0], expected);
        }
        // Two-sided: less noise hides less, and more may decrypt wrong. The squares of a sum of
        // four uniform numbers have a kurtosis of 3 - 6/5/4.
        let count = squares.len() as f64;
        let planned = (2.0 * flood.residual_bits(bfv::T_FERMAT)).exp2();
        let ratio = squares.iter().sum::<f64>() / count / planned;
        let tolerance = 6.0 * ((3.0 - 0.3 - 1.0) / count).sqrt();
        assert!(
            (ratio - 1.0).abs() < tolerance,
            "variance {ratio:.3} of the flood's"
        );
    }
}

fn with_bits(program: &Program, change: i32) -> Program {
    let mut program = program.clone();
    for step in &mut program.steps {
        if let Op::Output {
            flood: Some(flood), ..
        } = &mut step.op
        {
            flood.bits = flood.bits.checked_add_signed(change).unwrap();
        }
    }
    program.new().unwrap()
}

#[test]
fn a_flood_that_hides_too_little_or_does_not_fit_is_refused() {
    let program = compile(&regression(|_| 5), flooded(ANSWERS)).unwrap();
    assert!(Prepared::new(with_bits(&program, 0)).is_ok());
    let refused = |change| {
        Prepared::new(with_bits(&program, change))
            .err()
            .unwrap()
            .to_string()
    };
    let words = refused(-1);
    let expected = format!("at most 2^{MAX_LOG2_DISTANCE}");
    assert!(
        words.contains("the statistical distance that the floods leave"),
        "{words}"
    );
    assert!(words.contains(&expected), "{words}");
    let words = refused(40);
    assert!(
        words.contains("the probability that a run is wrong"),
        "{words}"
    );
}

#[test]
fn numbers_of_answers_out_of_range_are_refused() {
    for answers in [0, compiler::MAX_FLOODED_ANSWERS + 1] {
        let found = compile(&regression(|_| 5), flooded(answers));
        assert!(matches!(found, Err(Error::Answers { found }) if found == answers));
    }
}
