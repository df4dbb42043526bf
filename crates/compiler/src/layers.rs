//! Layers into steps: placement of the images, convolutions on coefficients, tables, dense layers.

use crate::builder::Builder;
use crate::error::{Error, Result};
use circuits::Layout;
use circuits::coefficients::ConvShape;
use circuits::lut::{self, Shape};
use network::{Conv, IntNetwork, Layer, Linear};
use program::{Row, ValueId};

/// Level at which the client encrypts, and at which a dense layer ends: one limb above the one whose
/// modulus the LWE samples are rounded from.
const LINEAR_LEVEL: usize = 1;

/// Deviations of the rounding noise that a table bears beyond the accumulator's bound: a Gaussian leaves
/// 8 of them less than once in 2^49 draws.
const NOISE_DEVIATIONS: f64 = 8.0;

/// How one table and the packing before it are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TablePlan {
    pub(crate) start_level: usize,
    pub(crate) shape: Shape,
}

/// Where the images lie in the client's ciphertexts.
pub(crate) struct Placement {
    shape: ConvShape,
    images_per_ciphertext: usize,
    kernels_per_product: usize,
}

/// The first layer as a convolution on coefficients.
pub(crate) fn placement(network: &IntNetwork, slots: usize) -> Result<Placement> {
    let layer = &network.layers[0];
    let shape = match &layer.linear {
        Linear::Conv(conv) if conv.padding > 0 => {
            return Err(Error::Layer {
                layer: layer.name.clone(),
                what: "the padding of the first convolution",
                found: conv.padding.to_string(),
                expected: "0: pad the image instead".into(),
            });
        }
        Linear::Conv(conv) => ConvShape {
            channels: conv.channels,
            kernels: conv.kernels,
            input: conv.input,
            kernel: conv.kernel,
            stride: conv.stride,
        },
        Linear::Dense(dense) => ConvShape {
            channels: 1,
            kernels: dense.outputs,
            input: [1, dense.inputs],
            kernel: [1, dense.inputs],
            stride: 1,
        },
    };
    if shape.span() > slots {
        return Err(Error::Layer {
            layer: layer.name.clone(),
            what: "the number of coefficients of one image and one kernel",
            found: shape.span().to_string(),
            expected: format!("at most {slots}"),
        });
    }
    let images = (slots / shape.image_span()).max(1);
    Ok(Placement {
        images_per_ciphertext: images,
        kernels_per_product: if images > 1 {
            shape.kernels
        } else {
            (slots / shape.span()).min(shape.kernels)
        },
        shape,
    })
}

impl Placement {
    /// For each ciphertext, the coefficient at which each of its images begins.
    pub(crate) fn starts(&self, batch: usize) -> Vec<Vec<usize>> {
        let span = self.shape.span() * self.kernels_per_product;
        (0..batch)
            .collect::<Vec<_>>()
            .chunks(self.images_per_ciphertext)
            .map(|images| (0..images.len()).map(|k| k * span).collect())
            .collect()
    }
}

/// Values before each table: the first layer's accumulators as samples.
pub(crate) fn first_layer(
    b: &mut Builder<'_>,
    layer: &Layer,
    placement: &Placement,
    batch: usize,
) -> Result<Vec<(ValueId, Vec<usize>)>> {
    b.layer(&layer.name);
    let shape = placement.shape;
    let per_kernel = layer.linear.weights().len() / shape.kernels;
    let [rows, columns] = shape.output();
    let mut sources = Vec::new();
    for (index, starts) in placement.starts(batch).iter().enumerate() {
        let input = b.input(index, LINEAR_LEVEL);
        // Sources go image by image, kernel by kernel; a ciphertext that needs several products
        // holds one image.
        for first in (0..shape.kernels).step_by(placement.kernels_per_product) {
            let count = placement.kernels_per_product.min(shape.kernels - first);
            let group = ConvShape {
                kernels: count,
                ..shape
            };
            let weights = &layer.linear.weights()[first * per_kernel..(first + count) * per_kernel];
            let factor = b.constant("weight", group.kernel_polynomial(weights));
            let product = b.mul_coefficients(input, factor);
            let mut at = Vec::new();
            let mut biases = Vec::new();
            for &start in starts {
                for kernel in 0..count {
                    for place in 0..rows * columns {
                        at.push(
                            group.output_coefficient(
                                start,
                                [kernel, place / columns, place % columns],
                            ),
                        );
                        biases.push(layer.linear.bias()[first + kernel]);
                    }
                }
            }
            let term = b.constant("bias", biases);
            let sum = b.add_coefficients(product, term, at.clone());
            sources.push((b.to_samples(sum), at));
        }
    }
    Ok(sources)
}

