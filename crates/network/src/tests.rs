//! Tests of the whole crate: against naive definitions, and on files that are wrong.

use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::noise::rounded_gaussian;
use crate::*;

/// Two convolutions and two dense layers, small enough for thousands of runs.
fn small(seed: u64) -> IntNetwork {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut conv = |channels, input: [usize; 2], kernel, stride, padding| {
        Linear::Conv(Conv {
            channels,
            kernels: 3,
            kernel,
            stride,
            padding,
            input,
            weights: weights(&mut rng, 3 * channels * kernel[0] * kernel[1]),
            bias: weights(&mut rng, 3),
        })
    };
    let first = conv(2, [7, 6], [3, 2], 2, 1); // 4x4
    let second = conv(3, [4, 4], [2, 2], 1, 0); // 3x3
    let mut dense = |inputs, outputs| {
        Linear::Dense(Dense {
            inputs,
            outputs,
            weights: weights(&mut rng, inputs * outputs),
            bias: weights(&mut rng, outputs),
        })
    };
    let linears = [first, second, dense(27, 5), dense(5, 4)];
    let last = linears.len() - 1;
    let layers = linears.into_iter().enumerate().map(|(index, linear)| {
        let bound = 40 + index as i64;
        Layer {
            name: format!("layer{index}"),
            linear,
            bound,
            lut: (index != last).then(|| Lut {
                values: (-bound..=bound).map(|a| a.max(0) * 7 / bound).collect(),
            }),
        }
    });
    IntNetwork {
        format: FORMAT.to_owned(),
        name: "small".to_owned(),
        input: Input {
            shape: [2, 7, 6],
            max: 7,
            scale: 0.125,
        },
        layers: layers.collect(),
    }
}

fn weights(rng: &mut impl Rng, len: usize) -> Vec<i64> {
    (0..len).map(|_| rng.random_range(-3..=3)).collect()
}

fn image(network: &IntNetwork, seed: u64) -> Vec<i64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..network.input_len())
        .map(|_| rng.random_range(0..=network.input.max))
        .collect()
}

/// The definition: pad with zeros, then sum every window.
fn naive_conv(conv: &Conv, input: &[i64]) -> Vec<i64> {
    let [h, w] = conv.input;
    let p = conv.padding;
    let mut padded = vec![vec![vec![0; w + 2 * p]; h + 2 * p]; conv.channels];
    for (c, plane) in padded.iter_mut().enumerate() {
        for y in 0..h {
            for x in 0..w {
                plane[y + p][x + p] = input[c * h * w + y * w + x];
            }
        }
    }
    let mut out = Vec::new();
    for k in 0..conv.kernels {
        for top in (0..=h + 2 * p - conv.kernel[0]).step_by(conv.stride) {
            for left in (0..=w + 2 * p - conv.kernel[1]).step_by(conv.stride) {
                let mut sum = conv.bias[k];
                let mut weights = conv.weights.chunks(conv.kernel[0] * conv.kernel[1]);
                for (c, plane) in padded.iter().enumerate() {
                    let window = weights.nth(if c == 0 { k * conv.channels } else { 0 });
                    for (i, weight) in window.unwrap().iter().enumerate() {
                        let (y, x) = (i / conv.kernel[1], i % conv.kernel[1]);
                        sum += weight * plane[top + y][left + x];
                    }
                }
                out.push(sum);
            }
        }
    }
    out
}

proptest! {
    #[test]
    fn convolutions_follow_the_definition(
        channels in 1usize..4, kernels in 1usize..4,
        kernel in [1usize..5, 1usize..5], extra in [0usize..5, 0usize..5],
        stride in 1usize..4, padding in 0usize..3, seed: u64,
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let input = [0, 1].map(|axis| (kernel[axis] + extra[axis]).saturating_sub(2 * padding).max(1));
        let conv = Conv {
            channels, kernels, kernel, stride, padding, input,
            weights: weights(&mut rng, channels * kernels * kernel[0] * kernel[1]),
            bias: weights(&mut rng, kernels),
        };
        let values = weights(&mut rng, channels * input[0] * input[1]);
        let naive = naive_conv(&conv, &values);
        let linear = Linear::Conv(conv);
        prop_assert_eq!(linear.outputs(), naive.len());
        prop_assert_eq!(linear.accumulate(&values), naive);
    }

    /// Continuing from a layer's accumulators gives the rest of the trace, whatever the layer.
    #[test]
    fn a_trace_can_be_continued_from_any_layer(seed: u64, from in 0usize..4) {
        let network = small(seed);
        let trace = network.evaluate(&image(&network, seed)).unwrap();
        let rest = network.evaluate_from(from, &trace.layers[from].accumulators).unwrap();
        prop_assert_eq!(&rest.layers, &trace.layers[from..]);
        prop_assert_eq!(rest.logits, trace.logits);
        prop_assert_eq!(rest.predicted, trace.predicted);
    }

    /// No input in range goes beyond the worst case, and one input reaches it.
    #[test]
    fn the_worst_case_is_attained_and_never_passed(seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let dense = Dense { inputs: 9, outputs: 3, weights: weights(&mut rng, 27), bias: weights(&mut rng, 3) };
        let linear = Linear::Dense(dense.clone());
        let worst = linear.worst_case(7);
        let largest = |input: &[i64]| linear.accumulate(input).iter().map(|a| a.abs()).max().unwrap();
        let random: Vec<i64> = (0..9).map(|_| rng.random_range(0..=7)).collect();
        prop_assert!(largest(&random) <= worst);
        let extremes = dense.weights.chunks(9).flat_map(|row| [1, -1].map(|sign| {
            row.iter().map(|w| if w * sign > 0 { 7 } else { 0 }).collect::<Vec<_>>()
        }));
        prop_assert_eq!(extremes.map(|x| largest(&x)).max().unwrap(), worst);
    }

    /// Whatever byte of a file is changed, reading it ends in a network or in an error, and a
    /// network that is read can be evaluated.
    #[test]
    fn damaged_files_never_panic(at: prop::sample::Index, byte: u8, cut: bool) {
        let mut bytes = small(1).to_json().into_bytes();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        if let Ok(network) = String::from_utf8(bytes).map_err(drop).and_then(|text| IntNetwork::from_json(&text).map_err(drop)) {
            prop_assert!(network.evaluate(&image(&network, 1)).is_ok());
        }
    }
}

