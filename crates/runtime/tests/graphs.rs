//! Does an encrypted run of a network that is not a chain give its exact integers, apart from
//! rounding?
//!
//! The layers have two terms: a residual branch that keeps its places, and a branch with a stride
//! and another number of channels, whose values come to other places, so that samples are added up
//! instead of ciphertexts. There are also products of two values, as in a softmax.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use circuits::steps::packed;
use client::{Client, Decrypted};
use compiler::{Options, compile};
use inspect::{Exact, Inspector, LayerFindings};
use network::{
    Conv, Dense, Evaluator, Input, IntNetwork, Layer, Linear, Lut, Product, Term, Window,
};
use palladion_runtime::{Checkpoint, Prepared, Server};
use program::Op;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use std::collections::BTreeMap;
use std::time::Instant;

const BATCH: usize = 2;
const SEED: u64 = 21;

struct Integers {
    network: IntNetwork,
    evaluator: Evaluator,
}

impl Exact for Integers {
    fn layers(&self) -> usize {
        self.network.layers.len()
    }

    fn accumulate(&self, layer: usize, image: &[i64], outputs: &[Vec<i64>]) -> Option<Vec<i64>> {
        self.evaluator.accumulate_from(layer, image, outputs).ok()
    }

    fn activate(&self, layer: usize, accumulator: i64) -> Option<i64> {
        self.network.layers[layer].activate(&[accumulator]).pop()
    }

    fn bound(&self, layer: usize) -> i64 {
        self.network.layers[layer].bound
    }
}

fn conv(channels: usize, kernels: usize, stride: usize) -> Linear {
    Linear::Conv(Conv {
        kernels,
        channels,
        groups: 1,
        kernel: [3, 3],
        stride: [stride; 2],
        dilation: [1, 1],
        pads: [1; 4],
        weights: (0..channels * kernels * 9)
            .map(|i| (i * 5 % 11 % 3) as i64 - 1)
            .collect(),
    })
}

/// One weight on every `stride`-th value of every channel.
fn branch(stride: usize, first: usize, channels: usize) -> Linear {
    Linear::Window(Window {
        kernel: [1, 1],
        stride: [stride; 2],
        dilation: [1, 1],
        pads: [0; 4],
        weights: vec![20],
        first,
        channels,
    })
}

/// Values from -2 to 3, with 1 at 0. So positions without a value must be set to 0.
fn table(bound: i64) -> Lut {
    Lut::new(bound, |x| ((x + 20).div_euclid(16)).clamp(-2, 3))
}

fn network() -> IntNetwork {
    let layer = |name: &str, terms: Vec<(usize, Linear)>, channels: i64| {
        let terms = terms.into_iter().map(|(source, linear)| Term {
            source: source.into(),
            linear,
        });
        Layer {
            name: name.into(),
            terms: terms.collect(),
            product: None,
            bias: (0..channels).map(|c| c * 3 - 5).collect(),
            bound: 1000,
            lut: Some(table(1000)),
            scale: 1.0,
        }
    };
    let dense = Linear::Dense(Dense {
        inputs: 5 * 3 * 4,
        outputs: 4,
        weights: (0..240).map(|i| i * 7 % 13 - 6).collect(),
    });
    let mut network = IntNetwork {
        name: "residual".into(),
        input: Input {
            shape: [2, 6, 7],
            min: -4,
            max: 7,
            scale: 1.0,
            mean: vec![],
            std: vec![],
        },
        interface: None,
        layers: vec![
            layer("stem", vec![(0, conv(2, 3, 1))], 3),
            layer("down", vec![(1, conv(3, 5, 2)), (1, branch(2, 1, 5))], 5),
            layer(
                "same",
                vec![
                    (2, conv(5, 5, 1)),
                    (2, branch(1, 0, 5)),
                    (0, branch(2, 2, 5)),
                ],
                5,
            ),
            layer("logits", vec![(3, dense)], 4),
        ],
    };
    network.layers[3].lut = None;
    // As far as any image reaches, so that only noise goes beyond.
    let bound = network.worst_cases().unwrap()[..3].iter().copied().max();
    for layer in &mut network.layers[..3] {
        layer.bound = bound.unwrap();
        layer.lut = Some(table(layer.bound));
    }
    network
}