/// Packs samples, and applies the layer's table.
pub(crate) fn table(
    b: &mut Builder<'_>,
    polynomial: &[i64],
    sources: Vec<(ValueId, Vec<usize>)>,
    layout: Layout,
    plan: &TablePlan,
) -> Result<ValueId> {
    let polynomial = b.constant("table", polynomial.to_vec());
    let packed = b.pack(sources, layout, plan.start_level)?;
    b.table(packed, layout, polynomial, plan.shape)
}

/// The tables as polynomials, by layer: right on the accumulators' range and as far beyond as noise
/// reaches.
pub(crate) fn tables(network: &IntNetwork, params: &circuits::LoopParams) -> Result<Vec<Vec<i64>>> {
    let t = params.bfv().t();
    let half = (t.value() as i64 - 1) / 2;
    let margin = (NOISE_DEVIATIONS * params.rounding_sigma()).ceil() as i64;
    network
        .layers
        .iter()
        .map(|layer| match &layer.lut {
            None => Ok(Vec::new()),
            Some(lut) => {
                let bound = (layer.bound + margin).min(half);
                let coefficients = lut::interpolate(t, bound, |x| lut.apply(x))?;
                Ok(coefficients.into_iter().map(|c| c as i64).collect())
            }
        })
        .collect()
}

/// Values that a layer makes for a batch, in a layout.
pub(crate) fn layout(params: &circuits::LoopParams, layer: &Layer, batch: usize) -> Result<Layout> {
    let slots = params.bfv().n();
    let outputs = layer.linear.outputs();
    let values = (batch * outputs)
        .next_power_of_two()
        .max(circuits::pack::min_values(slots, params.dimension()));
    // A dense layer reads from at least two copies of each value.
    if values > slots / 2 {
        return Err(Error::Batch {
            batch,
            layer: layer.name.clone(),
            values: batch * outputs,
            slots,
            most: slots / 2 / outputs.next_power_of_two(),
        });
    }
    Ok(Layout::new(slots, values)?)
}

/// A linear layer from slots; gives its values with the coefficients they are in.
pub(crate) fn dense(
    b: &mut Builder<'_>,
    layer: &Layer,
    value: ValueId,
    layout: Layout,
    batch: usize,
) -> Result<Vec<(ValueId, Vec<Row>)>> {
    b.layer(&layer.name);
    let (inputs, outputs) = (layer.linear.inputs(), layer.linear.outputs());
    let weights = b.constant("weight", rows_of(&layer.linear));
    let all: Vec<Row> = (0..batch)
        .flat_map(|image| (0..outputs).map(move |output| Row { image, output }))
        .collect();
    let mut results = Vec::new();
    for rows in all.chunks(layout.copies()) {
        let product = b.dense(value, layout, weights, inputs, rows.to_vec())?;
        let bias: Vec<i64> = rows
            .iter()
            .map(|row| bias_of(&layer.linear, row.output))
            .collect();
        let term = b.constant("bias", bias);
        let sum = b.add_coefficients(product, term, (0..rows.len()).collect());
        results.push((sum, rows.to_vec()));
    }
    Ok(results)
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
    let [oh, ow] = conv.output();
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

/// The whole network, with a plan for each of its tables.
pub(crate) fn network(
    b: &mut Builder<'_>,
    network: &IntNetwork,
    batch: usize,
    (placement, tables): (&Placement, &[Vec<i64>]),
    mut plan: impl FnMut(usize, Layout) -> Result<TablePlan>,
) -> Result<()> {
    let mut sources = first_layer(b, &network.layers[0], placement, batch)?;
    for (index, layer) in network.layers.iter().enumerate() {
        let Some(next) = network.layers.get(index + 1) else {
            break;
        };
        let layout = layout(b.params(), layer, batch)?;
        let chosen = plan(index, layout)?;
        b.layer(&layer.name);
        let activations = table(b, &tables[index], sources, layout, &chosen)?;
        let results = dense(b, next, activations, layout, batch)?;
        if next.lut.is_none() {
            for (value, rows) in results {
                let at = (0..rows.len()).collect();
                b.output(value, rows, at);
            }
            return Ok(());
        }
        sources = results
            .into_iter()
            .map(|(value, rows)| (b.to_samples(value), (0..rows.len()).collect()))
            .collect();
    }
    let last = network
        .layers
        .last()
        .map(|l| l.name.clone())
        .unwrap_or_default();
    Err(Error::Layer {
        layer: last,
        what: "the table of the last layer",
        found: "present".into(),
        expected: "none: the last layer's accumulators are the result, and a linear layer must follow each table".into(),
    })
}
