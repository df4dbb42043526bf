//! Two halves in two threads give the network's integers, every logit.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use std::net::TcpListener;
use std::time::Duration;

use mpc::{Clients, Identity, memory_pair};
use network::{Evaluator, IntNetwork};
use palladion_hybrid::{
    Activations, Client, HANDSHAKE, HIDDEN_INPUTS, PATIENCE, Program, Report, STATISTICAL, Server,
    accept, compile, compile_for, connect,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// 2 Gbit/s in bytes per second.
const LAN: f64 = 250e6;
/// Waits for a handshake and for a message.
const PATIENT: [Duration; 2] = [HANDSHAKE, PATIENCE];

fn network(name: &str) -> IntNetwork {
    let path = format!("{}/../../models/{name}.json", env!("CARGO_MANIFEST_DIR"));
    IntNetwork::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn run(program: &Program, inputs: &[Vec<i64>]) -> (Vec<Vec<i64>>, Report, Report) {
    let server = Server::new(program, 10).unwrap();
    let (mut left, right) = memory_pair();
    std::thread::scope(|scope| {
        let served = scope.spawn(move || server.serve(&mut left, &mut |_| true));
        let client = Client::meet(right, None).unwrap();
        let ready = client.prepare(inputs.len() as u32, &mut |_| true).unwrap();
        let (logits, report) = ready.run(inputs, &mut |_| true).unwrap();
        (logits, report, served.join().unwrap().unwrap())
    })
}

fn check(name: &str, activations: Activations, images: usize) {
    let network = network(name);
    let program = compile(&network, activations, LAN).unwrap();
    let program = Program::from_json(&program.to_json()).unwrap();
    let evaluator = Evaluator::new(&network).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let input = &network.input;
    let inputs: Vec<Vec<i64>> = (0..images)
        .map(|_| {
            (0..input.values())
                .map(|_| rng.random_range(input.min..=input.max))
                .collect()
        })
        .collect();
    let (logits, client, server) = run(&program, &inputs);
    for (input, found) in inputs.iter().zip(&logits) {
        assert_eq!(*found, evaluator.evaluate(input).unwrap().logits, "{name}");
    }
    let (ours, theirs) = (client.online(), server.online());
    assert_eq!((ours.sent, ours.received), (theirs.received, theirs.sent));
    // As predicted, byte by byte.
    let (online, images) = (program.predict().unwrap().online, images as u64);
    assert_eq!(ours.sent, images * online.bytes_to_server);
    assert_eq!(ours.received, images * online.bytes_to_client);
    assert_eq!(ours.rounds, images * online.rounds);
}

/// Every part of a program has its share of the distance, and the sum is for ten inputs of a client.
#[test]
fn compiled_networks_are_hidden() {
    for name in [
        "mnist",
        "mnist_w7a7",
        "lenet5_w7a7",
        "resnet20_w7a7",
        "mnist_square",
    ] {
        let network = network(name);
        for inputs in [HIDDEN_INPUTS, 1000] {
            let program = compile_for(&network, Activations::Shares, LAN, inputs).unwrap();
            let all = program.log2_distance().unwrap() + f64::from(inputs).log2();
            assert!(
                all <= -f64::from(STATISTICAL),
                "{name}: 2^{all} for {inputs}"
            );
        }
    }
}

#[test]
fn on_shares() {
    check("mnist", Activations::Shares, 2);
    check("lenet5_w7a7", Activations::Shares, 1);
    check("mnist_square", Activations::Shares, 2);
}

#[test]
fn with_revealed_accumulators() {
    check("mnist_w6a7", Activations::Revealed, 2);
    check("resnet20_w7a7", Activations::Revealed, 1);
}

#[test]
fn over_tls() {
    let program = compile(&network("mnist"), Activations::Shares, LAN).unwrap();
    let server = Server::new(&program, 10).unwrap();
    let identity = Identity::generate().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let trusted = identity.fingerprint();
    std::thread::scope(|scope| {
        let served = scope.spawn(|| {
            let (socket, _) = listener.accept().unwrap();
            let (mut channel, _) = accept(socket, &identity, &Clients::Any).unwrap();
            server.serve(&mut channel, &mut |_| true)
        });
        let channel = connect(&address, trusted, None, PATIENT).unwrap();
        let client = Client::meet(channel, Some(server.fingerprint())).unwrap();
        let ready = client.prepare(1, &mut |_| true).unwrap();
        let input = vec![3; 784];
        let (logits, _) = ready
            .run(std::slice::from_ref(&input), &mut |_| true)
            .unwrap();
        let evaluator = Evaluator::new(&network("mnist")).unwrap();
        assert_eq!(logits[0], evaluator.evaluate(&input).unwrap().logits);
        served.join().unwrap().unwrap();
        // Another certificate, and another program.
        scope.spawn(|| {
            for _ in 0..2 {
                let (socket, _) = listener.accept().unwrap();
                let found = accept(socket, &identity, &Clients::Any);
                found
                    .and_then(|(mut c, _)| server.serve(&mut c, &mut |_| true))
                    .unwrap_err();
            }
        });
        let refused = connect(&address, "07".repeat(32).parse().unwrap(), None, PATIENT)
            .err()
            .unwrap()
            .to_string();
        assert!(refused.contains("certificate"), "{refused}");
        let channel = connect(&address, trusted, None, PATIENT).unwrap();
        let refused = Client::meet(channel, Some(&[7; 32]))
            .err()
            .unwrap()
            .to_string();
        assert!(refused.contains("another program"), "{refused}");
    });
}
