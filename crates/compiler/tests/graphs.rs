//! Does every network compile to a program that computes its exact integers? Programs run in the
//! clear, layer by layer.
//!
//! Before encryption only these can be wrong: where values lie, what kernels read, and which
//! samples are added up. None of it depends on noise. So programs run here on messages modulo `t`,
//! without keys.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::Clear;
use network::{
    Conv, Dense, Evaluator, Input, IntNetwork, Layer, Linear, Lut, Product, Shape, Sliding, Term,
    Trace, Window,
};
use palladion_compiler::{Options, compile};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

type Random = ChaCha8Rng;

/// Bound while the network is generated. Afterwards it is replaced by the largest accumulator.
const ANY: i64 = 32_767;

fn one_of<T: Copy>(rng: &mut Random, choices: &[T]) -> T {
    choices[rng.random_range(0..choices.len())]
}

fn weights(rng: &mut Random, count: usize) -> Vec<i64> {
    (0..count).map(|_| rng.random_range(-1..=1)).collect()
}

/// Windows that map `from` rows and columns to `to`, with the pads that this needs. The pads
/// differ, and are negative where windows do not reach the end.
fn sliding(rng: &mut Random, from: [usize; 2], to: [usize; 2]) -> Sliding {
    let kernels = [[1, 1], [3, 3], [3, 3], [5, 5], [1, 3], [3, 2], [2, 2]];
    let mut windows = Sliding {
        kernel: one_of(rng, &kernels),
        stride: one_of(rng, &[[1, 1], [1, 1], [2, 2], [3, 3], [1, 2]]),
        dilation: one_of(rng, &[[1, 1], [1, 1], [1, 1], [2, 2], [2, 1]]),
        pads: [0; 4],
    };
    for axis in [0, 1] {
        let (step, span) = (windows.stride[axis], windows.span()[axis]);
        let covered = (to[axis] - 1) * step + span + rng.random_range(0..step);
        let pads = covered as i64 - from[axis] as i64;
        let before = pads / 2 + rng.random_range(-1..=1);
        windows.pads[axis] = before;
        windows.pads[axis + 2] = pads - before;
    }
    windows
}

fn conv(rng: &mut Random, from: Shape, to: Shape) -> Linear {
    let common = (1..=from[0]).filter(|g| from[0].is_multiple_of(*g) && to[0].is_multiple_of(*g));
    let common: Vec<usize> = common.collect();
    let groups = one_of(rng, &common);
    let windows = sliding(rng, [from[1], from[2]], [to[1], to[2]]);
    let [h, w] = windows.kernel;
    Linear::Conv(Conv {
        kernels: to[0],
        channels: from[0],
        groups,
        kernel: windows.kernel,
        stride: windows.stride,
        dilation: windows.dilation,
        pads: windows.pads,
        weights: weights(rng, to[0] * from[0] / groups * h * w),
    })
}

fn window(rng: &mut Random, from: Shape, to: Shape) -> Linear {
    let windows = match rng.random_range(0..3) {
        // A branch that is only added.
        0 if from[1..] == to[1..] => Sliding {
            kernel: [1, 1],
            stride: [1, 1],
            dilation: [1, 1],
            pads: [0; 4],
        },
        _ => sliding(rng, [from[1], from[2]], [to[1], to[2]]),
    };
    let count = windows.kernel.iter().product();
    let weights = match rng.random() {
        true => vec![1; count], // a sum, as averages take it
        false => weights(rng, count),
    };
    Linear::Window(Window {
        kernel: windows.kernel,
        stride: windows.stride,
        dilation: windows.dilation,
        pads: windows.pads,
        weights,
        first: rng.random_range(0..=to[0] - from[0]),
        channels: to[0],
    })
}

fn dense(rng: &mut Random, from: Shape, outputs: usize) -> Linear {
    let inputs = from.iter().product();
    Linear::Dense(Dense {
        inputs,
        outputs,
        weights: weights(rng, inputs * outputs),
    })
}

