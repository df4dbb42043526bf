//! A layer as parts that lie side by side.

use crate::layer::{Layer, pairs};
use std::array::from_fn;
use std::ops::Range;

/// A part of a layer that is a layer of its own, and its place in the whole layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The part. Around its input are the zeros that its windows read, and no others.
    pub layer: Layer,
    images: Range<usize>,
    groups: Range<usize>,
    /// Channels of each group.
    channels: Range<usize>,
    /// Kernels of each group.
    kernels: Range<usize>,
    /// Rows and columns of the input.
    reads: [Range<usize>; 2],
    /// Rows and columns of the output.
    writes: [Range<usize>; 2],
}

/// The parts of a layer that have at most as many images, groups, channels, kernels, output rows
/// and columns as `part`, which is one of its [slices](crate::slice).
///
/// A result of the layer is the sum over all tiles that have some of its channels. Tiles that read
/// the same input with other kernels follow each other. A tile whose windows all read only zeros
/// around the input is left out.
pub fn tiles(layer: &Layer, part: &Layer) -> Vec<Tile> {
    let (all, sizes) = (extents(layer), extents(part));
    let mut cuts = vec![all.map(|all| 0..all)];
    for axis in 0..all.len() {
        let split = |cut: &[Range<usize>; 6]| {
            let cut = cut.clone();
            (0..all[axis]).step_by(sizes[axis]).map(move |first| {
                let mut cut = cut.clone();
                cut[axis] = first..(first + sizes[axis]).min(all[axis]);
                cut
            })
        };
        cuts = cuts.iter().flat_map(split).collect();
    }
    cuts.into_iter()
        .filter_map(|cut| Tile::new(layer, cut))
        .collect()
}

/// Numbers of images, groups, channels of a group, output rows and columns, kernels of a group.
fn extents(layer: &Layer) -> [usize; 6] {
    let [rows, columns] = layer.output();
    let (channels, kernels) = (layer.group_channels(), layer.group_kernels());
    [layer.batch, layer.groups, channels, rows, columns, kernels]
}

impl Tile {
    /// The tile of a cut. `None` if no window reads a value.
    fn new(layer: &Layer, cut: [Range<usize>; 6]) -> Option<Self> {
        let [images, groups, channels, rows, columns, kernels] = cut;
        let (writes, span) = ([rows, columns], layer.span());
        // Rows and columns that the windows cover, in the padded input.
        let covers: [Range<usize>; 2] = from_fn(|axis| {
            let Range { start, end } = writes[axis];
            start * layer.stride[axis]..(end - 1) * layer.stride[axis] + span[axis]
        });
        let reads: [Range<usize>; 2] = from_fn(|axis| {
            let (Range { start, end }, before) = (covers[axis].clone(), layer.pads[axis]);
            start.saturating_sub(before)..end.saturating_sub(before).min(layer.input[axis])
        });
        let zeros_before = |axis: usize| layer.pads[axis].saturating_sub(covers[axis].start);
        let zeros_after = |axis: usize| {
            let end = layer.pads[axis] + layer.input[axis];
            covers[axis].end.saturating_sub(end)
        };
        let part = Layer {
            batch: images.len(),
            channels: groups.len() * channels.len(),
            kernels: groups.len() * kernels.len(),
            groups: groups.len(),
            input: [reads[0].len(), reads[1].len()],
            pads: [
                zeros_before(0),
                zeros_before(1),
                zeros_after(0),
                zeros_after(1),
            ],
            ..*layer
        };
        let some = reads.iter().all(|range| !range.is_empty());
        some.then_some(Self {
            layer: part,
            images,
            groups,
            channels,
            kernels,
            reads,
            writes,
        })
    }

    /// The part's values, taken from the values of the whole layer.
    pub fn values(&self, whole: &Layer, x: &[i64]) -> Vec<i64> {
        let mut own = Vec::with_capacity(self.layer.inputs());
        for (image, group) in grid(&self.images, &self.groups) {
            for channel in self.channels.clone() {
                let plane = image * whole.channels + group * whole.group_channels() + channel;
                for row in self.reads[0].clone() {
                    let first = (plane * whole.input[0] + row) * whole.input[1];
                    let Range { start, end } = self.reads[1];
                    own.extend_from_slice(&x[first + start..first + end]);
                }
            }
        }
        own
    }

    /// The part's weights, taken from the weights of the whole layer.
    pub fn weights(&self, whole: &Layer, weights: &[i64]) -> Vec<i64> {
        let mut own = Vec::with_capacity(self.layer.weights());
        for (group, kernel) in grid(&self.groups, &self.kernels) {
            let kernel = group * whole.group_kernels() + kernel;
            let Range { start, end } = self.channels;
            let of =
                |channel| kernel * whole.group_channels() * whole.taps() + channel * whole.taps();
            own.extend_from_slice(&weights[of(start)..of(end)]);
        }
        own
    }

    /// Adds the part's results to the results of the whole layer.
    pub fn add_to(&self, whole: &Layer, results: &mut [i64], own: &[i64]) {
        let mut own = own.iter();
        for (image, group) in grid(&self.images, &self.groups) {
            for kernel in self.kernels.clone() {
                let kernel = group * whole.group_kernels() + kernel;
                for (row, column) in grid(&self.writes[0], &self.writes[1]) {
                    let number = whole.result(image, kernel, [row, column]) as usize;
                    results[number] += own.next().copied().unwrap_or(0);
                }
            }
        }
    }
}

/// All pairs of two ranges, the second fastest.
fn grid(a: &Range<usize>, b: &Range<usize>) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (first, second) = (a.start, b.start);
    pairs(a.len(), b.len()).map(move |(i, j)| (first + i, second + j))
}
