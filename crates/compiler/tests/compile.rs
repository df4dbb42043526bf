//! Do networks compile to secure programs that fit, and do errors name what cannot be compiled?

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use network::{Conv, Dense, Input, IntNetwork, Layer, Linear, Lut, Product, Term};
use palladion_compiler::{Error, Options, compile};
use program::{Form, Op, Program, Type};
use std::collections::BTreeSet;

/// 128 bits of security at N = 2^15, and at dimension 1024.
const MAX_LOG_QP: f64 = 868.0;
const MAX_LOG_LWE: f64 = 26.0;
const BOUND: i64 = 100;

/// A network of the folder `models`.
fn of_model(name: &str) -> IntNetwork {
    let path = format!("{}/../../models/{name}", env!("CARGO_MANIFEST_DIR"));
    IntNetwork::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The MNIST network with weights of 7 bits.
fn mnist() -> IntNetwork {
    of_model("mnist_w7a7.json")
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

/// A chain of these layers, named by their numbers. Each layer except the last has a table.
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
            product: None,
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
        interface: None,
        layers: layers.collect(),
    }
}

/// Number of classes of a network.
fn classes(network: &IntNetwork) -> usize {
    network.shapes().unwrap().last().unwrap().iter().product()
}

fn compiled(network: &IntNetwork, batch: usize) -> Program {
    let program = compile(network, Options::of_batch(batch)).unwrap();
    let p = &program.parameters;
    let log_lwe = (p.q[0] as f64).log2();
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
    assert_eq!((p.n, p.t, p.lwe_dimension), (1 << 15, 65537, 1024));
    assert!(p.log_qp() <= MAX_LOG_QP && log_lwe <= MAX_LOG_LWE);
    let spec = rlwe::ParamsSpec {
        n: p.n,
        q: p.q.clone(),
        p: p.p.clone(),
        digit_limbs: p.digit_limbs,
    };
    assert!(rlwe::Params::new(&spec).unwrap().is_secure());
    // Everywhere, six deviations of the noise plus a bit are below the limit of decryption.
    assert!(program.prediction.margin_bits > 1.0);
    assert_eq!(ops("table"), ops("pack"));
    check_packings(network, &program);
    assert_eq!((program.batch, program.classes), (batch, classes(network)));
    check_images(network, &program);
    assert_eq!(Program::from_json(&program.to_json()).unwrap(), program);
    program
}

fn seconds(program: &Program) -> f64 {
    program.steps.iter().map(|s| s.seconds).sum()
}

/// Checks that every channel of every image has its place, and that every result is given once.
fn check_images(network: &IntNetwork, program: &Program) {
    let [channels, height, width] = network.input.shape;
    let mut placed = BTreeSet::new();
    for tiles in &program.placement {
        let mut taken = BTreeSet::new();
        for tile in tiles {
            for c in tile.channels[0]..tile.channels[1] {
                assert!(placed.insert((tile.image, c)));
                for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
                    let [channel, row] = tile.pitch;
                    let place = tile.start + (c - tile.channels[0]) * channel + y * row + x;
                    assert!(place < program.parameters.n && taken.insert(place));
                }
            }
        }
    }
    assert_eq!(placed.len(), program.batch * channels);
    let mut given = BTreeSet::new();
    for step in &program.steps {
        if let Op::Output { rows, .. } = &step.op {
            given.extend(rows.iter().map(|r| (r.image, r.output)));
        }
    }
    assert_eq!(given.len(), program.batch * program.classes);
}

/// Checks that every accumulator that enters a table is packed once.
fn check_packings(network: &IntNetwork, program: &Program) {
    let shapes = network.shapes().unwrap();
    for (layer, shape) in network.layers.iter().zip(&shapes) {
        let mut packed = BTreeSet::new();
        for step in program.steps.iter().filter(|s| s.layer == layer.name) {
            if let Op::Pack { values, .. } = &step.op {
                assert!(values.iter().all(|v| packed.insert((v.1, v.2))));
            }
        }
        let outputs: usize = shape.iter().product();
        let expected = outputs * usize::from(layer.lut.is_some()) * program.batch;
        assert_eq!(packed.len(), expected, "layer {}", layer.name);
    }
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
    assert_eq!(program.placement.iter().flatten().count(), 1);
    assert_eq!(program, compile(&mnist(), Options::default()).unwrap());
    // Four lines of parameters, and one for each constant, layer and step.
    let lines = program.to_string().lines().count();
    assert_eq!(lines, 4 + program.constants.len() + 3 + program.steps.len());
}