#[test]
fn dense_layers_follow_the_definition() {
    let linear = Linear::Dense(Dense {
        inputs: 3,
        outputs: 2,
        weights: vec![1, -2, 3, 0, 5, -6],
        bias: vec![10, -20],
    });
    assert_eq!((linear.inputs(), linear.outputs()), (3, 2));
    assert_eq!(
        linear.accumulate(&[1, 2, 3]),
        [1 - 4 + 9 + 10, 10 - 18 - 20]
    );
}

#[test]
fn beyond_its_ends_a_table_holds_its_end_values() {
    let lut = Lut {
        values: vec![5, 6, 7, 8, 9],
    };
    let found: Vec<i64> = [i64::MIN, -3, -2, 0, 2, 3, i64::MAX]
        .map(|a| lut.apply(a))
        .into();
    assert_eq!(found, [5, 5, 5, 7, 9, 9, 9]);
}

#[test]
fn overflows_are_counted_on_both_sides() {
    let layer = &small(1).layers[0];
    let b = layer.bound;
    assert_eq!(layer.overflows(&[-b - 1, -b, 0, b, b + 1, i64::MIN]), 3);
}

#[test]
fn a_trace_is_consistent_layer_by_layer() {
    let network = small(3);
    let trace = network.evaluate(&image(&network, 4)).unwrap();
    for (layer, found) in network.layers.iter().zip(&trace.layers) {
        match &layer.lut {
            Some(lut) => {
                let outputs: Vec<i64> = found.accumulators.iter().map(|&a| lut.apply(a)).collect();
                assert_eq!(found.outputs, outputs);
            }
            None => assert_eq!(found.outputs, trace.logits),
        }
    }
    assert_eq!(
        trace.logits[trace.predicted],
        *trace.logits.iter().max().unwrap()
    );
}

#[test]
fn the_first_of_equal_logits_wins_and_the_margin_is_zero() {
    let network = small(1);
    let last = network.layers.len() - 1;
    let trace = network.evaluate_from(last, &[3, 8, 8, -1]).unwrap();
    assert_eq!((trace.predicted, trace.margin()), (1, 0));
    let trace = network.evaluate_from(last, &[3, 8, 1, -1]).unwrap();
    assert_eq!((trace.predicted, trace.margin()), (1, 5));
}

#[test]
fn without_noise_the_noisy_evaluation_is_exact() {
    let network = small(5);
    let input = image(&network, 6);
    let noise = NoiseModel::uniform(&network, 0.0);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    assert_eq!(
        network.evaluate_noisy(&input, &noise, &mut rng).unwrap(),
        network.evaluate(&input).unwrap()
    );
}

#[test]
fn noise_enters_every_layer_but_the_last() {
    let network = small(5);
    let input = image(&network, 6);
    let noise = NoiseModel::uniform(&network, 50.0);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let noisy = network.evaluate_noisy(&input, &noise, &mut rng).unwrap();
    let mut given = input;
    for (index, (layer, found)) in network.layers.iter().zip(&noisy.layers).enumerate() {
        let exact = layer.linear.accumulate(&given) == found.accumulators;
        assert_eq!(exact, layer.lut.is_none(), "layer {index}");
        given.clone_from(&found.outputs);
    }
}

