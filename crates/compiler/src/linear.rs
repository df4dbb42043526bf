//! Linear groups on coefficients.
//!
//! The values are at the positions of a [`Raster`]. One product with a kernel polynomial gives an
//! output channel at every place of the image. Output `(y, x)` comes to the position where its
//! window's values would begin without padding. Tap `(c, i, j)` has the exponent that moves the
//! value of the tap to that position. Where the raster has no zeros, windows that reach out of the
//! image would read other rows. Such windows leave out the taps outside of the image. Outputs
//! therefore fall into *classes* by the taps that their windows leave out, and each class has its
//! own product. If the ring has room, kernels stand side by side in one polynomial. A group whose
//! terms are all windows, with the same kernel for each channel, gives all channels at once.
//!
//! Terms whose outputs come to the same positions add up under encryption. Other terms add up as
//! LWE samples.

use crate::builder::Builder;
use crate::error::Result;
use crate::merge;
use crate::raster::{Raster, Read, Ring};
use network::{Layer, Linear, Shape, Sliding};
use program::{Row, Term, ValueId};
use std::collections::BTreeMap;
use std::ops::Range;

/// The values of a layer or of the input, as coefficients.
pub(crate) struct Tensor {
    pub(crate) ring: Ring,
    pub(crate) raster: Raster,
    /// Shape of one whole image.
    pub(crate) shape: Shape,
    pub(crate) parts: Vec<Part>,
}

/// One ciphertext of a tensor.
pub(crate) struct Part {
    pub(crate) value: ValueId,
    pub(crate) images: Range<usize>,
    pub(crate) channels: Range<usize>,
}

/// A term and the tensor that it reads.
pub(crate) struct Operand<'a> {
    pub(crate) linear: &'a Linear,
    pub(crate) tensor: &'a Tensor,
}

/// Outputs in one ciphertext: image and index of each, and their coefficients.
pub(crate) struct Outputs {
    pub(crate) value: ValueId,
    pub(crate) rows: Vec<Row>,
    pub(crate) at: Vec<usize>,
}

/// The treatment of outputs that have the same sum in the same coefficient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    /// The outputs are written as one.
    Shared,
    /// Each output is written: it is a part of a result, and is hidden by a number of its own.
    Own,
}

/// Terms add up under encryption if these agree: ring, steps between outputs, ranges of images in
/// the ciphertexts.
type Key = (usize, [usize; 3], Vec<(usize, usize)>);

/// Zeros between rows and between columns that the windows of a map need around a source.
pub(crate) fn zeros_wanted(linear: &Linear, shape: Shape) -> [usize; 2] {
    let windows = linear.grouped(shape).sliding;
    let (output, span) = (windows.output([shape[1], shape[2]]), windows.span());
    [0, 1].map(|axis| {
        let last = (output[axis] - 1) as i64 * windows.stride[axis] as i64 - windows.pads[axis];
        let after = last + span[axis] as i64 - shape[1 + axis] as i64;
        after.max(windows.pads[axis]).max(0) as usize
    })
}

/// For a map of a tensor in `raster`: the number of products for each ciphertext of the tensor, and
/// the distance in positions between kernels that stand side by side.
pub(crate) fn products(linear: &Linear, shape: Shape, raster: &Raster, room: usize) -> [usize; 2] {
    let map = linear.grouped(shape);
    let windows = map.sliding;
    let group = Group {
        operands: vec![(&windows, raster)],
        output: windows.output([shape[1], shape[2]]),
    };
    let kernels = map.weights.len() / map.row_len();
    let distance = group.distance();
    let together = (room / distance).clamp(1, kernels);
    [group.classes().len() * kernels.div_ceil(together), distance]
}

/// Groups the terms that add up under encryption.
pub(crate) fn groups<'t, 'a>(operands: &'t [Operand<'a>]) -> Vec<Vec<&'t Operand<'a>>> {
    let mut groups: BTreeMap<Key, Vec<&Operand<'a>>> = BTreeMap::new();
    for operand in operands {
        let tensor = operand.tensor;
        let stride = operand.linear.grouped(tensor.shape).sliding.stride;
        let [image, _, row] = tensor.raster.pitch;
        let steps = [stride[0] * row, stride[1], image];
        let images = ranges(tensor, |part| &part.images);
        let images = images.into_iter().map(|r| (r.start, r.end)).collect();
        let key = (tensor.ring.len(), steps, images);
        groups.entry(key).or_default().push(operand);
    }
    let mut groups: Vec<Vec<&Operand<'a>>> = groups.into_values().collect();
    // Groups in which one kernel serves all channels come last, because they may leave channels
    // out. If an earlier group has the biases, one step adds them.
    groups.sort_by_key(|group| group.iter().all(|o| serves_all(o).is_some()));
    groups
}