#[test]
fn a_residual_network_is_exact_but_for_the_rounding() {
    let network = network();
    let begin = Instant::now();
    let program = compile(&network, Options::of_batch(BATCH)).unwrap();
    let predicted: f64 = program.steps.iter().map(|s| s.seconds).sum();
    println!(
        "seed {SEED}: {} steps, {predicted:.1} s predicted, compiled in {:.1} s",
        program.steps.len(),
        begin.elapsed().as_secs_f64()
    );
    // There are sums of samples and sums of ciphertexts.
    let mut summed = [0, 0];
    for step in &program.steps {
        match &step.op {
            Op::MulCoefficients { terms } => summed[0] = summed[0].max(terms.len()),
            Op::Pack { values, .. } => {
                let most = values.iter().map(|v| v.3.len()).max();
                summed[1] = summed[1].max(most.unwrap_or(0));
            }
            _ => {}
        }
    }
    assert!(summed.iter().all(|&most| most > 1), "{summed:?}");

    let prepared = Prepared::new(program).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(SEED);
    let client = Client::generate_from(&prepared, &mut rng);
    let keys = client.evaluation_keys().unwrap();
    let image = |_| (0..84).map(|_| rng.random_range(-4..=7)).collect();
    let images: Vec<Vec<i64>> = (0..BATCH).map(image).collect();
    let evaluator = Evaluator::new(&network).unwrap();
    let mut found = Inspector::new(&client, &prepared, Integers { network, evaluator });
    found.begin(&images).unwrap();
    let input = client.encrypt(&images).unwrap();
    let server = Server::new(&prepared, &keys);
    let mut checkpoints = Vec::new();
    let (raw, report) = server
        .raw_answer(
            &input,
            None,
            |event| {
                found.observe(&event).unwrap();
                true
            },
            |state| {
                checkpoints.push(state.to_bytes(&prepared));
                true
            },
        )
        .unwrap();
    // The checkpoint after the second layer. The third layer reads its values and the images.
    let [_, second, _] = checkpoints.as_slice() else {
        panic!("{} checkpoints of 4 layers", checkpoints.len());
    };
    let from = Checkpoint::from_bytes(&prepared, second).unwrap();
    let (again, resumed) = server
        .raw_answer(&input, Some(from), |_| true, |_| true)
        .unwrap();
    assert!(raw == again, "the resumed run differs");
    let output = raw.hide(&prepared, &keys, &mut rng).unwrap();
    println!(
        "{} of {} steps resumed from {} bytes",
        resumed.resumed,
        prepared.program().steps.len(),
        second.len()
    );
    let decrypted = client.decrypt(&output, &input).unwrap();
    found.end(&decrypted).unwrap();
    println!(
        "run in {:.1} s, {:.1} s in all, margin {:.1} bits",
        report.seconds,
        begin.elapsed().as_secs_f64(),
        decrypted.margin_bits
    );

    let values = [3 * 6 * 7, 5 * 3 * 4, 5 * 3 * 4, 4].map(|count| (count * BATCH) as u64);
    for (layer, values) in found.layers().iter().zip(values) {
        assert_eq!((layer.wrong, layer.values), (0, values), "{}", layer.name);
        assert!(layer.slots >= values);
    }
    let [tables @ .., last] = found.layers() else {
        panic!("the network has layers");
    };
    assert_eq!(last.noise.largest, 0);
    for layer in tables {
        check_noise(&prepared, layer);
    }
}

