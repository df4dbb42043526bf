//! Linear maps as dot products: weights times patches of the source, both of 16 bits.

use wide::{i16x16, i32x8};

use crate::linear::{Grouped, Linear, Sliding};
use crate::place::Shape;

/// Number of patches in one block. A block and a row of weights stay in the L1 cache.
const BLOCK: usize = 8;
/// Dot products have lengths that are multiples of this, so no remainder has to be treated apart.
const STEP: usize = 16;

/// A linear map on a source of known shape, prepared for evaluation.
///
/// Patches are in the order row, column, channel, so that the part of a row that a window sees lies
/// together.
#[derive(Clone, Debug)]
pub(crate) struct Patches {
    source: Shape,
    sliding: Sliding,
    /// Rows and columns of windows.
    output: [usize; 2],
    groups: usize,
    /// Number of kernels of each group.
    kernels: usize,
    /// Output channel of the first kernel.
    first: usize,
    /// Length of a patch, padded with zeros to a multiple of [`STEP`].
    len: usize,
    /// `len` weights per kernel. If all groups have the same weights, they are stored once.
    weights: Vec<i16>,
    /// Largest sum of absolute weights of a kernel.
    norm: i64,
}

impl Patches {
    /// Prepares `linear` on a source of shape `source`. Both belong to a checked network.
    pub(crate) fn new(linear: &Linear, source: Shape) -> Self {
        let map = linear.grouped(source);
        // One window over the whole source reads its values in their order.
        let (source, map) = map.flattened(source);
        let Grouped {
            sliding,
            groups,
            inputs: channels,
            kernels,
            first,
            weights,
        } = map;
        let taps = sliding.kernel[0] * sliding.kernel[1];
        let len = (channels * taps).next_multiple_of(STEP);
        let rows = weights.chunks_exact(channels * taps);
        let norm = rows.clone().map(|row| row.iter().map(|w| w.abs()).sum());
        let norm = norm.max().unwrap_or(0);
        let mut weights = vec![0; rows.len() * len];
        for (to, row) in weights.chunks_exact_mut(len).zip(rows) {
            for (index, &weight) in row.iter().enumerate() {
                let (channel, tap) = (index / taps, index % taps);
                to[tap * channels + channel] = narrow(weight);
            }
        }
        Self {
            source,
            sliding,
            output: sliding.output([source[1], source[2]]),
            groups,
            kernels,
            first,
            len,
            weights,
            norm,
        }
    }

    /// Number of values in the source.
    pub(crate) fn inputs(&self) -> usize {
        self.source.iter().product()
    }

    /// Adds the map of `values` to `sums`, which are in the order channel, row, column.
    pub(crate) fn add_to(&self, sums: &mut [i64], values: &[i16]) {
        let largest = values.iter().map(|v| v.unsigned_abs()).max().unwrap_or(0);
        if self.norm * i64::from(largest) <= i64::from(i32::MAX) {
            self.add_with(sums, values, dot);
        } else {
            self.add_with(sums, values, wide_dot);
        }
    }

    fn add_with(&self, sums: &mut [i64], values: &[i16], dot: impl Fn(&[i16], &[i16]) -> i64) {
        let positions = self.output[0] * self.output[1];
        let group_values = values.len() / self.groups;
        let mut plane = vec![0; group_values];
        let mut patches = vec![0; BLOCK * self.len];
        let mut weights = self.weights.chunks_exact(self.kernels * self.len).cycle();
        let sums = sums[self.first * positions..].chunks_exact_mut(self.kernels * positions);
        for (sums, values) in sums.zip(values.chunks_exact(group_values)) {
            let weights = weights.next().expect("every group has weights");
            self.channels_last(&mut plane, values);
            for start in (0..positions).step_by(BLOCK) {
                let count = BLOCK.min(positions - start);
                let block = &mut patches[..count * self.len];
                for (index, patch) in block.chunks_exact_mut(self.len).enumerate() {
                    self.fill(patch, &plane, start + index);
                }
                let kernels = weights.chunks_exact(self.len);
                for (row, sums) in kernels.zip(sums.chunks_exact_mut(positions)) {
                    let patches = block.chunks_exact(self.len);
                    for (sum, patch) in sums[start..].iter_mut().zip(patches) {
                        *sum += dot(row, patch);
                    }
                }
            }
        }
    }

    /// Writes the values of a group to `plane` in the order row, column, channel.
    fn channels_last(&self, plane: &mut [i16], values: &[i16]) {
        let channels = self.source[0] / self.groups;
        let places = values.len() / channels;
        for (channel, values) in values.chunks_exact(places).enumerate() {
            let to = plane[channel..].iter_mut().step_by(channels);
            to.zip(values).for_each(|(to, &value)| *to = value);
        }
    }

    /// Writes to `patch` the values of a group in the window at `position`. Values outside of the
    /// image are 0.
    fn fill(&self, patch: &mut [i16], plane: &[i16], position: usize) {
        let [_, height, width] = self.source;
        let channels = self.source[0] / self.groups;
        let at = [position / self.output[1], position % self.output[1]];
        let place = |axis: usize, tap: usize| {
            let Sliding {
                stride,
                dilation,
                pads,
                ..
            } = &self.sliding;
            (at[axis] * stride[axis] + tap * dilation[axis]) as i64 - pads[axis]
        };
        let [rows, columns] = self.sliding.kernel;
        for (tap, seen) in patch
            .chunks_exact_mut(channels)
            .take(rows * columns)
            .enumerate()
        {
            let (row, column) = (place(0, tap / columns), place(1, tap % columns));
            if (0..height as i64).contains(&row) && (0..width as i64).contains(&column) {
                let first = (row as usize * width + column as usize) * channels;
                seen.copy_from_slice(&plane[first..first + channels]);
            } else {
                seen.fill(0);
            }
        }
    }
}

/// Dot product for numbers whose sum of absolute products fits in 32 bits.
fn dot(a: &[i16], b: &[i16]) -> i64 {
    let (a, b) = (a.as_chunks::<STEP>().0, b.as_chunks::<STEP>().0);
    let sums = a.iter().zip(b).fold(i32x8::ZERO, |sums, (&x, &y)| {
        sums + i16x16::new(x).dot(i16x16::new(y))
    });
    i64::from(sums.reduce_add())
}

/// Dot product for any numbers.
fn wide_dot(a: &[i16], b: &[i16]) -> i64 {
    let products = a.iter().zip(b).map(|(&x, &y)| i64::from(x) * i64::from(y));
    products.sum()
}

/// Converts a number of a checked network. All of them fit in 16 bits.
pub(crate) fn narrow(number: i64) -> i16 {
    number
        .try_into()
        .expect("numbers of a checked network fit in 16 bits")
}