/// Writes the accumulators of one group of a layer's terms, as made by [`groups`]. `given` says by
/// image and output which accumulators exist already. An accumulator that does not exist yet gets
/// the bias, and is marked as given.
pub(crate) fn accumulate(
    b: &mut Builder<'_>,
    layer: &Layer,
    shape: Shape,
    operands: &[&Operand<'_>],
    places: Places,
    given: &mut [bool],
) -> Result<Vec<Outputs>> {
    let windows: Vec<Sliding> = operands
        .iter()
        .map(|o| o.linear.grouped(o.tensor.shape).sliding)
        .collect();
    let group = Group {
        operands: windows
            .iter()
            .zip(operands)
            .map(|(w, o)| (w, &o.tensor.raster))
            .collect(),
        output: [shape[1], shape[2]],
    };
    let tensor = operands[0].tensor;
    let mut writer = Writer {
        layer,
        shape,
        operands,
        windows: &windows,
        shared: shared(operands),
        alone: places == Places::Own,
        given,
    };
    let bundles = writer.bundles(b, &group)?;
    let mut outputs = Vec::new();
    for images in ranges(tensor, |part| &part.images) {
        for (left_out, places) in group.classes() {
            for bundle in &bundles {
                outputs.extend(writer.product(b, &images, &left_out, &places, bundle)?);
            }
        }
    }
    Ok(outputs)
}

/// The outputs that no term gives, because windows leave channels out or lie in the padding. Such
/// outputs equal the bias. They are only written if the bias is not 0, or if this is the last
/// layer: an empty sum is 0 already.
pub(crate) fn only_bias(
    b: &mut Builder<'_>,
    layer: &Layer,
    shape: Shape,
    tensor: &Tensor,
    given: &[bool],
) -> Result<Option<Vec<Outputs>>> {
    let outputs: usize = shape.iter().product();
    let bias = |row: &Row| layer.bias[row.output / (shape[1] * shape[2])];
    let missing: Vec<Row> = (0..given.len())
        .filter(|&index| !given[index])
        .map(|index| Row {
            image: index / outputs,
            output: index % outputs,
        })
        .filter(|row| layer.lut.is_none() || bias(row) != 0)
        .collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let nothing = Term {
        value: tensor.parts[0].value,
        weights: b.constant("weight", vec![0]),
        exponents: b.constant("exponents", vec![0]),
    };
    let zero = b.mul_coefficients(vec![nothing])?;
    let found = missing.chunks(b.params().bfv().n()).map(|rows| {
        let at: Vec<usize> = (0..rows.len()).collect();
        let term = b.constant("bias", rows.iter().map(bias).collect());
        let places = b.constant("places", at.iter().map(|&a| a as i64).collect());
        Ok(Outputs {
            value: b.add_coefficients(zero, term, places)?,
            rows: rows.to_vec(),
            at,
        })
    });
    found.collect::<Result<_>>().map(Some)
}

/// Windows on their rasters. All give the same output shape.
struct Group<'a> {
    operands: Vec<(&'a Sliding, &'a Raster)>,
    output: [usize; 2],
}

impl Group<'_> {
    /// Outputs, by the taps that they leave out. Taps are those of all operands in order.
    fn classes(&self) -> BTreeMap<Vec<bool>, Vec<[usize; 2]>> {
        let mut classes: BTreeMap<Vec<bool>, Vec<[usize; 2]>> = BTreeMap::new();
        for y in 0..self.output[0] {
            for x in 0..self.output[1] {
                let left_out = self.operands.iter().flat_map(|(windows, raster)| {
                    taps(windows).map(move |[down, across]| {
                        let at = [
                            (y * windows.stride[0]) as i64 + down,
                            (x * windows.stride[1]) as i64 + across,
                        ];
                        raster.reads(at) == Read::Other
                    })
                });
                classes.entry(left_out.collect()).or_default().push([y, x]);
            }
        }
        classes
    }

    /// Smallest distance in positions between two kernels that keeps their products apart, for one
    /// image.
    fn distance(&self) -> usize {
        let mut distance = 0;
        for (windows, raster) in &self.operands {
            let [_, _, row] = raster.pitch;
            let last = raster.position(
                0,
                [
                    0,
                    (self.output[0] - 1) * windows.stride[0],
                    (self.output[1] - 1) * windows.stride[1],
                ],
            );
            // An output reads values at distances between these two.
            let channels = raster.distance(raster.shape[0] - 1, [0, 0]);
            let reach: Vec<i64> = taps(windows)
                .map(|[down, across]| down * row as i64 + across)
                .collect();
            let low = reach.iter().min().copied().unwrap_or(0);
            let high = reach.iter().max().copied().unwrap_or(0) + channels;
            let values = (raster.shape[0] * raster.pitch[1]) as i64;
            distance = distance.max(values - low).max(last as i64 + high + 1);
        }
        distance.max(1) as usize
    }
}