fn map(rng: &mut Random, from: Shape, to: Shape) -> Linear {
    match rng.random_range(0..4) {
        0 | 1 if from[0] <= to[0] => window(rng, from, to),
        2 if to[1..] == [1, 1] => dense(rng, from, to[0]),
        _ => conv(rng, from, to),
    }
}

/// A product of the last layer so far with a layer that fits it.
fn product(rng: &mut Random, shapes: &[Shape]) -> Product {
    let last = shapes.len() - 1;
    let fits = |right: &usize| {
        let mut sides = shapes[last].iter().zip(shapes[*right]);
        sides.all(|(&l, r)| r == l || r == 1)
    };
    let right: Vec<usize> = (1..=last).filter(fits).collect();
    Product {
        left: last.into(),
        right: one_of(rng, &right).into(),
    }
}

/// A table of values from -3 to 3. Its value at 0 is seldom 0.
fn table(rng: &mut Random, bound: i64) -> (Lut, [i64; 3]) {
    let how = [
        rng.random_range(1..4),
        rng.random_range(0..7),
        rng.random_range(2..8),
    ];
    (remade(bound, how), how)
}

fn remade(bound: i64, [width, shift, count]: [i64; 3]) -> Lut {
    Lut::new(bound, |x| {
        (x.div_euclid(width) + shift).rem_euclid(count) - 3
    })
}

/// A network of two to five layers. Each reads the layer before it, and perhaps others.
fn network(rng: &mut Random, name: String, images: usize) -> (IntNetwork, Vec<Vec<i64>>) {
    let mut side = || rng.random_range(1..=9);
    let (height, width) = (side(), side());
    let min = rng.random_range(-3..=0);
    let input = Input {
        shape: [rng.random_range(1..=4), height, width],
        min,
        max: min + rng.random_range(1..=5),
        scale: 1.0,
        mean: vec![],
        std: vec![],
    };
    let mut shapes = vec![input.shape];
    let mut layers: Vec<Layer> = Vec::new();
    let mut tables = Vec::new();
    let count = rng.random_range(2..=5);
    for index in 0..count {
        let last = index + 1 == count;
        let from = shapes[index];
        let smaller = |rng: &mut Random, side: usize| match rng.random_range(0..3) {
            0 => side,
            1 => side.div_ceil(2),
            _ => rng.random_range(1..=side + 1),
        };
        let to = match last {
            true if rng.random() => [rng.random_range(1..=5), 1, 1],
            _ => [
                rng.random_range(1..=7),
                smaller(rng, from[1]),
                smaller(rng, from[2]),
            ],
        };
        let to = match rng.random_range(0..3) {
            0 if !last => [from[0].max(to[0]), from[1], from[2]],
            _ => to,
        };
        let product = match rng.random_range(0..4) {
            0 if index > 0 => Some(product(rng, &shapes)),
            _ => None,
        };
        let to = if product.is_some() { from } else { to };
        let mut terms = Vec::new();
        if product.is_none() {
            terms.push(Term {
                source: index.into(),
                linear: map(rng, from, to),
            });
        }
        while rng.random_range(0..5) < 2 {
            let source = rng.random_range(0..=index);
            terms.push(Term {
                source: source.into(),
                linear: map(rng, shapes[source], to),
            });
        }
        let lut = (!last).then(|| {
            let (lut, how) = table(rng, ANY);
            tables.push(how);
            lut
        });
        layers.push(Layer {
            name: format!("layer {index}"),
            terms,
            product,
            bias: (0..to[0]).map(|_| rng.random_range(-4..=4)).collect(),
            bound: ANY,
            lut,
            scale: 1.0,
        });
        shapes.push(to);
    }
    let pixels = |rng: &mut Random| {
        let values = 0..input.values();
        values
            .map(|_| rng.random_range(input.min..=input.max))
            .collect()
    };
    let images: Vec<Vec<i64>> = (0..images).map(|_| pixels(rng)).collect();
    let mut network = IntNetwork {
        name,
        input,
        interface: None,
        layers,
    };
    // Tables are as narrow as the images allow. Their polynomials are short and fail outside that
    // range. All have one size, so that the compiler need not plan each separately.
    let traces = exact(&network, &images);
    let layers = traces.iter().flat_map(|t| &t.layers[..count - 1]);
    let accumulators = layers.flat_map(|layer| &layer.accumulators);
    let bound = accumulators.map(|a| a.abs()).max().unwrap().max(1);
    for (layer, &how) in network.layers.iter_mut().zip(&tables) {
        (layer.bound, layer.lut) = (bound, Some(remade(bound, how)));
    }
    (network, images)
}

