//! Errors name what is wrong, what was found and what was expected.

use super::{image, residual, rng};
use crate::*;

/// Applies `change` to a good network, checks it and returns the error message.
fn refusal(change: impl FnOnce(&mut IntNetwork)) -> String {
    let mut network = residual();
    change(&mut network);
    network.check().unwrap_err().to_string()
}

fn conv(network: &mut IntNetwork) -> &mut Conv {
    match &mut network.layers[0].terms[0].linear {
        Linear::Conv(conv) => conv,
        _ => panic!("layer 0 is a convolution"),
    }
}

fn window(network: &mut IntNetwork) -> &mut Window {
    match &mut network.layers[1].terms[1].linear {
        Linear::Window(window) => window,
        _ => panic!("the second term of layer 1 is a window"),
    }
}

fn dense(network: &mut IntNetwork) -> &mut Dense {
    match &mut network.layers[2].terms[0].linear {
        Linear::Dense(dense) => dense,
        _ => panic!("layer 2 is dense"),
    }
}

fn lut(network: &mut IntNetwork) -> &mut Lut {
    network.layers[1].lut.as_mut().unwrap()
}

type Change = fn(&mut IntNetwork);

fn check_all(table: &[(Change, &str)]) {
    for (change, expected) in table {
        assert_eq!(refusal(change), *expected);
    }
}

#[test]
fn wrong_inputs_of_a_network_are_named() {
    check_all(&[
        (
            |n| n.layers.clear(),
            "network: the number of layers is 0, expected 1 to 4096",
        ),
        (
            |n| n.input.shape[1] = 0,
            "input: a side is 0, expected 1 to 32768",
        ),
        (
            |n| n.input.shape = [32768; 3],
            "input: its size is 35184372088832, expected 1 to 67108864",
        ),
        (
            |n| n.input.min = -40_000,
            "input: min is -40000, expected -32767 to 32766",
        ),
        (
            |n| n.input.max = -7,
            "input: max is -7, expected -6 to 32767",
        ),
        (
            |n| n.input.scale = f64::NAN,
            "input: scale is NaN, expected a positive number",
        ),
        (
            |n| n.input.mean.push(0.0),
            "input: mean has 3 entries, expected 2",
        ),
        (
            |n| n.input.mean[1] = f64::INFINITY,
            "input: a mean is inf, expected a finite number",
        ),
        (
            |n| n.input.std.truncate(1),
            "input: std has 1 entries, expected 2",
        ),
        (
            |n| n.input.std[0] = 0.0,
            "input: a std is 0, expected a finite number other than 0",
        ),
        (
            |n| n.layers[2].name = "layer0".into(),
            "layers 1 and 3 are both named \"layer0\", expected a name for each",
        ),
    ]);
}

#[test]
fn wrong_terms_are_named() {
    check_all(&[
        (
            |n| n.layers[0].terms.clear(),
            "layer layer0: the number of terms is 0, expected 1 to 64",
        ),
        (
            |n| n.layers[0].terms = vec![n.layers[0].terms[0].clone(); 65],
            "layer layer0: the number of terms is 65, expected 1 to 64",
        ),
        (
            |n| n.layers[1].terms[1].source = Source::Layer(1),
            "layer layer1, term 2: its source is 2, expected 0 to 1",
        ),
        (
            |n| n.layers[0].terms[0].source = Source::Layer(usize::MAX),
            "layer layer0: its source is 9223372036854775807, expected 0",
        ),
        (
            |n| n.layers[1].terms[0].source = Source::Input,
            "layer layer1, term 1: takes 3 channels, but is given 2 channels of 7x6",
        ),
        (
            |n| window(n).stride = [1, 1],
            "layer layer1, term 2: gives 5 channels of 7x6, but the others give 5 channels of 4x3",
        ),
        (
            |n| n.layers[2].terms[0].source = Source::Layer(0),
            "layer layer2: takes 60 numbers, but is given 3 channels of 7x6",
        ),
        (
            |n| {
                n.layers[1].terms[0].source = Source::Input;
                n.layers[1].terms[0].linear = n.layers[1].terms[1].linear.clone();
                n.layers[1].terms[1].source = Source::Input;
            },
            "layer layer0: read by no layer, expected at least 1: only the last layer is a result",
        ),
    ]);
}

