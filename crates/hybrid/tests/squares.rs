//! Networks with squares and with products of two values: every logit is the network's.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use mpc::{Duplex, memory_pair};
use network::{Evaluator, IntNetwork, Lut, Source};
use palladion_hybrid::{
    Activations, Client, Error, ProductKind, Program, PublicProgram, Report, Server, Step, compile,
    compile_for,
};
use proptest::prelude::*;

/// 2 Gbit/s in bytes per second.
const LAN: f64 = 250e6;

/// `round(a x^2 + b x + c)` between clips, for `x` from -1 to 1 at the table's ends.
fn quadratic([a, b, c]: [f64; 3], bound: i64, (low, high): (i64, i64)) -> Lut {
    Lut::new(bound, |x| {
        let x = x as f64 / bound as f64;
        (((a * x + b) * x + c).round_ties_even() as i64).clamp(low, high)
    })
}

/// A convolution and a dense layer with tables, and logits. `tables` are those of the first two
/// layers, with their bounds.
fn network(tables: [(Lut, i64); 2], product: bool) -> IntNetwork {
    let [(first, first_bound), (second, second_bound)] = tables;
    let text = serde_json::json!({
        "format": "palladion-int-network/3",
        "name": "squares",
        "input": {"shape": [2, 6, 5], "min": -20, "max": 20, "scale": 1.0, "mean": [], "std": []},
        "layers": [
            {
                "name": "conv",
                "terms": [{"source": 0, "linear": {"conv": {
                    "kernels": 3, "channels": 2, "groups": 1, "kernel": [3, 3], "stride": [2, 1],
                    "dilation": [1, 1], "pads": [1, 1, 0, 1],
                    "weights": (0..54).map(|i| i * 7 % 13 - 6).collect::<Vec<i64>>(),
                }}}],
                "bias": [5, -40, 100],
                "bound": first_bound,
                "lut": first,
                "scale": 1.0,
            },
            {
                "name": "hidden",
                "terms": [{"source": 1, "linear": {"conv": {
                    "kernels": 3, "channels": 3, "groups": 1, "kernel": [1, 1], "stride": [1, 1],
                    "dilation": [1, 1], "pads": [0, 0, 0, 0],
                    "weights": [9, -7, 3, 11, -2, 5, -8, 6, 13],
                }}}],
                "bias": [12, -3, 40],
                "bound": second_bound,
                "lut": second,
                "scale": 1.0,
            },
            {
                "name": "last",
                "terms": [{"source": 2, "linear": {"dense": {
                    "inputs": 45, "outputs": 4,
                    "weights": (0..180).map(|i| i * 11 % 17 - 8).collect::<Vec<i64>>(),
                }}}],
                "bias": [1, 2, 3, -4],
                "bound": 32767,
                "lut": null,
                "scale": 1.0,
            },
        ],
    });
    let mut network = IntNetwork::from_json(&text.to_string()).unwrap();
    if product {
        network.layers[1].product = Some([Source::Layer(0); 2].into());
    }
    network
}

fn input(seed: i64) -> Vec<i64> {
    // The smallest and the largest input, and others.
    match seed {
        0 => vec![-20; 60],
        1 => vec![20; 60],
        _ => (0..60).map(|i| (i * seed) % 41 - 20).collect(),
    }
}

fn run(program: &Program, inputs: &[Vec<i64>]) -> (Vec<Vec<i64>>, Report) {
    let server = Server::new(program, 100).unwrap();
    let (mut left, right) = memory_pair();
    std::thread::scope(|scope| {
        let served = scope.spawn(move || server.serve(&mut left, &mut |_| true).unwrap());
        let client: Client<Duplex> = Client::meet(right, None).unwrap();
        let ready = client.prepare(inputs.len() as u32, &mut |_| true).unwrap();
        let (logits, report) = ready.run(inputs, &mut |_| true).unwrap();
        let theirs = served.join().unwrap().online();
        assert_eq!(report.online().sent, theirs.received);
        (logits, report)
    })
}