fn exact(network: &IntNetwork, images: &[Vec<i64>]) -> Vec<Trace> {
    let evaluator = Evaluator::new(network).unwrap();
    images
        .iter()
        .map(|x| evaluator.evaluate(x).unwrap())
        .collect()
}

/// Compiles, runs in the clear, and counts the operations.
fn check(network: &IntNetwork, images: &[Vec<i64>]) -> BTreeMap<&'static str, usize> {
    let batch = images.len();
    let program = match compile(network, Options::of_batch(batch)) {
        Ok(program) => program,
        Err(error) => panic!("{error}: {}", network.to_json()),
    };
    let parts = Clear::check(&program, network, images, &exact(network, images));
    let mut ops = BTreeMap::from([("parts of one result", parts)]);
    for step in &program.steps {
        *ops.entry(step.op.name()).or_default() += 1;
    }
    ops
}

#[test]
fn made_up_networks_run_as_they_evaluate() {
    let mut ops: BTreeMap<&str, usize> = BTreeMap::new();
    let count = std::env::var("GRAPHS").map_or(12, |count| count.parse().unwrap());
    let first = std::env::var("GRAPHS_FROM").map_or(0, |first| first.parse().unwrap());
    for seed in first..first + count {
        let mut rng = Random::seed_from_u64(seed);
        let batch = rng.random_range(1..=5);
        let (network, images) = network(&mut rng, format!("seed {seed}"), batch);
        let shapes = network.shapes().unwrap();
        println!(
            "seed {seed}: batch {batch}, {:?}, {shapes:?}",
            network.input.shape
        );
        let started = std::time::Instant::now();
        for (op, count) in check(&network, &images) {
            *ops.entry(op).or_default() += count;
        }
        println!("  {:.2} s", started.elapsed().as_secs_f64());
    }
    println!("{ops:?}");
    // Some results are sums of parts: terms of the last layer read values in different places.
    assert!(count < 12 || ops["parts of one result"] > count as usize);
}

/// A convolution from 2 channels to 2 kernels on rows and columns of 8, and a dense layer on its
/// output.
fn plain() -> IntNetwork {
    let layer = |name: &str, linear, channels: i64| Layer {
        name: name.into(),
        terms: vec![Term {
            source: usize::from(name != "first").into(),
            linear,
        }],
        product: None,
        bias: (1..=channels).collect(),
        bound: 250,
        lut: (name == "first").then(|| Lut::new(250, |x| x.rem_euclid(8) - 2)),
        scale: 1.0,
    };
    let conv = Conv {
        kernels: 2,
        channels: 2,
        groups: 1,
        kernel: [3, 3],
        stride: [2, 2],
        dilation: [1, 1],
        pads: [0; 4],
        weights: (0..36).map(|i| i * 5 % 7 - 3).collect(),
    };
    let mut rng = Random::seed_from_u64(1);
    IntNetwork {
        name: "plain".into(),
        input: Input {
            shape: [2, 8, 8],
            min: -2,
            max: 3,
            scale: 1.0,
            mean: vec![],
            std: vec![],
        },
        interface: None,
        layers: vec![
            layer("first", Linear::Conv(conv), 2),
            layer("last", dense(&mut rng, [2, 3, 3], 3), 3),
        ],
    }
}

