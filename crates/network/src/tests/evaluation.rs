//! Single images.

use proptest::prelude::*;
use rand::Rng;

use super::{graph, image, naive, residual, rng};
use crate::noise::rounded_gaussian;
use crate::*;

proptest! {
    /// Odd shapes, groups, dilation, negative and asymmetric padding, several terms.
    #[test]
    fn graphs_follow_the_definition(seed: u64) {
        let network = graph(seed);
        let image = image(&network, seed);
        let shapes = network.shapes().unwrap();
        let trace = Evaluator::new(&network).unwrap().evaluate(&image).unwrap();
        let expected = naive::evaluate(&network, &image);
        prop_assert_eq!(trace.layers.len(), expected.len());
        for (index, (found, (sums, outputs))) in trace.layers.iter().zip(&expected).enumerate() {
            prop_assert_eq!(&found.accumulators, sums, "layer {}", index);
            prop_assert_eq!(&found.outputs, outputs, "layer {}", index);
            prop_assert_eq!(shapes[index].iter().product::<usize>(), sums.len());
        }
        prop_assert_eq!(&trace.logits, &expected.last().unwrap().1);
    }

    /// Continuing from the accumulators of any layer gives the rest of the trace.
    #[test]
    fn a_trace_can_be_continued_from_any_layer(seed: u64, at: prop::sample::Index) {
        let network = graph(seed);
        let exact = Evaluator::new(&network).unwrap();
        let image = image(&network, seed);
        let trace = exact.evaluate(&image).unwrap();
        let from = at.index(network.layers.len());
        let mut before = vec![image.as_slice()];
        before.extend(trace.layers[..from].iter().map(|l| l.outputs.as_slice()));
        let rest = exact.evaluate_from(&before, &trace.layers[from].accumulators).unwrap();
        prop_assert_eq!(&rest.layers, &trace.layers[from..]);
        prop_assert_eq!(&rest.logits, &trace.logits);
        prop_assert_eq!(rest.predicted, trace.predicted);
        // A layer on its own gives the same as in the trace.
        let terms = network.layers[from].sources().map(|source| before[usize::from(source)]);
        let sums = exact.accumulate(from, &terms.collect::<Vec<_>>()).unwrap();
        prop_assert_eq!(&sums, &trace.layers[from].accumulators);
        prop_assert_eq!(network.layers[from].activate(&sums), trace.layers[from].outputs.clone());
    }

    /// No input in range goes beyond the worst case.
    #[test]
    fn the_worst_case_is_never_passed(seed: u64) {
        let network = graph(seed);
        let trace = Evaluator::new(&network).unwrap().evaluate(&image(&network, seed)).unwrap();
        for (worst, layer) in network.worst_cases().unwrap().into_iter().zip(trace.layers) {
            prop_assert!(layer.accumulators.iter().all(|a| a.abs() <= worst));
        }
    }

    /// Sums beyond 32 bits are as exact as smaller ones.
    #[test]
    fn products_of_any_size_are_exact(seed: u64, size in 1i64..=32_767) {
        let mut rng = rng(seed);
        let mut numbers = |len| (0..len).map(|_| rng.random_range(size - 1..=size)).collect::<Vec<i64>>();
        let network = single(Dense { inputs: 99, outputs: 1, weights: numbers(99) });
        let values = numbers(99);
        let expected: i64 = network.layers[0].terms[0].linear.weights().iter().zip(&values).map(|(a, b)| a * b).sum();
        let exact = Evaluator::new(&network).unwrap();
        prop_assert_eq!(exact.accumulate(0, &[&values]).unwrap(), [expected]);
    }
}

/// A network of one dense layer, without bias.
fn single(dense: Dense) -> IntNetwork {
    let mut network = residual();
    network.input.shape = [dense.inputs, 1, 1];
    network.input.mean.clear();
    network.input.std.clear();
    network.layers.truncate(1);
    network.layers[0].lut = None;
    network.layers[0].bias = vec![0; dense.outputs];
    network.layers[0].terms[0].linear = Linear::Dense(dense);
    network
}

#[test]
fn the_worst_case_is_attained() {
    let weights = vec![1, -2, 3];
    let (inputs, outputs) = (3, 1);
    let mut network = single(Dense {
        inputs,
        outputs,
        weights,
    });
    network.layers[0].bias = vec![-5];
    // -7 - 2 * 9 - 3 * 7 - 5
    assert_eq!(network.worst_cases().unwrap(), [51]);
    let exact = Evaluator::new(&network).unwrap();
    assert_eq!(exact.evaluate(&[-7, 9, -7]).unwrap().logits, [-51]);
}