/// The network of the package has the shapes of the one above. No table of it has more than 8,193
/// entries, the room for noise among them.
#[test]
fn the_packaged_network_is_the_cheaper_one() {
    let (packaged, wide) = (compiled(&of_model("mnist.json"), 1), compiled(&mnist(), 1));
    assert_eq!(values_packed(&packaged), values_packed(&wide));
    let entries: Vec<_> = packaged
        .constants
        .iter()
        .filter(|constant| constant.name.ends_with(".table"))
        .map(|constant| constant.values.len())
        .collect();
    assert_eq!(entries.len(), 2);
    assert!(entries.iter().all(|&count| count <= 8193), "{entries:?}");
    assert!(seconds(&packaged) < 0.7 * seconds(&wide));
    assert!(packaged.prediction.key_bytes < wide.prediction.key_bytes);
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
fn batches_beyond_the_slots_take_several_ciphertexts() {
    let program = compiled(&mnist(), 160);
    let packed = values_packed(&program);
    assert!(packed.len() > 2, "{packed:?}");
    // 160 images of 256 values are more than there are slots.
    assert!(packed.iter().sum::<usize>() > 1 << 15);
}

#[test]
fn batches_that_no_program_has_are_refused_before_anything_is_built() {
    for batch in [32_769, 1 << 20, usize::MAX / 2, usize::MAX] {
        match compile(&mnist(), Options::of_batch(batch)) {
            Err(Error::Batch { batch: found, most }) => {
                assert_eq!((found, most), (batch, 1 << 15));
            }
            other => panic!("{batch}: {:?}", other.map(|p| p.name)),
        }
    }
    let none = compile(&mnist(), Options::of_batch(0));
    assert!(matches!(none, Err(Error::EmptyBatch)));
}

/// Four images of 100 values have 8,192 positions each, beside which 81 kernels of 100 positions fit. The fourth
/// image has no more room than the others, though nothing follows it.
#[test]
fn kernels_beside_the_last_image_have_room_too() {
    for (outputs, products) in [(81, 1), (82, 2), (109, 2), (163, 3)] {
        let program = compiled(&network([1, 1, 100], vec![dense(100, outputs)]), 4);
        let multiplied = program
            .steps
            .iter()
            .filter(|s| s.op.name() == "mul_coefficients");
        assert_eq!(multiplied.count(), products, "{outputs} outputs");
    }
    compiled(&network([1, 1, 100], vec![dense(100, 82), dense(82, 3)]), 4);
}

/// A product takes a limb more than the largest table. 128-bit security has room for it only beside special moduli of
/// fewer than 49 bits.
#[test]
fn products_behind_the_largest_tables_have_smaller_special_moduli() {
    const LARGEST: i64 = 32_681;
    let layers = [16, 16, 16, 3].map(|outputs| dense(16, outputs));
    let mut network = network([1, 1, 16], layers.into());
    for layer in &mut network.layers[..3] {
        layer.bound = LARGEST;
        layer.lut = Some(Lut::new(LARGEST, |x| x.clamp(0, 7)));
    }
    let bits = |network: &IntNetwork| -> Vec<u32> {
        let program = compile(network, Options::default()).unwrap();
        assert!(program.parameters.log_qp() <= MAX_LOG_QP && program.prediction.margin_bits > 1.0);
        program.parameters.p.iter().map(|p| p.ilog2() + 1).collect()
    };
    assert!(bits(&network).iter().all(|&bits| bits == 49));
    network.layers[2].terms.clear();
    network.layers[2].product = Some(Product::from([1.into(), 2.into()]));
    assert!(bits(&network).iter().all(|&bits| bits < 49));
}

#[test]
fn a_linear_layer_alone_needs_no_key() {
    let program = compiled(&network([1, 8, 8], vec![dense(64, 3)]), 4);
    assert!(program.keys.galois.is_empty() && program.keys.packing.is_empty());
    assert_eq!(program.keys.relinearization, None);
    assert!(seconds(&program) < 1.0);
}

#[test]
fn layers_that_cannot_be_done_are_named() {
    let input = network([1, 256, 256], vec![conv(1, 1, 0), dense(127 * 127, 2)]);
    let mut wide = network([1, 100, 100], vec![conv(1, 1, 45), dense(189 * 189, 2)]);
    if let Linear::Conv(conv) = &mut wide.layers[0].terms[0].linear {
        (conv.kernel, conv.stride) = ([2, 2], [1, 1]);
        conv.weights.truncate(4);
    }
    for (network, layer, about, value, wanted) in [
        (
            input,
            "0",
            "the size of one channel of the input",
            "65536",
            "at most 32768 with the zeros around it",
        ),
        (
            wide,
            "0",
            "the size of one channel that enters a table",
            "35721",
            "at most 32768",
        ),
    ] {
        match compile(&network, Options::default()) {
            Err(Error::Layer {
                layer: at,
                what,
                found,
                expected,
            }) => {
                assert_eq!((at.as_str(), what), (layer, about));
                assert_eq!((found.as_str(), expected.as_str()), (value, wanted));
            }
            other => panic!("{about}: {:?}", other.map(|p| p.name)),
        }
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