fn first(network: &mut IntNetwork) -> &mut Conv {
    match &mut network.layers[0].terms[0].linear {
        Linear::Conv(conv) => conv,
        _ => panic!("the first layer is a convolution"),
    }
}

fn windows(first: usize, channels: usize) -> Linear {
    Linear::Window(Window {
        kernel: [1, 1],
        stride: [2, 2],
        dilation: [1, 1],
        pads: [0, 0, -1, -1],
        weights: vec![2],
        first,
        channels,
    })
}

/// Adapts the last layer to the output of the first.
fn refit(network: &mut IntNetwork) {
    let last = network.layers.pop().unwrap();
    let mut whole = network.clone();
    whole.layers[0].lut = None;
    let shape = whole.shapes().unwrap()[0];
    let linear = dense(&mut Random::seed_from_u64(2), shape, 3);
    let terms = vec![Term {
        source: 1.into(),
        linear,
    }];
    network.layers.push(Layer { terms, ..last });
}

#[test]
fn what_linear_layers_can_be_runs_as_it_evaluates() {
    type Change = fn(&mut IntNetwork);
    let table: [(&str, Change); 11] = [
        ("as it is", |_| {}),
        ("two terms alike", |n| {
            n.layers[0].terms = vec![n.layers[0].terms[0].clone(); 2]
        }),
        ("padding", |n| first(n).pads = [1; 4]),
        ("one-sided and negative padding", |n| {
            first(n).pads = [0, 1, 0, -1]
        }),
        ("windows wholly in the padding", |n| {
            first(n).pads = [4, 0, 5, 3]
        }),
        ("groups", |n| {
            first(n).groups = 2;
            first(n).weights.truncate(18);
        }),
        ("dilation", |n| {
            (first(n).dilation, first(n).pads) = ([3, 2], [1, 1, 0, 0])
        }),
        // Outputs at the end of a row have the coefficients of those of the next row.
        ("rows as long as their outputs", |n| {
            let pads = [1, 1, 1, 2];
            (first(n).kernel, first(n).stride, first(n).pads) = ([1, 1], [1, 2], pads);
            first(n).weights.truncate(4);
        }),
        // The same for channels, whose biases differ.
        ("channels as long as their outputs", |n| {
            let mut all = windows(0, 2);
            if let Linear::Window(window) = &mut all {
                (window.stride, window.pads) = ([1, 1], [1; 4]);
            }
            n.layers[0].terms[0].linear = all;
        }),
        // Channels 0 and 1 come from one term, 2 and 3 from another, and 4 from none.
        ("windows that share out the channels", |n| {
            n.layers[0].terms[0].linear = windows(0, 5);
            n.layers[0].terms.push(Term {
                source: 0.into(),
                linear: windows(2, 5),
            });
            n.layers[0].bias = vec![1, 2, 3, 4, 5];
        }),
        // No term gives channels 0, 3 and 4. They are the bias alone.
        ("windows that leave channels out", |n| {
            n.layers[0].terms[0].linear = windows(1, 5);
            n.layers[0].bias = vec![1, 2, 3, 4, 0];
        }),
    ];
    for (name, change) in table {
        println!("{name}");
        let mut network = plain();
        change(&mut network);
        refit(&mut network);
        let mut rng = Random::seed_from_u64(3);
        let image = |_| (0..128).map(|_| rng.random_range(-2..=3)).collect();
        let images: Vec<Vec<i64>> = (0..3).map(image).collect();
        for trace in exact(&network, &images) {
            assert!(trace.layers[0].accumulators.iter().all(|a| a.abs() <= 250));
        }
        check(&network, &images);
    }
}

