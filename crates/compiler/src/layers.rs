//! Layers into steps: placement of the images, the first layer on coefficients, then tables and linear
//! layers by turns.

use crate::builder::{Builder, Sample};
use crate::chain::{Chain, Layer, Linear};
use crate::error::{Error, Result};
use crate::linear::{self, Route};
use circuits::Layout;
use circuits::coefficients::ConvShape;
use circuits::lut::{self, Shape};
use circuits::transform::SlotsToCoeffs;
use program::ValueId;
use std::sync::OnceLock;

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
fn placement(network: &Chain, slots: usize) -> Result<Placement> {
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
fn first_layer(
    b: &mut Builder<'_>,
    layer: &Layer,
    placement: &Placement,
    batch: usize,
) -> Result<Vec<Sample>> {
    b.layer(&layer.name);
    let shape = placement.shape;
    let per_kernel = layer.linear.weights().len() / shape.kernels;
    let [rows, columns] = shape.output();
    let mut samples = Vec::new();
    for (index, starts) in placement.starts(batch).iter().enumerate() {
        let input = b.input(index, LINEAR_LEVEL);
        // Samples go image by image, kernel by kernel; a ciphertext that needs several products
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
            let batch = b.samples_of(sum);
            samples.extend(
                at.into_iter()
                    .map(|coefficient| Sample { batch, coefficient }),
            );
        }
    }
    Ok(samples)
}

/// Packs samples, and applies the layer's table.
fn table(
    b: &mut Builder<'_>,
    polynomial: &[i64],
    samples: &[Sample],
    layout: Layout,
    plan: &TablePlan,
) -> Result<ValueId> {
    let polynomial = b.constant("table", polynomial.to_vec());
    let packed = b.pack(samples, layout, plan.start_level)?;
    b.table(packed, layout, polynomial, plan.shape)
}

/// The tables as polynomials, by layer: right on the accumulators' range and as far beyond as noise
/// reaches.
fn tables(network: &Chain, params: &circuits::LoopParams) -> Result<Vec<Vec<i64>>> {
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
fn layout(params: &circuits::LoopParams, layer: &Layer, batch: usize) -> Result<Layout> {
    let slots = params.bfv().n();
    let outputs = layer.linear.outputs();
    // A dense layer reads from at least two copies of each value; the way through coefficients
    // needs images at powers of two.
    let room = if outputs.is_power_of_two() {
        slots
    } else {
        slots / 2
    };
    if outputs > room {
        return Err(Error::Layer {
            layer: layer.name.clone(),
            what: "the number of outputs that enter a table",
            found: outputs.to_string(),
            expected: format!("at most {room}"),
        });
    }
    let most = room / outputs;
    if batch > most {
        return Err(Error::Batch {
            batch,
            layer: layer.name.clone(),
            values: batch.saturating_mul(outputs),
            slots: room,
            most,
        });
    }
    let fewest = circuits::pack::min_values(slots, params.dimension());
    let values = (batch * outputs).next_power_of_two().max(fewest);
    Ok(Layout::new(slots, values)?)
}

/// What depends on no parameters.
pub(crate) struct Fixed {
    pub(crate) placement: Placement,
    /// Polynomials of the tables, by layer.
    pub(crate) tables: Vec<Vec<i64>>,
    transform: OnceLock<SlotsToCoeffs>,
    trial: circuits::LoopParams,
}

impl Fixed {
    /// Sees that a batch has room everywhere, places the images and interpolates the tables, with
    /// the plaintext modulus of `trial`.
    pub(crate) fn new(network: &Chain, batch: usize, trial: &circuits::LoopParams) -> Result<Self> {
        if let [only] = network.layers.as_slice() {
            return Err(Error::Layer {
                layer: only.name.clone(),
                what: "the number of layers up to it",
                found: "1".into(),
                expected: "at least 2: a linear layer alone needs no table".into(),
            });
        }
        for layer in network.layers.iter().filter(|l| l.lut.is_some()) {
            layout(trial, layer, batch)?;
        }
        Ok(Self {
            placement: placement(network, trial.bfv().n())?,
            tables: tables(network, trial)?,
            transform: OnceLock::new(),
            trial: trial.clone(),
        })
    }

    /// The map from slots to coefficients.
    pub(crate) fn transform(&self) -> &SlotsToCoeffs {
        self.transform.get_or_init(|| {
            let encoder = self.trial.bfv().encoder();
            SlotsToCoeffs::balanced(encoder).expect("a ring of 32,768 slots has three stages")
        })
    }
}

/// The whole network, with a plan for each of its tables.
pub(crate) fn network(
    b: &mut Builder<'_>,
    network: &Chain,
    batch: usize,
    fixed: &Fixed,
    mut plan: impl FnMut(usize, Layout) -> Result<TablePlan>,
) -> Result<()> {
    let mut samples = first_layer(b, &network.layers[0], &fixed.placement, batch)?;
    for (index, pair) in network.layers.windows(2).enumerate() {
        let [layer, next] = pair else {
            unreachable!("windows of two layers");
        };
        let layout = layout(b.params(), layer, batch)?;
        let chosen = plan(index, layout)?;
        b.layer(&layer.name);
        let activations = table(b, &fixed.tables[index], &samples, layout, &chosen)?;
        let results = match linear::route(layout, &next.linear, batch) {
            Route::Direct => linear::direct(b, next, activations, layout, batch)?,
            Route::Coefficients => {
                let value = b.slots_to_coefficients(activations, fixed.transform())?;
                linear::on_coefficients(b, next, value, layout.slots(), batch)
            }
        };
        if next.lut.is_some() {
            samples = linear::samples_in_order(b, &results, next.linear.outputs());
            continue;
        }
        // A checked network has no table in its last layer, and in no other none.
        for result in results {
            b.output(result.value, result.rows, result.at);
        }
    }
    Ok(())
}
