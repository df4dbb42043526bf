//! Linear layers that read slots: directly, or by way of coefficients.

use crate::builder::{Builder, Sample};
use crate::chain::{Conv, Layer, Linear};
use crate::error::Result;
use circuits::Layout;
use circuits::transform::coefficient_of_slot;
use program::{Row, ValueId};

/// How a linear layer reads slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// One product for as many outputs as there are copies of a value.
    Direct,
    /// Slots to coefficients, then one product for each neuron, all images at once.
    Coefficients,
}

/// Seconds of one product from slots and of extracting its samples, and of the transform to
/// coefficients: both measured at `N = 2^15` at the end of the chain, one thread.
const PRODUCT_SECONDS: f64 = 2.5e-3;
const TRANSFORM_SECONDS: f64 = 0.3;

/// The cheaper route of a layer that reads `layout` for a batch.
pub(crate) fn route(layout: Layout, linear: &Linear, batch: usize) -> Route {
    let outputs = linear.outputs();
    let direct = (batch * outputs).div_ceil(layout.copies()) as f64 * PRODUCT_SECONDS;
    let through = TRANSFORM_SECONDS + outputs as f64 * PRODUCT_SECONDS;
    if layout.copies() == 1 || (linear.inputs().is_power_of_two() && through < direct) {
        Route::Coefficients
    } else {
        Route::Direct
    }
}

/// Results of a linear layer: a ciphertext, what its coefficients are, and which coefficients.
pub(crate) struct Results {
    pub(crate) value: ValueId,
    pub(crate) rows: Vec<Row>,
    pub(crate) at: Vec<usize>,
}

/// A layer on slots: as many outputs a product as there are copies.
pub(crate) fn direct(
    b: &mut Builder<'_>,
    layer: &Layer,
    value: ValueId,
    layout: Layout,
    batch: usize,
) -> Result<Vec<Results>> {
    b.layer(&layer.name);
    let (inputs, outputs) = (layer.linear.inputs(), layer.linear.outputs());
    let weights = b.constant("weight", rows_of(&layer.linear));
    let all: Vec<Row> = (0..batch)
        .flat_map(|image| (0..outputs).map(move |output| Row { image, output }))
        .collect();
    all.chunks(layout.copies())
        .map(|rows| {
            let product = b.dense(value, layout, weights, inputs, rows.to_vec())?;
            let bias = rows
                .iter()
                .map(|row| bias_of(&layer.linear, row.output))
                .collect();
            let at: Vec<usize> = (0..rows.len()).collect();
            let term = b.constant("bias", bias);
            Ok(Results {
                value: b.add_coefficients(product, term, at.clone()),
                rows: rows.to_vec(),
                at,
            })
        })
        .collect()
}

/// A layer on the coefficients that [`circuits::transform`] leaves: input `i` of image `b` is at
/// `p(b inputs) + p(i)`, since that map only permutes bits. The kernel has weight `i` at `-p(i)`, so
/// coefficient `p(b inputs)` of the product is the output of image `b`.
pub(crate) fn on_coefficients(
    b: &mut Builder<'_>,
    layer: &Layer,
    value: ValueId,
    slots: usize,
    batch: usize,
) -> Vec<Results> {
    b.layer(&layer.name);
    let (inputs, outputs) = (layer.linear.inputs(), layer.linear.outputs());
    let weights = rows_of(&layer.linear);
    let place = |slot: usize| coefficient_of_slot(slots, slot);
    let at: Vec<usize> = (0..batch).map(|image| place(image * inputs)).collect();
    (0..outputs)
        .map(|output| {
            let mut kernel = vec![0; slots];
            for (i, &weight) in weights[output * inputs..][..inputs].iter().enumerate() {
                match place(i) {
                    0 => kernel[0] = weight,
                    p => kernel[slots - p] = -weight,
                }
            }
            let factor = b.constant("weight", kernel);
            let product = b.mul_coefficients(value, factor);
            let term = b.constant("bias", vec![bias_of(&layer.linear, output); batch]);
            Results {
                value: b.add_coefficients(product, term, at.clone()),
                rows: (0..batch).map(|image| Row { image, output }).collect(),
                at: at.clone(),
            }
        })
        .collect()
}

/// Samples of results in the order image, neuron, whatever ciphertexts they come from.
pub(crate) fn samples_in_order(
    b: &mut Builder<'_>,
    results: &[Results],
    outputs: usize,
) -> Vec<Sample> {
    let mut all: Vec<(usize, Sample)> = Vec::new();
    for result in results {
        let batch = b.samples_of(result.value);
        let places = result.rows.iter().zip(&result.at);
        all.extend(places.map(|(row, &coefficient)| {
            (
                row.image * outputs + row.output,
                Sample { batch, coefficient },
            )
        }));
    }
    all.sort_unstable_by_key(|(order, _)| *order);
    all.into_iter().map(|(_, sample)| sample).collect()
}

/// Bias of an output neuron.
fn bias_of(linear: &Linear, output: usize) -> i64 {
    match linear {
        Linear::Dense(dense) => dense.bias[output],
        Linear::Conv(conv) => conv.bias[output / (linear.outputs() / conv.kernels)],
    }
}

/// Weights by output neuron: a convolution written out as a dense layer.
fn rows_of(linear: &Linear) -> Vec<i64> {
    match linear {
        Linear::Dense(dense) => dense.weights.clone(),
        Linear::Conv(conv) => written_out(conv, linear.inputs(), linear.outputs()),
    }
}

fn written_out(conv: &Conv, inputs: usize, outputs: usize) -> Vec<i64> {
    let [height, width] = conv.input;
    let [kh, kw] = conv.kernel;
    let [oh, ow] = conv.output;
    let mut rows = vec![0; inputs * outputs];
    for output in 0..outputs {
        let (k, place) = (output / (oh * ow), output % (oh * ow));
        let (top, left) = ((place / ow) * conv.stride, (place % ow) * conv.stride);
        for (index, &weight) in conv.weights[k * conv.channels * kh * kw..]
            [..conv.channels * kh * kw]
            .iter()
            .enumerate()
        {
            let (c, at) = (index / (kh * kw), index % (kh * kw));
            // Places in the padded image; those in the padding have no input.
            let (row, column) = (top + at / kw, left + at % kw);
            if (conv.padding..conv.padding + height).contains(&row)
                && (conv.padding..conv.padding + width).contains(&column)
            {
                let input = (c * height + row - conv.padding) * width + column - conv.padding;
                rows[output * inputs + input] = weight;
            }
        }
    }
    rows
}
