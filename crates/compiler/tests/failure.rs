//! The probability that a run is wrong: as asked for, and compared with a separate computation.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use network::{IntNetwork, Lut};
use palladion_compiler::{Error, Options, compile};
use program::{Op, Program, Type};

fn mnist() -> IntNetwork {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mnist_w7a7.json");
    IntNetwork::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn failing(log2_failure: f64) -> Options {
    Options {
        log2_failure,
        ..Options::default()
    }
}

/// Lower and upper bound of `P(|x| > d)` for a normal `x`: `density(d) 2 d / (1 + d^2)` and
/// `density(d) 2 / d`.
fn tail(d: f64) -> [f64; 2] {
    let density = (-d * d / 2.0).exp() * 2.0 / (2.0 * std::f64::consts::PI).sqrt();
    [density * d / (1.0 + d * d), density / d]
}

/// log2 of the probability that noise takes any accumulator beyond its table's border: lower and
/// upper bound.
fn beyond_borders(program: &Program) -> [f64; 2] {
    // From the variances of the rounding to t at dimension 1024 and of the dimension switch:
    // ARCHITECTURE.md has 8.45.
    const SIGMA: f64 = 8.452;
    let mut total = [0.0; 2];
    for step in &program.steps {
        let Op::Table { value, indices, .. } = &step.op else {
            continue;
        };
        let Op::Pack { values, .. } = &program.steps[*value].op else {
            panic!("a table reads what was packed");
        };
        let room = (indices.border - indices.bound) as f64;
        for packed in values {
            let sigma = SIGMA * (packed.3.len() as f64).sqrt();
            total[0] += tail((room + 1.0) / sigma)[0];
            total[1] += tail(room / sigma)[1];
        }
    }
    total.map(f64::log2)
}

/// log2 of a bound on the probability that a step's ciphertext does not decrypt, computed from its
/// declared noise.
fn beyond_moduli(program: &Program) -> f64 {
    let of = |ty: &Type| match *ty {
        Type::Ciphertext {
            level, noise_bits, ..
        } => {
            let deviations = (program.parameters.log_q(level) - 1.0 - noise_bits).exp2();
            program.parameters.n as f64 * tail(deviations)[1]
        }
        Type::Samples => 0.0,
    };
    program.steps.iter().map(|s| of(&s.ty)).sum::<f64>().log2()
}

#[test]
fn a_run_is_wrong_as_seldom_as_asked_for() {
    let mut rooms = Vec::new();
    for asked in [-40.0, -64.0, -128.0] {
        let program = compile(&mnist(), failing(asked)).unwrap();
        let told = program.prediction.log2_failure;
        let [least, most] = beyond_borders(&program);
        println!("asked 2^{asked}, told 2^{told:.1}, counted 2^{least:.1} to 2^{most:.1}");
        assert!(told <= asked, "asked {asked}, told {told}");
        assert!(least <= told + 0.1 && told <= most.max(beyond_moduli(&program)) + 0.1);
        assert!(most <= asked, "asked {asked}, counted {most}");
        let room = program.steps.iter().find_map(|s| match &s.op {
            Op::Table { indices, .. } => Some(indices.border - indices.bound),
            _ => None,
        });
        rooms.push(room.unwrap());
    }
    // The table grows if a smaller probability is asked for, but only by the deviations that this
    // takes.
    assert!(
        rooms.is_sorted() && rooms[0] > 64 && rooms[2] < 130,
        "{rooms:?}"
    );
}

#[test]
fn a_bound_without_room_for_noise_is_refused_with_the_bound_that_has_it() {
    let with_bound = |bound: i64| {
        let mut network = mnist();
        let layer = &mut network.layers[0];
        layer.bound = bound;
        layer.lut = Some(Lut::new(bound, |x| (x / 256).clamp(0, 127)));
        network
    };
    // `quantize` goes up to 32,681: 86 below the last index.
    compile(&with_bound(32_681), failing(-40.0)).unwrap();
    for (bound, asked) in [(32_767, -40.0), (32_740, -40.0), (32_681, -128.0)] {
        match compile(&with_bound(bound), failing(asked)) {
            Err(Error::Layer {
                layer,
                what,
                found,
                expected,
            }) => {
                assert_eq!(
                    (layer.as_str(), what),
                    ("conv", "the bound of its accumulators")
                );
                assert_eq!(found, bound.to_string());
                assert!(expected.contains("at most 326"), "{expected}");
            }
            other => panic!("{bound}: {:?}", other.map(|_| ())),
        }
    }
}

#[test]
fn more_failures_than_2_to_the_minus_40_cannot_be_asked_for() {
    for asked in [-39.0, 0.0, f64::NAN, f64::NEG_INFINITY] {
        let refused = compile(&mnist(), failing(asked));
        assert!(matches!(refused, Err(Error::Target { .. })), "{asked}");
    }
}