/// A sample variance of `n` normal values has relative deviation sqrt(2 / n); six of them fail
/// by chance less than once in 10^8 seeds. Rounding adds the variance 1/12.
#[test]
fn the_noise_has_its_deviation() {
    const N: usize = 1 << 16;
    for sigma in [0.8f64, 3.3, 10.7] {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let sample: Vec<f64> = (0..N)
            .map(|_| rounded_gaussian(sigma, &mut rng) as f64)
            .collect();
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

#[test]
fn json_is_read_back_equal() {
    let network = small(9);
    assert_eq!(IntNetwork::from_json(&network.to_json()), Ok(network));
}

/// Gives what `change` makes of a good network to `check`, and returns the error's words.
fn refusal(change: impl FnOnce(&mut IntNetwork)) -> String {
    let mut network = small(1);
    change(&mut network);
    network.check().unwrap_err().to_string()
}

fn conv(network: &mut IntNetwork) -> &mut Conv {
    match &mut network.layers[0].linear {
        Linear::Conv(conv) => conv,
        Linear::Dense(_) => panic!("layer 0 of the small network is a convolution"),
    }
}

#[test]
fn every_refusal_names_the_place_what_was_found_and_what_was_expected() {
    type Change = fn(&mut IntNetwork);
    let table: &[(Change, &str)] = &[
        (
            |n| n.format = "x/2".into(),
            "the network's format is \"x/2\", expected \"palladion-int-network/1\"",
        ),
        (
            |n| n.layers.clear(),
            "the network has 0 layers, expected 1 to 4096",
        ),
        (
            |n| n.input.shape[1] = 0,
            "input: a side is 0, expected 1 to 32768",
        ),
        (
            |n| n.input.shape = [32768; 3],
            "input: its size is 35184372088832, expected 1 to 67108864",
        ),
        (|n| n.input.max = 0, "input: max is 0, expected 1 to 32767"),
        (
            |n| n.input.scale = f64::NAN,
            "input: scale is NaN, expected a positive number",
        ),
        (
            |n| n.input.shape = [1, 7, 6],
            "layer layer0: takes 2 channels of 7x6, but is given 1 channels of 7x6",
        ),
        (
            |n| drop(n.layers.remove(2)),
            "layer layer3: takes 5 numbers, but is given 3 channels of 3x3",
        ),
        (
            |n| conv(n).stride = 0,
            "layer layer0: stride is 0, expected 1 to 32768",
        ),
        (
            |n| conv(n).kernel = [10, 2],
            "layer layer0: a kernel side is 10, expected 1 to 9",
        ),
        (
            |n| conv(n).padding = usize::MAX,
            "layer layer0: padding is 9223372036854775807, expected 0 to 32768",
        ),
        (
            |n| conv(n).weights.truncate(35),
            "layer layer0: weights has 35 entries, expected 36",
        ),
        (
            |n| conv(n).bias.push(0),
            "layer layer0: bias has 4 entries, expected 3",
        ),
        (
            |n| conv(n).weights[3] = 40_000,
            "layer layer0: a weight is 40000, expected -32767 to 32767",
        ),
        (
            |n| conv(n).bias[0] = i64::MIN,
            "layer layer0: a bias is -9223372036854775808, expected -32767 to 32767",
        ),
        (
            |n| n.layers[1].bound = 32_768,
            "layer layer1: bound is 32768, expected 1 to 32767",
        ),
        (
            |n| n.layers[1].bound = 40,
            "layer layer1: the table has 83 entries, expected 81",
        ),
        (
            |n| n.layers[1].lut.as_mut().unwrap().values[0] = 8,
            "layer layer1: a table value is 8, expected 0 to 7",
        ),
        (
            |n| n.layers[1].lut = None,
            "layer layer1: no table, expected one: only the last layer has none",
        ),
        (
            |n| {
                n.layers[3].bound = n.layers[2].bound;
                n.layers[3].lut = n.layers[2].lut.clone();
            },
            "layer layer3: the last layer has a table, expected none: its accumulators are the logits",
        ),
    ];
    for (change, expected) in table {
        assert_eq!(refusal(change), *expected);
    }
}

#[test]
fn wrong_inputs_are_refused() {
    let network = small(1);
    let good = image(&network, 1);
    let error = |input: &[i64]| network.evaluate(input).unwrap_err().to_string();
    assert_eq!(
        error(&good[1..]),
        "input: the image has 83 entries, expected 84"
    );
    let mut high = good.clone();
    high[5] = 8;
    assert_eq!(
        error(&high),
        "input: a value of the image is 8, expected 0 to 7"
    );
    let from = |layer, len| network.evaluate_from(layer, &vec![0; len]).unwrap_err();
    assert_eq!(
        from(4, 1),
        Error::NoSuchLayer {
            found: 4,
            layers: 4
        }
    );
    assert_eq!(
        from(2, 4).to_string(),
        "layer layer2: the list of accumulators has 4 entries, expected 5"
    );
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut noisy = |sigma_per_layer: &[f64]| {
        let noise = NoiseModel {
            sigma_per_layer: sigma_per_layer.to_vec(),
        };
        network
            .evaluate_noisy(&good, &noise, &mut rng)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        noisy(&[1.0]),
        "noise: sigma_per_layer has 1 entries, expected 3"
    );
    assert_eq!(
        noisy(&[1.0, -1.0, 1.0]),
        "noise of layer layer1: sigma is -1, expected a positive number"
    );
}

#[test]
fn what_is_no_network_is_refused_with_the_place() {
    for text in ["", "{}", "[]", "{\"format\": 1}", "null"] {
        let Err(Error::Json { reason }) = IntNetwork::from_json(text) else {
            panic!("{text:?} was read");
        };
        assert!(reason.contains("line"), "{reason}");
    }
}