/// Strips of several values share ciphertexts, which hold 16, 6, 3, 1 of them.
#[test]
fn interleaved_images_run_as_they_evaluate() {
    let mut found = BTreeMap::new();
    for (seed, batch) in [(1, 2048), (2, 5000), (3, 10_000), (4, 32_768)] {
        let mut rng = Random::seed_from_u64(seed);
        let mut network = |name: &str| network(&mut rng, name.into(), batch);
        let has_product = |network: &IntNetwork| network.layers.iter().any(|l| l.product.is_some());
        let (network, images) = std::iter::repeat_with(|| network("interleaved"))
            .find(|(network, _)| !has_product(network))
            .unwrap();
        println!("batch {batch}, {:?}", network.shapes().unwrap());
        let ops = check(&network, &images);
        assert!(ops["pack_all"] > 0 && !ops.contains_key("pack"));
        for (name, count) in ops {
            *found.entry(name).or_insert(0) += count;
        }
    }
    // Some strips come back alone.
    assert!(found["slots_to_coefficients"] > found["table"], "{found:?}");
}

#[test]
fn tensors_of_several_ciphertexts_run_as_they_evaluate() {
    let mut rng = Random::seed_from_u64(4);
    let map = |rng: &mut Random, channels: usize, groups: usize, stride: usize| {
        Linear::Conv(Conv {
            kernels: 4,
            channels,
            groups,
            kernel: [3, 3],
            stride: [stride; 2],
            dilation: [1, 1],
            pads: [1; 4],
            weights: weights(rng, 4 * channels / groups * 9),
        })
    };
    let branch = |channels: usize, first: usize, stride: usize| {
        Linear::Window(Window {
            kernel: [1, 1],
            stride: [stride; 2],
            dilation: [1, 1],
            pads: [0; 4],
            weights: vec![2],
            first,
            channels,
        })
    };
    let terms = [
        vec![(0, map(&mut rng, 5, 1, 1))],
        vec![(1, map(&mut rng, 4, 2, 1)), (1, branch(4, 0, 1))],
        vec![(2, branch(9, 0, 2)), (0, branch(9, 3, 2))],
        vec![(3, dense(&mut rng, [9, 45, 49], 3))],
    ];
    let layer = |(index, terms): (usize, Vec<(usize, Linear)>)| {
        let terms = terms.into_iter().map(|(source, linear)| Term {
            source: source.into(),
            linear,
        });
        Layer {
            name: format!("layer {index}"),
            terms: terms.collect(),
            product: None,
            bias: (0..[4, 4, 9, 3][index]).collect(),
            bound: 200,
            lut: (index < 3).then(|| Lut::new(200, |x| x.rem_euclid(4) - 1)),
            scale: 1.0,
        }
    };
    let network = IntNetwork {
        name: "large".into(),
        input: Input {
            shape: [5, 90, 97],
            min: -1,
            max: 2,
            scale: 1.0,
            mean: vec![],
            std: vec![],
        },
        interface: None,
        layers: terms.into_iter().enumerate().map(layer).collect(),
    };
    let image = |_| (0..5 * 90 * 97).map(|_| rng.random_range(-1..=2)).collect();
    let images: Vec<Vec<i64>> = (0..2).map(image).collect();
    for trace in exact(&network, &images) {
        let mut entered = trace.layers[..3].iter().flat_map(|l| &l.accumulators);
        assert!(entered.all(|a| a.abs() <= 200));
    }
    let ops = check(&network, &images);
    println!("{ops:?}");
    assert!(
        ops["input"] > 2 && ops["table"] > 6,
        "images in several parts"
    );
}

