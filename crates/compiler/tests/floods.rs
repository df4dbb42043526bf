//! Floods over the outputs: their level, their bits, and what they cost.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use network::IntNetwork;
use palladion_compiler::{Options, compile};
use program::{MAX_LOG2_DISTANCE, Op, Program, Type};

fn mnist() -> IntNetwork {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mnist_w7a7.json");
    IntNetwork::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn flooded(answers: u64) -> Program {
    let options = Options {
        flooded_answers: Some(answers),
        ..Options::default()
    };
    compile(&mnist(), options).unwrap()
}

fn seconds(program: &Program) -> f64 {
    program.steps.iter().map(|step| step.seconds).sum()
}

#[test]
fn the_last_layer_of_mnist_runs_where_its_flood_fits() {
    let plain = compile(&mnist(), Options::default()).unwrap();
    let program = flooded(1 << 20);
    println!(
        "{:.2} s, {:.0} MB without, {:.2} s, {:.0} MB with floods, limbs {} and {}, digits of {}",
        seconds(&plain),
        plain.prediction.key_bytes as f64 / 1e6,
        seconds(&program),
        program.prediction.key_bytes as f64 / 1e6,
        program.parameters.q.len(),
        program.parameters.p.len(),
        program.parameters.digit_limbs,
    );
    let t = program.parameters.t;
    let mut outputs = 0;
    for step in &program.steps {
        let (
            Op::Output { at, flood, .. },
            Type::Ciphertext {
                level, noise_bits, ..
            },
        ) = (&step.op, step.ty)
        else {
            continue;
        };
        let flood = flood.unwrap();
        assert!(flood.log2_distance(noise_bits, t, at.len()) <= MAX_LOG2_DISTANCE);
        // A limb is given only where it is needed: the flood does not fit below.
        let bits = flood.residual_bits(t);
        let log_q = |level| program.parameters.log_q(level);
        assert!(log_q(level) > bits && log_q(level - 1) < bits + 4.0);
        outputs += at.len();
    }
    assert_eq!(outputs, 10);
    assert!(seconds(&program) < 1.4 * seconds(&plain));
    assert!(program.prediction.log2_failure <= -40.0);
}