#[test]
fn real_numbers_become_integers_by_the_rule() {
    let mut input = Input {
        shape: [2, 1, 2],
        min: -3,
        max: 100,
        scale: 0.25,
        mean: vec![0.5, 3.0],
        std: vec![2.0, -0.5],
    };
    // (x - 0.5) / 2 / 0.25 in the first channel, (x - 3) / -0.5 / 0.25 in the second.
    let expected = [-1, 1, -3, 0, -1, 5, 2, 100];
    let found = input.integers(&[0.0, 1.0, 3.4, 3.0, 0.1, 3.0, 2.75, -255.0]);
    assert_eq!(found.unwrap(), expected);
    // Halves to even: 1/2, 3/2, 5/2.
    (input.mean, input.std, input.scale) = (vec![], vec![], 2.0);
    let halves = input.integers(&[1.0, 3.0, 5.0, 255.0]).unwrap();
    assert_eq!(halves, [0, 2, 2, 100]);
    assert_eq!(
        input.integers(&[0.0; 9]).unwrap_err().to_string(),
        "input: the last image has 1 entries, expected 4"
    );
    assert_eq!(
        input
            .integers(&[0.0, f64::NAN, 0.0, 0.0])
            .unwrap_err()
            .to_string(),
        "input: a number is NaN, expected a finite number"
    );
}

#[test]
fn beyond_its_ends_a_table_holds_its_end_values() {
    let lut = Lut::new(2, |a| a / 2);
    assert_eq!(lut.starts, [-2, -1, 2]);
    let found = [i64::MIN, -3, -2, -1, 1, 2, 3, i64::MAX].map(|a| lut.apply(a));
    assert_eq!(found, [-1, -1, -1, 0, 0, 1, 1, 1]);
    assert_eq!(lut.range(), [-1, 1]);
}

#[test]
fn the_first_of_equal_logits_wins_and_the_margin_is_zero() {
    let network = residual();
    let exact = Evaluator::new(&network).unwrap();
    let image = image(&network, 1);
    let trace = exact.evaluate(&image).unwrap();
    let before = [&image, &trace.layers[0].outputs, &trace.layers[1].outputs];
    let before = before.map(Vec::as_slice);
    let trace = exact.evaluate_from(&before, &[3, 8, 8, -1]).unwrap();
    assert_eq!((trace.predicted, trace.margin()), (1, 0));
    let trace = exact.evaluate_from(&before, &[3, 8, 1, -1]).unwrap();
    assert_eq!((trace.predicted, trace.margin()), (1, 5));
}

#[test]
fn without_noise_the_noisy_evaluation_is_exact() {
    let network = residual();
    let exact = Evaluator::new(&network).unwrap();
    let image = image(&network, 6);
    let noise = NoiseModel::uniform(&network, 0.0);
    let noisy = exact.evaluate_noisy(&image, &noise, &mut rng(7));
    assert_eq!(noisy, exact.evaluate(&image));
}

#[test]
fn noise_enters_every_layer_but_the_last() {
    let network = residual();
    let exact = Evaluator::new(&network).unwrap();
    let image = image(&network, 6);
    let noise = NoiseModel::uniform(&network, 50.0);
    let noisy = exact.evaluate_noisy(&image, &noise, &mut rng(7)).unwrap();
    let mut values = vec![image.as_slice()];
    for (index, (layer, found)) in network.layers.iter().zip(&noisy.layers).enumerate() {
        let inputs = layer.sources().map(|source| values[usize::from(source)]);
        let sums = exact
            .accumulate(index, &inputs.collect::<Vec<_>>())
            .unwrap();
        assert_eq!(
            sums == found.accumulators,
            layer.lut.is_none(),
            "layer {index}"
        );
        values.push(&found.outputs);
    }
}

/// A sample variance of `n` normal values has relative deviation sqrt(2 / n); six of them fail
/// by chance less than once in 10^8 seeds. Rounding adds the variance 1/12.
#[test]
fn the_noise_has_its_deviation() {
    const N: usize = 1 << 16;
    for sigma in [0.8f64, 3.3, 10.7] {
        let mut rng = rng(8);
        let sample = (0..N).map(|_| rounded_gaussian(sigma, &mut rng) as f64);
        let sample: Vec<f64> = sample.collect();
        let variance = sigma * sigma + 1.0 / 12.0;
        let ratio = sample.iter().map(|x| x * x).sum::<f64>() / N as f64 / variance;
        let tolerance = 6.0 * (2.0 / N as f64).sqrt();
        assert!((ratio - 1.0).abs() < tolerance, "sigma {sigma}: {ratio:.4}");
        let mean = sample.iter().sum::<f64>() / N as f64;
        assert!(
            mean.abs() < 6.0 * (variance / N as f64).sqrt(),
            "sigma {sigma}: mean {mean}"
        );
    }
}