/// Images that are interleaved: 8 values of all images in a ciphertext, or one alone.
#[test]
fn interleaved_images_are_exact_but_for_the_rounding() {
    let mut network = network();
    network.input.shape = [2, 3, 3];
    let Linear::Dense(dense) = &mut network.layers[3].terms[0].linear else {
        panic!("the last layer is dense");
    };
    dense.inputs = 5 * 2 * 2;
    dense.weights.truncate(80);
    let batch = 4000;
    let bound = network.worst_cases().unwrap()[..3].iter().copied().max();
    for layer in &mut network.layers[..3] {
        layer.bound = bound.unwrap();
        layer.lut = Some(table(layer.bound));
    }
    let program = compile(&network, Options::of_batch(batch)).unwrap();
    assert!(program.interleaved && program.placement.is_empty());
    let kept = program.steps.iter().filter(|step| match step.op {
        Op::SlotsToCoefficients { kept, .. } => kept.is_some(),
        _ => false,
    });
    assert!(kept.count() > 0);
    let prepared = Prepared::new(program).unwrap();
    let rng = ChaCha20Rng::seed_from_u64(SEED);
    let (found, seconds, decrypted) = inspected(&prepared, network, rng);
    println!("{seconds:.1} s, margin {:.1} bits", decrypted.margin_bits);
    let [tables @ .., last] = found.layers() else {
        panic!("the network has layers");
    };
    for (layer, values) in found.layers().iter().zip([27, 20, 20, 4]) {
        let values = (values * batch) as u64;
        assert_eq!((layer.wrong, layer.values), (0, values), "{}", layer.name);
    }
    assert_eq!(last.noise.largest, 0);
    for layer in tables {
        check_noise(&prepared, layer);
    }
}

/// Beside four images of 100 values there is room for 81 kernels each. So 110 kernels take two products, whose
/// last sums are the last coefficients.
#[test]
fn kernels_beside_all_images_are_exact() {
    const BATCH: usize = 4;
    let (inputs, outputs) = (100, 110);
    let mut rng = ChaCha20Rng::seed_from_u64(SEED);
    let mut network = network();
    network.input.shape = [1, 1, inputs];
    network.layers.drain(..3);
    network.layers[0].bias = (0..outputs as i64).map(|i| i * 7 - 300).collect();
    network.layers[0].terms = vec![Term {
        source: network::Source::Input,
        linear: Linear::Dense(Dense {
            inputs,
            outputs,
            weights: (0..inputs * outputs)
                .map(|_| rng.random_range(-9..=9))
                .collect(),
        }),
    }];
    network.layers[0].bound = network.worst_cases().unwrap()[0];
    let prepared = Prepared::new(compile(&network, Options::of_batch(BATCH)).unwrap()).unwrap();
    let (found, ..) = inspected(&prepared, network, rng);
    let [layer] = found.layers() else {
        panic!("the network has one layer");
    };
    assert_eq!((layer.wrong, layer.values), (0, (outputs * BATCH) as u64));
    assert_eq!(layer.noise.largest, 0);
}

/// The last layer reads two tables, of other sizes, and the input. Their values lie in different places. Channels 0 and 1
/// read one table and channel 3 another. Channel 2 is the sum of both, and of the input. The last channel is a bias alone.
#[test]
fn heads_of_different_tables_and_their_sums_are_exact() {
    let mut network = network();
    let mut rng = ChaCha20Rng::seed_from_u64(SEED);
    let mut head = |inputs: usize, own: std::ops::Range<usize>| {
        let weights = (0..5 * inputs).map(|index| match own.contains(&(index / inputs)) {
            true => rng.random_range(-9..=9),
            false => 0,
        });
        Linear::Dense(Dense {
            inputs,
            outputs: 5,
            weights: weights.collect(),
        })
    };
    let terms = [
        (1, head(3 * 6 * 7, 0..3)),
        (2, head(5 * 3 * 4, 2..4)),
        (0, head(84, 2..3)),
    ];
    let terms = terms.map(|(source, linear)| Term {
        source: source.into(),
        linear,
    });
    network.layers.remove(2);
    network.layers[2].terms = terms.into();
    network.layers[2].bias = vec![100, -200, 300, -400, 500];
    let program = compile(&network, Options::of_batch(BATCH)).unwrap();
    let outputs = program.steps.iter().filter(|s| s.op.name() == "output");
    assert!(outputs.count() > 1);
    let prepared = Prepared::new(program).unwrap();
    let (found, ..) = inspected(&prepared, network, rng);
    for (layer, values) in found.layers().iter().zip([126, 60, 5]) {
        assert_eq!((layer.wrong, layer.values), (0, values * BATCH as u64));
    }
    assert_eq!(found.layers()[2].noise.largest, 0);
}

