//! Sessions that must fail, and the traffic of a session that an observer sees.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use std::sync::{Arc, Mutex};

use mpc::{Channel, Duplex, Incoming, Outgoing, Traffic, memory_pair};
use network::{Evaluator, IntNetwork, Lut};
use palladion_hybrid::{
    Activations, Client, Error, LocalTerm, Program, PublicProgram, Server, Step, compile,
};

/// 2 Gbit/s in bytes per second.
const LAN: f64 = 250e6;

/// A convolution with a curve as its table, and a dense layer.
fn small() -> IntNetwork {
    let lut = Lut::new(900, |x| (60.0 * (x as f64 / 300.0).tanh()).round() as i64);
    let text = serde_json::json!({
        "format": "palladion-int-network/3",
        "name": "small",
        "input": {"shape": [2, 6, 5], "min": -20, "max": 20, "scale": 1.0, "mean": [], "std": []},
        "layers": [
            {
                "name": "curve",
                "terms": [{"source": 0, "linear": {"conv": {
                    "kernels": 3, "channels": 2, "groups": 1, "kernel": [3, 3], "stride": [2, 1],
                    "dilation": [1, 1], "pads": [1, 1, 0, 1],
                    "weights": (0..54).map(|i| i * 7 % 13 - 6).collect::<Vec<i64>>(),
                }}}],
                "bias": [5, -40, 100],
                "bound": 900,
                "lut": lut,
                "scale": 1.0,
            },
            {
                "name": "last",
                "terms": [{"source": 1, "linear": {"dense": {
                    "inputs": 45, "outputs": 4,
                    "weights": (0..180).map(|i| i * 11 % 17 - 8).collect::<Vec<i64>>(),
                }}}],
                "bias": [1, 2, 3, -4],
                "bound": 20000,
                "lut": null,
                "scale": 1.0,
            },
        ],
    });
    IntNetwork::from_json(&text.to_string()).unwrap()
}

fn input(seed: i64) -> Vec<i64> {
    (0..60).map(|i| (i * seed) % 41 - 20).collect()
}

/// Direction and length of every message.
type Transcript = Arc<Mutex<Vec<(bool, usize)>>>;

struct Recorded(Duplex, Transcript);

impl Channel for Recorded {
    fn send(&mut self, bytes: &[u8]) -> mpc::Result<()> {
        self.1.lock().unwrap().push((true, bytes.len()));
        self.0.send(bytes)
    }
    fn receive(&mut self, bytes: &mut [u8]) -> mpc::Result<()> {
        self.1.lock().unwrap().push((false, bytes.len()));
        self.0.receive(bytes)
    }
    fn flush(&mut self) -> mpc::Result<()> {
        self.0.flush()
    }
    fn traffic(&self) -> Traffic {
        self.0.traffic()
    }
    fn halves(&mut self) -> (&mut Outgoing, &mut Incoming) {
        self.0.halves()
    }
    fn add_rounds(&mut self, rounds: u64) {
        self.0.add_rounds(rounds);
    }
}

/// Runs a session. Returns the logits, and the traffic at the client's end.
fn run(program: &Program, input: &[i64]) -> (Vec<i64>, Vec<(bool, usize)>, Traffic) {
    let server = Server::new(program, 4).unwrap();
    let (mut left, right) = memory_pair();
    let transcript = Transcript::default();
    let channel = Recorded(right, transcript.clone());
    let (logits, traffic) = std::thread::scope(|scope| {
        let served = scope.spawn(move || {
            server.serve(&mut left, &mut |_| true).unwrap();
            left.traffic()
        });
        let ready = Client::meet(channel, None).unwrap();
        let ready = ready.prepare(1, &mut |_| true).unwrap();
        let (logits, _) = ready.run(&[input.to_vec()], &mut |_| true).unwrap();
        (logits, served.join().unwrap())
    });
    let passed = transcript.lock().unwrap().clone();
    (logits[0].clone(), passed, traffic)
}