/// Rows and columns from an output's place to the value that each tap of its window reads, row by
/// row.
fn taps(windows: &Sliding) -> impl Iterator<Item = [i64; 2]> + '_ {
    let [rows, columns] = windows.kernel;
    (0..rows).flat_map(move |i| {
        (0..columns).map(move |j| {
            [
                (i * windows.dilation[0]) as i64 - windows.pads[0],
                (j * windows.dilation[1]) as i64 - windows.pads[1],
            ]
        })
    })
}

/// Output channels of one product, and the positions where their outputs begin.
struct Bundle {
    channels: Vec<usize>,
    /// Distance in positions between the outputs of two neighbouring channels.
    distance: usize,
}

/// Outputs of one product, with the bias for each of their coefficients.
#[derive(Default)]
struct Sums {
    rows: Vec<Row>,
    at: Vec<usize>,
    bias: BTreeMap<usize, i64>,
}

/// Writes the products of one group.
struct Writer<'a> {
    layer: &'a Layer,
    shape: Shape,
    operands: &'a [&'a Operand<'a>],
    windows: &'a [Sliding],
    /// Output channel of channel 0 if one kernel serves all channels of all terms.
    shared: Option<usize>,
    /// True if outputs with the same coefficient are written apart.
    alone: bool,
    /// By image and output, true if the accumulator exists already.
    given: &'a mut [bool],
}

/// The first output channel of a map whose one kernel serves every channel.
fn serves_all(operand: &Operand<'_>) -> Option<usize> {
    match operand.linear {
        Linear::Window(window) => Some(window.first),
        Linear::Conv(_) | Linear::Dense(_) => None,
    }
}