/// Runs a network, compares every logit, and holds bytes and rounds to the prediction.
fn check(network: &IntNetwork, activations: Activations, inputs: &[Vec<i64>]) -> Program {
    let program = compile(network, activations, LAN).unwrap();
    let program = Program::from_bytes(&program.to_bytes()).unwrap();
    let evaluator = Evaluator::new(network).unwrap();
    let (logits, report) = run(&program, inputs);
    for (input, found) in inputs.iter().zip(&logits) {
        assert_eq!(*found, evaluator.evaluate(input).unwrap().logits);
    }
    let prediction = program.predict().unwrap();
    let (online, count) = (prediction.online, inputs.len() as u64);
    let taken = report.online();
    assert_eq!(taken.sent, count * online.bytes_to_server);
    assert_eq!(taken.received, count * online.bytes_to_client);
    assert_eq!(taken.rounds, count * online.rounds);
    if count == 1 {
        let (keys, material) = (&prediction.keys, &prediction.material);
        let sent = keys.bytes_to_server + material.bytes_to_server;
        assert_eq!(report.offline.sent, sent);
        assert_eq!(report.offline.received, material.bytes_to_client);
        assert_eq!(report.offline.rounds, material.rounds);
    }
    program
}

fn squared(program: &Program, layer: usize) -> (Option<i64>, u32, u32) {
    let plan = &program.public.layers[layer];
    match &plan.step {
        Step::Square(squared) => (squared.clip, squared.bits, plan.bits),
        _ => panic!("{} has no square", plan.name),
    }
}

#[test]
fn squares_in_all_three_ways() {
    // Both ends at the clip: right for all accumulators. The second layer's table stays at 70 and
    // 120 beyond its ends, where accumulators are larger: they are clipped first.
    let clipped = quadratic([500.0, 20.0, 0.0], 900, (0, 127));
    let ended = quadratic([90.0, 25.0, 5.0], 900, (-127, 127));
    let tables = [(clipped.clone(), 900), (ended, 900)];
    let network = network(tables, false);
    let inputs: Vec<Vec<i64>> = (0..3).map(input).collect();
    let program = check(&network, Activations::Shares, &inputs);
    let (clip, bits, accumulators) = squared(&program, 0);
    assert_eq!((clip, bits), (None, accumulators));
    let (clip, bits, accumulators) = squared(&program, 1);
    assert!(
        clip == Some(901) && bits > accumulators,
        "{clip:?} {bits} {accumulators}"
    );
    check(&network, Activations::Revealed, &inputs);
    check(&network, Activations::Shares, &inputs[..1]);
}

#[test]
fn squares_of_more_bits_than_shares_have() {
    // A table with many steps on a wide range needs many bits, so accumulators are widened.
    let first = quadratic([1_000.0, 900.0, 3.1], 1_200, (-1_800, 1_800));
    let second = quadratic([9_000.0, 1_000.5, 3.1], 32_000, (-2_000, 2_000));
    let network = network([(first, 1_200), (second, 32_000)], false);
    let program = check(&network, Activations::Shares, &[input(7)]);
    let (clip, bits, accumulators) = squared(&program, 1);
    assert!(
        clip.is_none() && bits > 44 && accumulators < 20,
        "{clip:?} {bits} {accumulators}"
    );
}

#[test]
fn products_of_two_values() {
    let first = quadratic([90.0, 25.0, 5.0], 900, (-127, 127));
    let second = Lut::new(20_000, |x| (x >> 8).clamp(-60, 60));
    let tables = [(first, 900), (second, 20_000)];
    for activations in [Activations::Shares, Activations::Revealed] {
        check(
            &network(tables.clone(), true),
            activations,
            &[input(0), input(9)],
        );
    }
    // The logits themselves, from factors of which one is repeated.
    let mut network = network(tables, true);
    let mut gate = network.layers[2].clone();
    gate.name = "gate".to_owned();
    let text = serde_json::to_string(&gate)
        .unwrap()
        .replace("\"outputs\":4", "\"outputs\":3");
    gate = serde_json::from_str(&text).unwrap();
    if let network::Linear::Dense(dense) = &mut gate.terms[0].linear {
        dense.weights.truncate(135);
    }
    gate.bias = vec![3, -20, 7];
    gate.lut = Some(Lut::new(30_000, |x| (x >> 9).clamp(-50, 50)));
    gate.bound = 30_000;
    network.layers[2] = gate;
    let mut last = network.layers[1].clone();
    last.name = "last".to_owned();
    last.product = Some([Source::Layer(1), Source::Layer(2)].into());
    last.lut = None;
    last.bound = 30_000;
    network.layers.push(last);
    let program = check(&network, Activations::Shares, &[input(5)]);
    let made: Vec<_> = program
        .public
        .products
        .iter()
        .map(|plan| plan.kind)
        .collect();
    assert!(made.contains(&ProductKind::Triples) && made.contains(&ProductKind::Squares));
    check(&network, Activations::Revealed, &[input(5)]);
}