#[test]
fn transcripts_do_not_depend_on_inputs() {
    // The same network with a square, and with a product of two values before the last layer.
    let mut squared = small();
    squared.layers[0].lut = Some(Lut::new(900, |x| x * x / 9_000 - x / 30 - 5));
    let mut product = squared.clone();
    let mut gate = product.layers[0].clone();
    gate.name = "gate".to_owned();
    gate.terms.clear();
    gate.bias = vec![-100, 0, 20];
    gate.product = Some([network::Source::Layer(0); 2].into());
    product.layers.insert(1, gate);
    product.layers[2].terms[0].source = network::Source::Layer(1);
    let networks = [small(), squared, product].into_iter();
    let both = networks.flat_map(|network| {
        [Activations::Shares, Activations::Revealed].map(|shown| (network.clone(), shown))
    });
    for (network, activations) in both {
        let evaluator = Evaluator::new(&network).unwrap();
        let program = compile(&network, activations, LAN).unwrap();
        let runs = [3, 17].map(|seed| {
            let (logits, transcript, traffic) = run(&program, &input(seed));
            assert_eq!(logits, evaluator.evaluate(&input(seed)).unwrap().logits);
            (transcript, traffic.sent, traffic.received)
        });
        assert_eq!(runs[0], runs[1]);
    }
}

/// The error of a server that gets bytes of a client that follows no protocol.
fn served(bytes: &[&[u8]], waits: bool) -> Error {
    let server = Server::new(&compile(&small(), Activations::Revealed, LAN).unwrap(), 4).unwrap();
    let hash = *server.fingerprint();
    let (mut left, mut right) = memory_pair();
    std::thread::scope(|scope| {
        let served = scope.spawn(move || server.serve(&mut left, &mut |_| true).unwrap_err());
        for part in bytes {
            let part = if *part == b"HASH" { &hash } else { *part };
            right.send(part).unwrap();
        }
        right.flush().unwrap();
        // Held until the server has given up, or dropped at once for one that waits for more.
        if !waits {
            return served.join().unwrap();
        }
        drop(right);
        served.join().unwrap()
    })
}

#[test]
fn faults_of_clients_end_their_session_with_a_reason() {
    let numbers = |numbers: [u32; 4]| numbers.map(u32::to_le_bytes).concat();
    let greeting: &[&[u8]] = &[b"PLDNHYBR", &1u32.to_le_bytes(), &[0; 32]];
    let after = |wish: &[&[u8]]| served(&[greeting, wish].concat(), false).to_string();

    let found = served(&[b"GET / HTTP/1.1\r\n"], false).to_string();
    assert!(found.contains("greeting"), "{found}");
    let found = served(&[b"PLDNHYBR", &2u32.to_le_bytes(), &[0; 32]], false).to_string();
    assert!(
        found.contains("version") && found.contains("is 2"),
        "{found}"
    );
    let found = after(&[&[9; 32], &numbers([2, 6, 5, 1])]);
    assert!(found.contains("hash"), "{found}");
    let found = after(&[b"HASH", &numbers([1, 28, 28, 1])]);
    assert!(
        found.contains("shape") && found.contains("[2, 6, 5]"),
        "{found}"
    );
    let found = after(&[b"HASH", &numbers([2, 6, 5, 5])]);
    assert!(
        found.contains("number of inputs") && found.contains("1 to 4"),
        "{found}"
    );
    // Truncated: the connection ends in a key.
    let cut: &[&[u8]] = &[b"HASH", &numbers([2, 6, 5, 1]), &[1; 100]];
    let found = served(&[greeting, cut].concat(), true);
    assert!(matches!(found, Error::Protocol(_)), "{found}");
    // A key of words that are no residues.
    let found = after(&[b"HASH", &numbers([2, 6, 5, 1]), &[0xff; 200_000]]);
    assert!(found.contains("a public key"), "{found}");
}

#[test]
fn programs_that_are_insecure_or_do_not_fit_are_refused() {
    let program = compile(&small(), Activations::Shares, LAN).unwrap();
    let json = program.public.to_json();
    let refused = |from: &str, to: &str| {
        assert!(json.contains(from), "{from} in {json}");
        let changed = json.replacen(from, to, 1);
        PublicProgram::from_json(&changed).unwrap_err().to_string()
    };
    assert!(refused("\"n\":4096", "\"n\":2048").contains("security"));
    assert!(refused("palladion-hybrid/2", "palladion-hybrid/9").contains("format"));
    assert!(refused("\"source\":0", "\"source\":1").contains("source"));
    assert!(refused("\"kernels\":3", "\"kernels\":30").contains("shape"));
    assert!(refused("\"kernel\":[3,3]", "\"kernel\":[3,0]").contains("shape"));
    assert!(refused("\"tile_channels\":2", "\"tile_channels\":0").contains("channels of a tile"));
    assert!(refused("\"tile_channels\":2", "\"tile_channels\":3").contains("channels of a tile"));
    assert!(refused("\"flood_bits\":", "\"flood_bits\":9").contains("flood"));
    assert!(refused("\"bits\":", "\"bits\":9").contains("bits"));
    assert!(PublicProgram::from_json("{").is_err());
    assert!(Program::from_bytes(b"").is_err());
    let bytes = program.to_bytes();
    assert_eq!(Program::from_bytes(&bytes).unwrap(), program);
    assert!(Program::from_bytes(&bytes[..bytes.len() - 1]).is_err());
}