/// Gates of whole channels and of all channels alike, and a square. Maps read both factors too, and
/// the last layer is a product.
#[test]
fn products_run_as_they_evaluate() {
    let mut rng = Random::seed_from_u64(5);
    let whole = [3, 4, 5];
    for right in [[3, 1, 1], [1, 4, 5]] {
        let table = |bound| Some(Lut::new(bound, |x| x.rem_euclid(7) - 2));
        let layer = |name: &str,
                     terms: Vec<(usize, Linear)>,
                     product: Option<[usize; 2]>,
                     channels: i64| Layer {
            name: name.into(),
            terms: terms
                .into_iter()
                .map(|(source, linear)| Term {
                    source: source.into(),
                    linear,
                })
                .collect(),
            product: product.map(|factors| Product::from(factors.map(Into::into))),
            bias: (0..channels).collect(),
            bound: 120,
            lut: table(120),
            scale: 1.0,
        };
        let all = |rng: &mut Random, to: Shape| {
            let kernel = [whole[1] - to[1] + 1, whole[2] - to[2] + 1];
            Linear::Conv(Conv {
                kernels: to[0],
                channels: 3,
                groups: 1,
                kernel,
                stride: [1, 1],
                dilation: [1, 1],
                pads: [0; 4],
                weights: weights(rng, to[0] * 3 * kernel[0] * kernel[1]),
            })
        };
        let mut network = IntNetwork {
            name: "products".into(),
            input: Input {
                shape: whole,
                min: -2,
                max: 3,
                scale: 1.0,
                mean: vec![],
                std: vec![],
            },
            interface: None,
            layers: vec![
                layer("value", vec![(0, all(&mut rng, whole))], None, 3),
                layer(
                    "gate",
                    vec![(1, all(&mut rng, right))],
                    None,
                    right[0] as i64,
                ),
                layer("gated", vec![(0, all(&mut rng, whole))], Some([1, 2]), 3),
                layer(
                    "mixed",
                    vec![(1, all(&mut rng, whole)), (3, all(&mut rng, whole))],
                    None,
                    3,
                ),
                layer("gated again", vec![], Some([4, 2]), 3),
                layer("square", vec![], Some([5, 5]), 3),
            ],
        };
        network.layers[5].lut = None;
        let image = |_| (0..60).map(|_| rng.random_range(-2..=3)).collect();
        let images: Vec<Vec<i64>> = (0..2).map(image).collect();
        for trace in exact(&network, &images) {
            let mut all = trace.layers.iter().flat_map(|l| &l.accumulators);
            assert!(all.all(|a| a.abs() <= 120));
        }
        let ops = check(&network, &images);
        println!("{right:?}: {ops:?}");
        assert_eq!(ops["product"], 3);
    }
}

/// A dense layer alone, with random weights and biases.
fn rows(inputs: usize, outputs: usize) -> IntNetwork {
    let mut rng = Random::seed_from_u64(3);
    let layer = Layer {
        name: "rows".into(),
        terms: vec![Term {
            source: network::Source::Input,
            linear: dense(&mut rng, [inputs, 1, 1], outputs),
        }],
        product: None,
        bias: (0..outputs as i64).map(|o| o % 5 - 2).collect(),
        bound: 30_000,
        lut: None,
        scale: 1.0,
    };
    IntNetwork {
        name: "rows".into(),
        input: Input {
            shape: [inputs, 1, 1],
            min: -7,
            max: 7,
            scale: 1.0,
            mean: vec![],
            std: vec![],
        },
        interface: None,
        layers: vec![layer],
    }
}

/// Outputs that fill a small part of many ciphertexts come together. Those that fit in one stay.
#[test]
fn outputs_that_are_far_apart_are_merged() {
    // Inputs, outputs, batch, and the numbers of ciphertexts in the answer.
    let cases = [
        (128, 256, 1, 1),
        (128, 3000, 1, 1),
        (100, 5000, 1, 1),
        (8, 40_000, 1, 2),
        (64, 700, 2, 1),
        // Images lie at a distance that two divides, but not four.
        (64, 700, 3, 3),
        (4096, 30, 1, 1),
        (25, 1000, 1, 1),
    ];
    for (inputs, outputs, batch, ciphertexts) in cases {
        let network = rows(inputs, outputs);
        let mut rng = Random::seed_from_u64(4);
        let image = |_| (0..inputs).map(|_| rng.random_range(-7..=7)).collect();
        let images: Vec<Vec<i64>> = (0..batch).map(image).collect();
        let ops = check(&network, &images);
        println!("{inputs} x {outputs}, batch {batch}: {ops:?}");
        assert_eq!(ops["output"], ciphertexts, "{inputs} x {outputs}");
        assert_eq!(
            ops.contains_key("merge"),
            ops["mul_coefficients"] > ciphertexts
        );
    }
}