#[test]
fn many_inputs_take_their_squares_from_ciphertexts() {
    let lut = quadratic([500.0, 20.0, 0.0], 900, (0, 127));
    let network = network([(lut.clone(), 900), (lut, 900)], false);
    let program = compile_for(&network, Activations::Shares, LAN, 1).unwrap();
    // One input has few squares, which are made of oblivious transfers.
    assert!(program.predict().unwrap().products.is_empty());
    let inputs: Vec<Vec<i64>> = (0..90).map(input).collect();
    let (logits, report) = run(&program, &inputs);
    let evaluator = Evaluator::new(&network).unwrap();
    for (input, found) in inputs.iter().zip(&logits) {
        assert_eq!(*found, evaluator.evaluate(input).unwrap().logits);
    }
    // The server's corrections of transfers are longer than the client's messages. Ciphertexts of the
    // client are longer than the answers to them.
    let one = program.predict().unwrap().material;
    assert!(one.bytes_to_client > one.bytes_to_server, "{one:?}");
    let (key, taken) = (
        program.predict().unwrap().keys.bytes_to_server,
        report.offline,
    );
    assert!(
        taken.sent - key > 3 * one.bytes_to_server,
        "{taken:?} beside {one:?}"
    );
    assert!(taken.sent > taken.received, "{taken:?}");
}

#[test]
fn changed_programs_are_refused() {
    let lut = quadratic([90.0, 25.0, 5.0], 900, (-127, 127));
    let network = network([(lut.clone(), 900), (lut, 900)], true);
    let program = compile(&network, Activations::Shares, LAN).unwrap();
    let json = program.public.to_json();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let refused = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = value.clone();
        change(&mut value);
        PublicProgram::from_json(&value.to_string())
            .unwrap_err()
            .to_string()
    };
    let found = refused(&|v| v["products"][0]["mask_bits"] = 60.into());
    assert!(found.contains("mask"), "{found}");
    let found = refused(&|v| v["products"][0]["primes"][0] = 12_289.into());
    assert!(found.contains("primes"), "{found}");
    let found = refused(&|v| v["products"][0]["flood_bits"] = 500.into());
    assert!(found.contains("flood"), "{found}");
    let found = refused(&|v| v["products"] = serde_json::json!([]));
    assert!(found.contains("products that are made"), "{found}");
    let found = refused(&|v| v["layers"][0]["step"]["square"]["bits"] = 33.into());
    assert!(
        found.contains("layer conv") && found.contains("bits"),
        "{found}"
    );
    let found = refused(&|v| v["layers"][0]["step"]["square"]["form"]["shift"] = 63.into());
    assert!(found.contains("shift"), "{found}");
    let found = refused(&|v| v["layers"][1]["product"]["left"] = 2.into());
    assert!(
        found.contains("layer hidden") && found.contains("source"),
        "{found}"
    );
}

#[test]
fn what_is_neither_line_nor_quadratic_is_refused_by_name() {
    let wave = Lut::new(32_000, |x| (40.0 * (x as f64 / 1_000.0).sin()) as i64);
    let first = quadratic([28_000.0, 25.0, 5.0], 900, (-20_000, 20_000));
    let network = network([(first, 900), (wave, 32_000)], false);
    let found = compile(&network, Activations::Shares, LAN).unwrap_err();
    assert!(
        matches!(&found, Error::Activation { layer, .. } if layer == "hidden"),
        "{found}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_quadratics_are_computed_exactly(
        a in -400.0..400.0f64,
        b in -100.0..100.0f64,
        c in -20.0..20.0f64,
        bound in 300i64..3_000,
        low in prop_oneof![Just(0i64), Just(-127)],
        product in any::<bool>(),
        seed in 2i64..40,
    ) {
        let lut = quadratic([a, b, c], bound, (low, 127));
        let network = network([(lut.clone(), bound), (lut, bound)], product);
        check(&network, Activations::Shares, &[input(0), input(1), input(seed)]);
    }
}