/// The largest exponential, and the product of an exponential with the inverse of their sum.
const ONE: [i64; 2] = [31, 700];

/// A dense layer from 16 values to 10, their softmax in three steps, and the product of its first
/// and its last step. A map and two products read the exponentials.
fn softmax() -> IntNetwork {
    let [one, whole] = ONE;
    let layer =
        |name: &str, term: Option<(usize, Linear)>, product: Option<[usize; 2]>, channels| {
            let term = term.map(|(source, linear)| Term {
                source: source.into(),
                linear,
            });
            Layer {
                name: name.into(),
                terms: term.into_iter().collect(),
                product: product.map(|factors| Product::from(factors.map(Into::into))),
                bias: vec![0; channels],
                bound: 1500,
                lut: None,
                scale: 1.0,
            }
        };
    let dense = Linear::Dense(Dense {
        inputs: 16,
        outputs: 10,
        weights: (0..160).map(|i| i * 7 % 23 % 7 - 3).collect(),
    });
    let sum = Linear::Conv(Conv {
        kernels: 1,
        channels: 10,
        groups: 1,
        kernel: [1, 1],
        stride: [1, 1],
        dilation: [1, 1],
        pads: [0; 4],
        weights: vec![4; 10],
    });
    let mut layers = vec![
        layer("exponential", Some((0, dense)), None, 10),
        layer("inverse", Some((1, sum)), None, 1),
        layer("softmax", None, Some([1, 2]), 10),
        layer("again", None, Some([1, 3]), 10),
    ];
    let exponential = |x: i64| {
        (one as f64 * (x as f64 / 90.0 - 1.5).exp())
            .round()
            .min(one as f64)
    };
    layers[0].lut = Some(Lut::new(1500, |x| exponential(x) as i64));
    layers[1].lut = Some(Lut::new(1500, |x| whole * 4 / x.max(40)));
    layers[2].lut = Some(Lut::new(1500, |x| (x + 8).div_euclid(16)));
    IntNetwork {
        name: "softmax".into(),
        input: Input {
            shape: [16, 1, 1],
            min: -20,
            max: 20,
            scale: 1.0,
            mean: vec![],
            std: vec![],
        },
        interface: None,
        layers,
    }
}

#[test]
fn a_softmax_is_exact_but_for_the_rounding() {
    const BATCH: usize = 12;
    let network = softmax();
    let begin = Instant::now();
    let program = compile(&network, Options::of_batch(BATCH)).unwrap();
    let count = |name: &str| program.steps.iter().filter(|s| s.op.name() == name).count();
    // One table of exponentials serves the map and both products.
    assert_eq!((count("table"), count("product")), (3, 2));
    let predicted: f64 = program.steps.iter().map(|s| s.seconds).sum();
    let prepared = Prepared::new(program).unwrap();
    let rng = ChaCha20Rng::seed_from_u64(SEED);
    let (found, seconds, decrypted) = inspected(&prepared, network, rng);
    println!(
        "seed {SEED}: {predicted:.1} s predicted, run in {:.1} s, {:.1} s in all, margin {:.1} bits",
        seconds,
        begin.elapsed().as_secs_f64(),
        decrypted.margin_bits
    );
    for (layer, values) in found.layers().iter().zip([10, 1, 10, 10]) {
        let name = &layer.name;
        println!("{name}: {:?}", layer.changes);
        assert_eq!((layer.wrong, layer.beyond_bound), (0, 0), "{name}");
        assert_eq!(layer.values, (values * BATCH) as u64, "{name}");
    }
    let [tables @ .., _] = found.layers() else {
        panic!("the network has layers");
    };
    for layer in tables {
        check_noise(&prepared, layer);
    }
    for step in found.noise() {
        println!("{step:?}");
        assert!(step.margin_bits > 6.0, "{step:?}");
        // With 2^15 coefficients, a deviation is known to 1 part in 256, 0.006 bits. The tolerance
        // is 6 times that, and as much for the key, whose weight is random.
        let apart = step.measured_bits - step.predicted_bits;
        assert!(
            !step.name.ends_with("product") || apart.abs() < 0.07,
            "{step:?}"
        );
    }
}