fn shared(operands: &[&Operand<'_>]) -> Option<usize> {
    let mut seen = None;
    for operand in operands {
        let first = serves_all(operand)?;
        let tensor = operand.tensor;
        let channels = ranges(tensor, |part| &part.channels);
        let own = (first, tensor.raster.pitch[1], channels);
        if *seen.get_or_insert_with(|| own.clone()) != own {
            return None;
        }
    }
    seen.map(|(first, _, _)| first)
}

impl Writer<'_> {
    /// Groups the output channels that share a product.
    fn bundles(&self, b: &Builder<'_>, group: &Group<'_>) -> Result<Vec<Bundle>> {
        let tensor = self.operands[0].tensor;
        let all = |distance| move |channels: Vec<usize>| Bundle { channels, distance };
        if let Some(first) = self.shared {
            // One kernel serves all channels, so their distance is that of the source's channels.
            return Ok(ranges(tensor, |part| &part.channels)
                .into_iter()
                .map(|range| range.map(|c| first + c).collect())
                .map(all(tensor.raster.pitch[1]))
                .collect());
        }
        let images = tensor
            .parts
            .iter()
            .map(|t| t.images.len())
            .max()
            .unwrap_or(1);
        let room = match images {
            1 => tensor.ring.len(),
            _ => tensor.raster.pitch[0],
        };
        let least = merge::Least::new(group.distance(), self.shape, room);
        let distance = merge::distance(b, self.layer, self.operands, &least)?;
        let together = (room / distance).clamp(1, self.shape[0]);
        // All products have the same number of channels.
        let size = self.shape[0].div_ceil(self.shape[0].div_ceil(together));
        Ok((0..self.shape[0])
            .collect::<Vec<_>>()
            .chunks(size)
            .map(<[usize]>::to_vec)
            .map(all(distance))
            .collect())
    }

    fn product(
        &mut self,
        b: &mut Builder<'_>,
        images: &Range<usize>,
        left_out: &[bool],
        places: &[[usize; 2]],
        bundle: &Bundle,
    ) -> Result<Vec<Outputs>> {
        let tensor = self.operands[0].tensor;
        let mut terms = Vec::new();
        let mut left_out = left_out;
        for (index, operand) in self.operands.iter().enumerate() {
            let windows = &self.windows[index];
            let (own, rest) = left_out.split_at(windows.kernel.iter().product());
            left_out = rest;
            let here = |part: &&Part| {
                let first = self.shared.map(|first| first + part.channels.start);
                part.images == *images && first.is_none_or(|first| first == bundle.channels[0])
            };
            for part in operand.tensor.parts.iter().filter(here) {
                let kernel = self.kernel(index, part, own, bundle);
                if kernel.is_empty() {
                    continue;
                }
                let weights = operand.linear.weights();
                let (weights, exponents) = kernel.iter().map(|&(w, e)| (weights[w], e)).unzip();
                terms.push(Term {
                    value: part.value,
                    weights: b.constant("weight", weights),
                    exponents: b.constant("exponents", exponents),
                });
            }
        }
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let step = self.windows[0].stride;
        let mut sums: Vec<Sums> = Vec::new();
        let [_, height, width] = self.shape;
        for image in images.clone() {
            for (index, &channel) in bundle.channels.iter().enumerate() {
                for &[y, x] in places {
                    let place = [0, y * step[0], x * step[1]];
                    let position = tensor.raster.position(image - images.start, place)
                        + index * bundle.distance;
                    let output = (channel * height + y) * width + x;
                    let outputs = self.shape.iter().product::<usize>();
                    let given = &mut self.given[image * outputs + output];
                    let bias = match std::mem::replace(given, true) {
                        false => self.layer.bias[channel],
                        true => 0,
                    };
                    let at = tensor.ring.coefficient(position);
                    // Outputs beyond the end of a row have the coefficients of the next row's
                    // outputs, and the same sum. Their bias differs if the next row belongs to
                    // another channel.
                    let alone = self.alone;
                    let fits =
                        |sums: &Sums| sums.bias.get(&at).is_none_or(|&b| !alone && b == bias);
                    let sums = match sums.iter().position(fits) {
                        Some(index) => &mut sums[index],
                        None => {
                            sums.push(Sums::default());
                            sums.last_mut().expect("one was added")
                        }
                    };
                    sums.bias.insert(at, bias);
                    sums.rows.push(Row { image, output });
                    sums.at.push(at);
                }
            }
        }
        let product = b.mul_coefficients(terms)?;
        let outputs = sums.into_iter().map(|sums| {
            let (at, mut bias): (Vec<i64>, Vec<i64>) = sums
                .bias
                .iter()
                .map(|(&at, &bias)| (at as i64, bias))
                .unzip();
            let mut value = product;
            if bias.iter().any(|&b| b != 0) {
                if bias.iter().all(|&b| b == bias[0]) {
                    bias.truncate(1);
                }
                let term = b.constant("bias", bias);
                let places = b.constant("places", at);
                value = b.add_coefficients(product, term, places)?;
            }
            Ok(Outputs {
                value,
                rows: sums.rows,
                at: sums.at,
            })
        });
        outputs.collect()
    }

    /// Indices of the weights, and exponents, of one term on one part.
    fn kernel(
        &self,
        index: usize,
        part: &Part,
        left_out: &[bool],
        bundle: &Bundle,
    ) -> Vec<(usize, i64)> {
        let operand = self.operands[index];
        let (tensor, windows) = (operand.tensor, &self.windows[index]);
        let taps: Vec<[i64; 2]> = taps(windows).collect();
        let mut kernel = Vec::new();
        let mut push = |start: usize, channel: usize, base: usize, first_weight: usize| {
            for (tap, &distance) in taps.iter().enumerate() {
                if !left_out[tap] {
                    let back = start as i64 - tensor.raster.distance(channel, distance);
                    kernel.push((first_weight + base + tap, tensor.ring.exponent(back)));
                }
            }
        };
        let own = |c: usize| part.channels.contains(&c).then(|| c - part.channels.start);
        if self.shared.is_some() {
            push(0, 0, 0, 0);
            return kernel;
        }
        let map = operand.linear.grouped(tensor.shape);
        for (place, &output) in bundle.channels.iter().enumerate() {
            let Some(row) = map.kernel_of(output) else {
                continue;
            };
            let first = row / map.kernels * map.inputs;
            for c in 0..map.inputs {
                if let Some(channel) = own(first + c) {
                    let start = place * bundle.distance;
                    push(start, channel, c * taps.len(), map.weights_of(row));
                }
            }
        }
        kernel
    }
}

/// The ranges of images, or of channels, of the tensor's ciphertexts.
fn ranges(tensor: &Tensor, of: impl Fn(&Part) -> &Range<usize>) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = tensor.parts.iter().map(|t| of(t).clone()).collect();
    ranges.sort_unstable_by_key(|r| r.start);
    ranges.dedup();
    ranges
}