#[test]
fn wrong_products_are_named() {
    fn product(left: usize, right: usize) -> Option<Product> {
        Some([left, right].map(Source::from).into())
    }
    check_all(&[
        (
            |n| n.layers[1].product = product(0, 1),
            "layer layer1, product: a factor's source is 0, expected 1",
        ),
        (
            |n| n.layers[1].product = product(1, 2),
            "layer layer1, product: a factor's source is 2, expected 1",
        ),
        (
            |n| n.layers[2].product = product(1, 2),
            "layer layer2, product: takes 3 channels of 7x6, or 1 in place of any side, but is given 5 channels of 4x3",
        ),
        (
            |n| n.layers[2].product = product(2, 2),
            "layer layer2: gives 4 channels of 1x1, but the others give 5 channels of 4x3",
        ),
    ]);
}

#[test]
fn wrong_maps_are_named() {
    check_all(&[
        (
            |n| conv(n).kernels = 0,
            "layer layer0: kernels is 0, expected 1 to 32768",
        ),
        (
            |n| conv(n).stride[1] = 0,
            "layer layer0: a stride is 0, expected 1 to 32768",
        ),
        (
            |n| conv(n).dilation[0] = 40_000,
            "layer layer0: a dilation is 40000, expected 1 to 32768",
        ),
        (
            |n| conv(n).kernel[0] = 0,
            "layer layer0: a kernel side is 0, expected 1 to 32768",
        ),
        (
            |n| conv(n).dilation = [5, 1],
            "layer layer0: the span of a kernel is 11, expected 1 to 9",
        ),
        (
            |n| conv(n).pads[0] = i64::MIN,
            "layer layer0: a padding is -9223372036854775808, expected -32768 to 32768",
        ),
        (
            |n| conv(n).pads = [0, -4, 0, -4],
            "layer layer0: a padded side is -2, expected 1 to 67108864",
        ),
        (
            |n| conv(n).groups = 2,
            "layer layer0: has 2 groups, expected a divisor of 2 channels and 3 kernels",
        ),
        (
            |n| conv(n).weights.truncate(35),
            "layer layer0: weights has 35 entries, expected 54",
        ),
        (
            |n| conv(n).weights[3] = 40_000,
            "layer layer0: a weight is 40000, expected -32767 to 32767",
        ),
        (
            |n| conv(n).pads = [32_768; 4],
            "layer layer0: the size of its output is 12886671420, expected 1 to 67108864",
        ),
        (
            |n| conv(n).pads = [2_240; 4],
            "network: the number of values is 85476334, expected 1 to 67108864",
        ),
        (
            |n| window(n).first = 3,
            "layer layer1, term 2: the first channel is 3, expected 0 to 2",
        ),
        (
            |n| window(n).channels = 2,
            "layer layer1, term 2: takes at most 2 channels, but is given 3 channels of 7x6",
        ),
        (
            |n| window(n).weights.push(1),
            "layer layer1, term 2: weights has 2 entries, expected 1",
        ),
        (
            |n| dense(n).outputs = 5,
            "layer layer2: weights has 240 entries, expected 300",
        ),
    ]);
}