/// Runs a program on random images, compared with its network layer by layer. Also the seconds of the run, and what the
/// client decrypts.
fn inspected(
    prepared: &Prepared,
    network: IntNetwork,
    mut rng: ChaCha20Rng,
) -> (Inspector<Integers>, f64, Decrypted) {
    let client = Client::generate_from(prepared, &mut rng);
    let keys = client.evaluation_keys().unwrap();
    let values: usize = network.input.shape.iter().product();
    let range = network.input.min..=network.input.max;
    let mut value = |_| rng.random_range(range.clone());
    let mut image = |_| (0..values).map(&mut value).collect();
    let images: Vec<Vec<i64>> = (0..prepared.program().batch).map(&mut image).collect();
    let evaluator = Evaluator::new(&network).unwrap();
    let mut found = Inspector::new(&client, prepared, Integers { network, evaluator });
    found.begin(&images).unwrap();
    let input = client.encrypt(&images).unwrap();
    let observe = |event: palladion_runtime::Event<'_>| {
        found.observe(&event).unwrap();
        true
    };
    let (output, report) = Server::new(prepared, &keys).run(&input, observe).unwrap();
    let decrypted = client.decrypt(&output, &input).unwrap();
    found.end(&decrypted).unwrap();
    (found, report.seconds, decrypted)
}

/// Checks that mean and variance are within six deviations of the prediction. The deviations follow
/// from the number of accumulators and from the key's norm. The predicted variance is that of one
/// rounding for each sample of a sum.
fn check_noise(prepared: &Prepared, layer: &LayerFindings) {
    let steps = prepared.program().steps.iter();
    let packed = steps
        .filter(|s| s.layer == layer.name)
        .filter_map(|s| packed(prepared.params(), &s.op))
        .flat_map(|(_, values)| values.into_owned());
    // A factor of a product is at all places that use it, as the same sum.
    let counts: BTreeMap<_, _> = packed.map(|v| ((v.1, v.2), v.3.len() as f64)).collect();
    let counts: Vec<f64> = counts.into_values().collect();
    let n = layer.noise.count as f64;
    assert_eq!(counts.len() as f64, n);
    let params = prepared.params();
    let predicted = params.rounding_sigma() * (counts.iter().sum::<f64>() / n).sqrt();
    let told = prepared.sigmas();
    let told = told.iter().find(|(name, _)| *name == layer.name).unwrap().1;
    assert!(
        (told / predicted - 1.0).abs() < 1e-9,
        "{told}, counted {predicted}"
    );
    let (sigma, mean) = (layer.noise.sigma(), layer.noise.mean());
    println!(
        "{}: noise {sigma:.2}, predicted {predicted:.2}, mean {mean:.2}",
        layer.name
    );
    assert!(mean.abs() < 6.0 * predicted / n.sqrt());
    // Gaussians with variances c. The sum of their fourth moments is 3 sum c^2.
    let squares = counts.iter().map(|c| c * c).sum::<f64>();
    let sums = 2.0 * squares / counts.iter().sum::<f64>().powi(2);
    let key = 1.0 / (2.0 * params.dimension() as f64);
    let ratio = (sigma / predicted).powi(2);
    assert!(
        (ratio - 1.0).abs() < 6.0 * (sums + key).sqrt(),
        "{ratio:.3}"
    );
}
