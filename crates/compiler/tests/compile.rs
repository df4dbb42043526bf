//! Do networks compile to secure programs that fit, and is what cannot be done named?

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use compiler::{Error, Options, compile};
use network::{Conv, Dense, Evaluator, Input, IntNetwork, Layer, Linear, Lut, Term, Window};
use program::{Form, Op, Program, Type};
use std::collections::BTreeSet;

/// 128 bits of security at N = 2^15, and at dimension 2048.
const MAX_LOG_QP: f64 = 868.0;
const MAX_LOG_LWE: f64 = 53.0;
const BOUND: i64 = 100;

fn mnist() -> IntNetwork {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mnist.json");
    IntNetwork::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn conv(channels: usize, kernels: usize, padding: i64) -> Linear {
    let weights = channels * kernels * 9;
    Linear::Conv(Conv {
        kernels,
        channels,
        groups: 1,
        kernel: [3, 3],
        stride: [2, 2],
        dilation: [1, 1],
        pads: [padding; 4],
        weights: (0..weights as i64).map(|i| i * 5 % 7 - 3).collect(),
    })
}

fn dense(inputs: usize, outputs: usize) -> Linear {
    Linear::Dense(Dense {
        inputs,
        outputs,
        weights: vec![1; inputs * outputs],
    })
}

/// A chain of these layers, named by their numbers, each but the last with a table.
fn network(shape: [usize; 3], layers: Vec<Linear>) -> IntNetwork {
    let last = layers.len() - 1;
    let layers = layers.into_iter().enumerate().map(|(index, linear)| {
        let channels = match &linear {
            Linear::Conv(conv) => conv.kernels,
            Linear::Dense(dense) => dense.outputs,
            Linear::Window(window) => window.channels,
        };
        Layer {
            name: index.to_string(),
            terms: vec![Term {
                source: index.into(),
                linear,
            }],
            bias: (0..channels as i64).map(|i| i % 9).collect(),
            bound: BOUND,
            lut: (index < last).then(|| Lut::new(BOUND, |x| x.clamp(0, 7))),
            scale: 1.0,
        }
    });
    IntNetwork {
        name: "made up".into(),
        input: Input {
            shape,
            min: 0,
            max: 7,
            scale: 1.0,
            mean: vec![],
            std: vec![],
        },
        layers: layers.collect(),
    }
}

/// Classes of a network.
fn classes(network: &IntNetwork) -> usize {
    network.shapes().unwrap().last().unwrap().iter().product()
}

fn compiled(network: &IntNetwork, batch: usize) -> Program {
    let program = compile(network, Options { batch }).unwrap();
    let p = &program.parameters;
    let log_lwe = (p.q[0] as f64).log2() + (p.lwe_p as f64).log2();
    let ops = |name: &str| program.steps.iter().filter(|s| s.op.name() == name).count();
    println!(
        "{} of batch {batch}: {} limbs and {} special of {}, log QP {:.1}, log qp of the dimension switch \
         {log_lwe:.1}, {} steps, {} tables, {} maps to coefficients, {} Galois keys, {:.0} MB of keys, \
         margin {:.1} bits, {:.1} s predicted",
        program.name,
        p.q.len(),
        p.p.len(),
        p.digit_limbs,
        p.log_qp(),
        program.steps.len(),
        ops("table"),
        ops("slots_to_coefficients"),
        program.keys.galois.len(),
        program.prediction.key_bytes as f64 / 1e6,
        program.prediction.margin_bits,
        seconds(&program),
    );
    assert_eq!((p.n, p.t, p.lwe_dimension), (1 << 15, 65537, 2048));
    assert!(p.log_qp() <= MAX_LOG_QP && log_lwe <= MAX_LOG_LWE);
    let spec = rlwe::ParamsSpec {
        n: p.n,
        q: p.q.clone(),
        p: p.p.clone(),
        digit_limbs: p.digit_limbs,
    };
    assert!(rlwe::Params::new(&spec).unwrap().is_secure());
    // Six deviations of the noise and a bit more are below what decryption bears, everywhere.
    assert!(program.prediction.margin_bits > 1.0);
    assert_eq!(ops("table"), network.layers.len() - 1);
    assert_eq!((program.batch, program.classes), (batch, classes(network)));
    check_images(network, &program);
    assert_eq!(Program::from_json(&program.to_json()).unwrap(), program);
    program
}

fn seconds(program: &Program) -> f64 {
    program.steps.iter().map(|s| s.seconds).sum()
}

/// Every image has its place, and every result is given once.
fn check_images(network: &IntNetwork, program: &Program) {
    let images: usize = program.placement.iter().map(Vec::len).sum();
    assert_eq!(images, program.batch);
    for starts in &program.placement {
        assert!(starts.is_sorted());
        assert!(starts.last().unwrap() + network.input.values() <= program.parameters.n);
    }
    let mut given = BTreeSet::new();
    for step in &program.steps {
        if let Op::Output { rows, .. } = &step.op {
            given.extend(rows.iter().map(|r| (r.image, r.output)));
        }
    }
    assert_eq!(given.len(), program.batch * program.classes);
}

fn values_packed(program: &Program) -> Vec<usize> {
    let packs = program.steps.iter().filter_map(|s| match (&s.op, s.ty) {
        (
            Op::Pack { .. },
            Type::Ciphertext {
                form: Form::Slots(values),
                ..
            },
        ) => Some(values),
        _ => None,
    });
    packs.collect()
}

#[test]
fn the_mnist_network_compiles_the_same_way_each_time() {
    let program = compiled(&mnist(), 1);
    assert_eq!(values_packed(&program), [256, 64]);
    assert_eq!(program.placement, [[0]]);
    assert_eq!(program, compile(&mnist(), Options::default()).unwrap());
    // Four lines of parameters, and one for each constant, layer and step.
    let lines = program.to_string().lines().count();
    assert_eq!(lines, 4 + program.constants.len() + 3 + program.steps.len());
}

#[test]
fn batches_share_ciphertexts_up_to_all_slots() {
    let mut per_image = f64::INFINITY;
    for (batch, packed) in [(2, [512, 128]), (32, [8192, 2048]), (128, [32768, 8192])] {
        let program = compiled(&mnist(), batch);
        assert_eq!(values_packed(&program), packed);
        let seconds = seconds(&program) / batch as f64;
        assert!(seconds < per_image, "an image of a larger batch costs less");
        per_image = seconds;
    }
}

#[test]
fn batches_that_do_not_fit_are_refused_before_anything_is_built() {
    for batch in [129, 1 << 20, usize::MAX / 2, usize::MAX] {
        match compile(&mnist(), Options { batch }) {
            Err(Error::Batch {
                batch: found,
                layer,
                values,
                slots,
                most,
            }) => {
                let found = (found, layer.as_str(), slots, most);
                assert_eq!(found, (batch, "conv", 1 << 15, 128));
                assert_eq!(values, batch.saturating_mul(256));
            }
            other => panic!("{batch}: {:?}", other.map(|p| p.name)),
        }
    }
    let none = compile(&mnist(), Options { batch: 0 });
    assert!(matches!(none, Err(Error::EmptyBatch)));
    // A hundred outputs are no power of two: two copies are needed, so half the slots.
    let odd = network([1, 1, 4], vec![dense(4, 100), dense(100, 2)]);
    match compile(&odd, Options { batch: 164 }) {
        Err(Error::Batch { slots, most, .. }) => assert_eq!((slots, most), (1 << 14, 163)),
        other => panic!("{:?}", other.map(|p| p.name)),
    }
}

#[test]
fn layers_that_cannot_be_done_are_named() {
    let padded = network([1, 8, 8], vec![conv(1, 1, 1), dense(16, 2)]);
    let single = network([1, 8, 8], vec![dense(64, 2)]);
    let large = vec![conv(8, 1, 0), dense(31 * 31, 2)];
    let large = network([8, 64, 64], large);
    let wide = network([1, 1, 2], vec![dense(2, 40_000), dense(40_000, 2)]);
    for (network, about, value, wanted) in [
        (
            padded,
            "the padding of the first convolution",
            "1",
            "0: pad the image instead",
        ),
        (
            single,
            "the number of layers up to it",
            "1",
            "at least 2: a linear layer alone needs no table",
        ),
        (
            large,
            "the number of coefficients of one image and one kernel",
            "61570",
            "at most 32768",
        ),
        (
            wide,
            "the number of outputs that enter a table",
            "40000",
            "at most 16384",
        ),
    ] {
        match compile(&network, Options::default()) {
            Err(Error::Layer {
                layer,
                what,
                found,
                expected,
            }) => {
                assert_eq!((layer.as_str(), what), ("0", about));
                assert_eq!((found.as_str(), expected.as_str()), (value, wanted));
            }
            other => panic!("{about}: {:?}", other.map(|p| p.name)),
        }
    }
}

#[test]
fn what_is_no_chain_is_named() {
    type Change = fn(&mut IntNetwork);
    fn first(network: &mut IntNetwork) -> &mut Conv {
        match &mut network.layers[0].terms[0].linear {
            Linear::Conv(conv) => conv,
            _ => panic!("layer 0 is a convolution"),
        }
    }
    let table: [(Change, &str); 7] = [
        (
            |n| n.input.min = -1,
            "layer 0: the smallest input is -1, expected 0",
        ),
        (
            |n| n.layers[0].terms = vec![n.layers[0].terms[0].clone(); 2],
            "layer 0: the number of terms is 2, expected 1",
        ),
        (
            |n| {
                let window = Window {
                    kernel: [1, 1],
                    stride: [1, 1],
                    dilation: [1, 1],
                    pads: [0; 4],
                    weights: vec![1],
                    first: 0,
                    channels: 2,
                };
                n.layers[1].terms[0].linear = Linear::Window(window);
                n.layers[1].bias = vec![0; 2];
            },
            "layer 1: the kernel of a window is [1, 1], expected a convolution or a dense layer",
        ),
        (
            |n| {
                first(n).groups = 2;
                first(n).weights.truncate(18);
            },
            "layer 0: the number of groups is 2, expected 1",
        ),
        (
            |n| {
                first(n).dilation = [3, 3];
                first(n).stride = [1, 1];
                first(n).pads = [1, 1, 0, 0];
            },
            "layer 0: the dilation is [3, 3], expected [1, 1]",
        ),
        (
            |n| {
                first(n).stride = [1, 2];
                first(n).pads = [-1, 0, -2, 0];
            },
            "layer 0: the stride is [1, 2], expected one for both directions",
        ),
        (
            |n| first(n).pads = [0, 1, 0, -1],
            "layer 0: the padding is [0, 1, 0, -1], expected the same on all sides, at least 0",
        ),
    ];
    for (change, expected) in table {
        let mut network = network([2, 8, 8], vec![conv(2, 2, 0), dense(18, 2)]);
        change(&mut network);
        let error = compile(&network, Options::default()).unwrap_err();
        assert!(matches!(error, Error::Layer { .. }), "{error}");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn networks_that_contradict_themselves_are_refused() {
    let good = || network([1, 8, 8], vec![conv(1, 2, 0), dense(18, 3)]);
    let mut ends_in_a_table = good();
    ends_in_a_table.layers[1].lut = ends_in_a_table.layers[0].lut.clone();
    let mut lacks_a_table = good();
    lacks_a_table.layers[0].lut = None;
    let mut empty = good();
    empty.layers.clear();
    let misfit = network([1, 8, 8], vec![conv(1, 2, 0), dense(17, 3)]);
    for (network, expected) in [
        (
            ends_in_a_table,
            "layer 1: the last layer has a table, expected none: its accumulators are the logits",
        ),
        (
            lacks_a_table,
            "layer 0: no table, expected one: only the last layer has none",
        ),
        (
            empty,
            "network: the number of layers is 0, expected 1 to 4096",
        ),
        (
            misfit,
            "layer 1: takes 17 numbers, but is given 2 channels of 3x3",
        ),
    ] {
        let error = compile(&network, Options::default()).unwrap_err();
        assert!(matches!(error, Error::Network(_)));
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_padded_convolution_between_tables_becomes_the_dense_layer_it_is() {
    let layers = vec![conv(1, 2, 0), conv(2, 3, 1), dense(12, 2)];
    let network = network([1, 9, 9], layers);
    let program = compiled(&network, 2);
    let step = program.steps.iter().find_map(|s| match &s.op {
        Op::Dense {
            weights, inputs, ..
        } => Some((*weights, *inputs)),
        _ => None,
    });
    let (weights, inputs) = step.expect("a layer on slots");
    let x: Vec<i64> = (0..inputs as i64).map(|i| i * 3 % 8).collect();
    let sums: Vec<i64> = program.constants[weights]
        .values
        .chunks(inputs)
        .map(|row| row.iter().zip(&x).map(|(w, x)| w * x).sum())
        .collect();
    let exact = Evaluator::new(&network).unwrap();
    let biased = exact.accumulate(1, &[&x]).unwrap();
    let biases = network.layers[1].bias.iter().flat_map(|&b| [b; 4]);
    let expected: Vec<i64> = biased.iter().zip(biases).map(|(a, b)| a - b).collect();
    assert_eq!(sums, expected);
}
