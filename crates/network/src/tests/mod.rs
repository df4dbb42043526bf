//! Tests of the whole crate: against naive definitions, and on wrong files.

mod batch;
mod evaluation;
mod files;
mod naive;
mod refusals;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::*;

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn numbers(rng: &mut impl Rng, len: usize) -> Vec<i64> {
    (0..len).map(|_| rng.random_range(-3..=3)).collect()
}

fn image(network: &IntNetwork, seed: u64) -> Vec<i64> {
    let Input { min, max, .. } = network.input;
    let mut rng = rng(seed);
    (0..network.input.values())
        .map(|_| rng.random_range(min..=max))
        .collect()
}

fn input(shape: Shape) -> Input {
    Input {
        shape,
        min: -7,
        max: 9,
        scale: 0.125,
        mean: vec![0.5; shape[0]],
        std: vec![0.25; shape[0]],
    }
}

/// A random map between sources and results of given shapes. The padding is chosen to fit any
/// stride, dilation and kernel.
fn linear(rng: &mut impl Rng, source: Shape, target: Shape) -> Linear {
    if target[1..] == [1, 1] && rng.random_bool(0.3) {
        let (inputs, outputs) = (source.iter().product(), target[0]);
        return Linear::Dense(Dense {
            inputs,
            outputs,
            weights: numbers(rng, inputs * outputs),
        });
    }
    let mut pick = || [0, 1].map(|_| rng.random_range(1..=3));
    let (kernel, stride, dilation) = (pick(), pick(), pick());
    let mut pads = [0; 4];
    for axis in [0, 1] {
        let span = dilation[axis] * (kernel[axis] - 1) + 1;
        let left_over = rng.random_range(0..stride[axis]);
        let padded = (target[axis + 1] - 1) * stride[axis] + span + left_over;
        pads[axis] = rng.random_range(-2..=2);
        pads[axis + 2] = padded as i64 - source[axis + 1] as i64 - pads[axis];
    }
    let (channels, kernels) = (source[0], target[0]);
    if channels <= kernels && rng.random_bool(0.4) {
        return Linear::Window(Window {
            kernel,
            stride,
            dilation,
            pads,
            weights: numbers(rng, kernel[0] * kernel[1]),
            first: rng.random_range(0..=kernels - channels),
            channels: kernels,
        });
    }
    let divides = |g: &usize| channels % g == 0 && kernels % g == 0;
    let divisors: Vec<usize> = (1..=channels).filter(divides).collect();
    let groups = divisors[rng.random_range(0..divisors.len())];
    Linear::Conv(Conv {
        kernels,
        channels,
        groups,
        kernel,
        stride,
        dilation,
        pads,
        weights: numbers(rng, kernels * channels / groups * kernel[0] * kernel[1]),
    })
}

/// A product of the last layer's output with an earlier output that fits, and its shape.
fn product(rng: &mut impl Rng, shapes: &[Shape]) -> (Product, Shape) {
    let last = shapes.len() - 1;
    let fits = |right: &usize| {
        let sides = shapes[last].iter().zip(shapes[*right]);
        sides.fold(true, |fits, (&l, r)| fits && (r == l || r == 1))
    };
    let fitting: Vec<usize> = (1..=last).filter(fits).collect();
    let right = fitting[rng.random_range(0..fitting.len())];
    let product = Product {
        left: last.into(),
        right: right.into(),
    };
    (product, shapes[last])
}

fn layer(rng: &mut impl Rng, index: usize, terms: Vec<Term>, channels: usize) -> Layer {
    let bound = 30 + index as i64;
    let salt = rng.random_range(3..9);
    Layer {
        name: format!("layer{index}"),
        terms,
        product: None,
        bias: numbers(rng, channels),
        bound,
        lut: Some(Lut::new(bound, |a| (a / salt).rem_euclid(9) - 3)),
        scale: 0.5,
    }
}

/// A small random graph with odd shapes. Every layer reads the layer before it and up to two
/// others.
fn graph(seed: u64) -> IntNetwork {
    let mut rng = rng(seed);
    let mut shapes: Vec<Shape> = vec![[0; 3].map(|_| rng.random_range(1..=6))];
    let mut layers: Vec<Layer> = Vec::new();
    let count = rng.random_range(1..=5);
    for index in 0..count {
        let flat = index + 1 == count || rng.random_bool(0.2);
        let sides = if flat { 1..=1 } else { 1..=5 };
        let target = [
            rng.random_range(1..=6),
            rng.random_range(sides.clone()),
            rng.random_range(sides),
        ];
        let product = (index > 0 && rng.random_bool(0.3)).then(|| product(&mut rng, &shapes));
        let (product, target) = product.map_or((None, target), |(p, shape)| (Some(p), shape));
        let mut sources = if product.is_some() {
            vec![]
        } else {
            vec![index]
        };
        sources.extend((0..rng.random_range(0..=2)).map(|_| rng.random_range(0..=index)));
        let terms = sources.into_iter().map(|source| Term {
            source: source.into(),
            linear: linear(&mut rng, shapes[source], target),
        });
        let terms = terms.collect();
        let layer = layer(&mut rng, index, terms, target[0]);
        layers.push(Layer { product, ..layer });
        shapes.push(target);
    }
    layers.last_mut().expect("at least one").lut = None;
    IntNetwork {
        name: "graph".into(),
        input: input(shapes[0]),
        interface: None,
        layers,
    }
}

/// A fixed graph: a convolution, a residual block whose shortcut subsamples, a dense layer.
fn residual() -> IntNetwork {
    let mut rng = rng(1);
    let (unit, zeros) = ([1, 1], [0; 4]);
    let mut conv = |channels, kernels: usize, stride| {
        Linear::Conv(Conv {
            kernels,
            channels,
            groups: 1,
            kernel: [3, 3],
            stride,
            dilation: unit,
            pads: [1; 4],
            weights: numbers(&mut rng, kernels * channels * 9),
        })
    };
    let (first, second) = (conv(2, 3, [1, 1]), conv(3, 5, [2, 2]));
    let shortcut = Linear::Window(Window {
        kernel: unit,
        stride: [2, 2],
        dilation: unit,
        pads: zeros,
        weights: vec![2],
        first: 1,
        channels: 5,
    });
    let dense = Linear::Dense(Dense {
        inputs: 5 * 4 * 3,
        outputs: 4,
        weights: numbers(&mut rng, 4 * 60),
    });
    let term = |source: usize, linear| Term {
        source: source.into(),
        linear,
    };
    let terms = [
        (vec![term(0, first)], 3),
        (vec![term(1, second), term(1, shortcut)], 5),
        (vec![term(2, dense)], 4),
    ];
    let layers = terms.into_iter().enumerate();
    let mut layers: Vec<Layer> = layers
        .map(|(index, (terms, channels))| layer(&mut rng, index, terms, channels))
        .collect();
    layers[2].lut = None;
    IntNetwork {
        name: "residual".into(),
        input: input([2, 7, 6]),
        interface: None,
        layers,
    }
}