#[test]
fn wrong_biases_and_tables_are_named() {
    check_all(&[
        (
            |n| n.layers[0].bias.push(0),
            "layer layer0: bias has 4 entries, expected 3",
        ),
        (
            |n| n.layers[0].bias[0] = i64::MIN,
            "layer layer0: a bias is -9223372036854775808, expected -1048576 to 1048576",
        ),
        (
            |n| n.layers[0].scale = -1.0,
            "layer layer0: scale is -1, expected a positive number",
        ),
        (
            |n| n.layers[1].bound = 32_768,
            "layer layer1: bound is 32768, expected 1 to 32767",
        ),
        (
            |n| n.layers[1].bound = 40,
            "layer layer1: a start of the table is -31, expected -40",
        ),
        (
            |n| lut(n).starts[2] = lut(n).starts[1],
            "layer layer1: a start of the table is -29, expected -28 to 31",
        ),
        (
            |n| *lut(n).starts.last_mut().unwrap() = 32,
            "layer layer1: a start of the table is 32, expected 26 to 31",
        ),
        (
            |n| lut(n).starts.clear(),
            "layer layer1: the number of runs of the table is 0, expected 1 to 65535",
        ),
        (
            |n| lut(n).values.truncate(2),
            "layer layer1: the list of values of the table has 2 entries, expected 13",
        ),
        (
            |n| lut(n).values[0] = 32_768,
            "layer layer1: a value of the table is 32768, expected -32767 to 32767",
        ),
        (
            |n| n.layers[1].lut = None,
            "layer layer1: no table, expected one: only the last layer has none",
        ),
        (
            |n| n.layers[2].lut = n.layers[1].lut.clone(),
            "layer layer2: the last layer has a table, expected none: its accumulators are the logits",
        ),
    ]);
}

#[test]
fn wrong_values_are_named() {
    let network = residual();
    let exact = Evaluator::new(&network).unwrap();
    let good = image(&network, 1);
    let error = |input: &[i64]| exact.evaluate(input).unwrap_err().to_string();
    assert_eq!(
        error(&good[1..]),
        "input: the image has 83 entries, expected 84"
    );
    let mut high = good.clone();
    high[5] = 10;
    assert_eq!(
        error(&high),
        "input: a value of the image is 10, expected -7 to 9"
    );
    let from = |before: &[&[i64]], len| {
        let error = exact.evaluate_from(before, &vec![0; len]).unwrap_err();
        error.to_string()
    };
    let outputs = [0; 3 * 7 * 6];
    assert_eq!(
        from(&[], 1),
        "input: the list of values has 0 entries, expected 1"
    );
    assert_eq!(
        from(&[&good, &outputs, &[0; 60], &[0; 4]], 1),
        "layer 3 does not exist, the network has 3"
    );
    assert_eq!(
        from(&[&good, &outputs[1..]], 60),
        "layer layer0: the list of outputs has 125 entries, expected 126"
    );
    assert_eq!(
        from(&[&good, &outputs], 61),
        "layer layer1: the list of accumulators has 61 entries, expected 60"
    );
    let sums = |inputs: &[&[i64]]| exact.accumulate(1, inputs).unwrap_err().to_string();
    assert_eq!(
        sums(&[&outputs]),
        "layer layer1: the list of inputs has 1 entries, expected 2"
    );
    assert_eq!(
        sums(&[&outputs, &good]),
        "layer layer1: an input has 84 entries, expected 126"
    );
    assert_eq!(
        sums(&[&outputs, &[40_000; 126]]),
        "layer layer1: a value is 40000, expected -32768 to 32767"
    );
}

#[test]
fn noise_of_another_network_is_named() {
    let network = residual();
    let exact = Evaluator::new(&network).unwrap();
    let noisy = |sigma_per_layer: &[f64]| {
        let noise = NoiseModel {
            sigma_per_layer: sigma_per_layer.to_vec(),
        };
        let found = exact.evaluate_noisy(&image(&network, 1), &noise, &mut rng(1));
        found.unwrap_err().to_string()
    };
    assert_eq!(
        noisy(&[1.0]),
        "noise: sigma_per_layer has 1 entries, expected 2"
    );
    assert_eq!(
        noisy(&[1.0, -1.0]),
        "noise of layer layer1: sigma is -1, expected a number from 0 on"
    );
}