/// Programs of a few kilobytes that would take more memory than they are entitled to.
#[test]
fn programs_that_would_take_memory_out_of_proportion_are_refused() {
    let program = compile(&small(), Activations::Shares, LAN).unwrap().public;
    let refused = |change: &dyn Fn(&mut PublicProgram)| {
        let mut changed = program.clone();
        change(&mut changed);
        PublicProgram::from_json(&changed.to_json())
            .unwrap_err()
            .to_string()
    };
    // A value of the table for each accumulator.
    let found = refused(&|program| {
        let layer = &mut program.layers[0];
        (layer.bits, layer.largest) = (44, (1 << 43) - 1);
        layer.step = Step::Table {
            first: -1,
            values: vec![0, 1, 2],
        };
        (
            layer.encrypted[0].flood_bits,
            layer.encrypted[0].answer_bits,
        ) = (10, 58);
    });
    assert!(
        found.contains("the largest accumulator of a table"),
        "{found}"
    );
    let found = refused(&|program| {
        program.layers[0].step = Step::Table {
            first: i64::MIN,
            values: vec![1],
        };
    });
    assert!(found.contains("first entry"), "{found}");
    // Layers that are each within the bound.
    let found = refused(&|program| {
        let mut layer = program.layers[0].clone();
        layer.shape = [1 << 8, 1 << 8, 1 << 8];
        program.layers.splice(0..0, vec![layer; 5]);
    });
    assert!(
        found.contains("the number of values of all layers"),
        "{found}"
    );
    let found = refused(&|program| {
        let local = LocalTerm {
            source: 0,
            window: network::Window {
                channels: 2,
                first: 0,
                kernel: [1, 1],
                stride: [1, 1],
                dilation: [1, 1],
                pads: [0; 4],
                weights: vec![1],
            },
        };
        program.layers[0].local = vec![local; 20_000];
    });
    assert!(
        found.contains("the number of terms of all layers"),
        "{found}"
    );
}

#[test]
fn floods_that_hide_too_little_are_not_served() {
    for activations in [Activations::Shares, Activations::Revealed] {
        let program = compile(&small(), activations, LAN).unwrap();
        assert!(program.log2_distance().unwrap() < -43.3, "for ten inputs");
        let served = |change: i32| {
            let mut changed = program.clone();
            for term in changed
                .public
                .layers
                .iter_mut()
                .flat_map(|layer| &mut layer.encrypted)
            {
                term.flood_bits = term.flood_bits.checked_add_signed(change).unwrap();
            }
            let changed = Program::from_json(&changed.to_json())?;
            Server::new(&changed, 4).map(|server| server.log2_distance())
        };
        assert_eq!(served(0).unwrap(), program.log2_distance().unwrap());
        let found = served(-40).unwrap_err().to_string();
        assert!(found.contains("statistical distance"), "{found}");
        // One bit more, and answers would be wrong.
        let found = served(1).unwrap_err().to_string();
        assert!(found.contains("flood"), "{found}");
    }
}

/// Text of the other party moves no cursor.
#[test]
fn text_of_the_other_party_is_printable() {
    let mut program = compile(&small(), Activations::Shares, LAN).unwrap().public;
    program.layers[0].name = "\u{1b}]0;owned\u{7}\u{202e}".to_owned();
    program.layers[0].bits = 99;
    let found = PublicProgram::from_json(&program.to_json())
        .unwrap_err()
        .to_string();
    assert!(
        found.contains("u{1b}]0;owned") && found.chars().all(|c| !c.is_control()),
        "{found:?}"
    );
    assert!(!found.contains('\u{202e}'), "{found:?}");
}

#[test]
fn inputs_that_do_not_fit_are_refused_before_anything_is_sent() {
    let program = compile(&small(), Activations::Revealed, LAN).unwrap();
    let public = &program.public;
    let found = |inputs: &[Vec<i64>]| public.check_inputs(inputs, 1).unwrap_err().to_string();
    assert!(found(&[]).contains("count"));
    assert!(found(&[vec![0; 59]]).contains("59"));
    assert!(found(&[vec![21; 60]]).contains("-20 to 20"));
}
