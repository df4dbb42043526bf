//! One value a ciphertext, with the images of a batch in its slots. Shared by BatchWise and
//! BatchWise+.
//!
//! There is no rotation. Every product of a value and a weight is a product of ciphertext and
//! plaintext. The slots that remain take several groups, and several kernels of a group.

use crate::counts::Counts;
use crate::error::Result;
use crate::frame::Frame;
use crate::layer::{Layer, pairs};
use crate::packed::Packed;
use crate::writer::Writer;
use program::circuit::ValueId;
use std::collections::BTreeMap;

/// The places of a batch in slots: lanes of images, numbered group, kernel.
struct Scalars<'a> {
    layer: &'a Layer,
    /// Slots of a lane: a power of two.
    images: usize,
    /// Kernels of a group in a ciphertext.
    kernels: usize,
    /// Groups in a ciphertext.
    groups: usize,
    /// Number of slots after which a plaintext repeats.
    period: usize,
}

impl<'a> Scalars<'a> {
    fn new(layer: &'a Layer, frame: &Frame, lanes: bool) -> Result<Self> {
        layer.check()?;
        let images = layer.batch.next_power_of_two().min(frame.slots());
        let room = if lanes { frame.slots() / images } else { 1 };
        let kernels = layer.group_kernels().min(room);
        let groups = layer.groups.min(room / kernels);
        Ok(Self {
            layer,
            images,
            kernels,
            groups,
            period: images * if lanes { frame.slots() / images } else { 1 },
        })
    }

    fn image_sets(&self) -> usize {
        self.layer.batch.div_ceil(self.images)
    }

    fn group_sets(&self) -> usize {
        self.layer.groups.div_ceil(self.groups)
    }

    fn kernel_sets(&self) -> usize {
        self.layer.group_kernels().div_ceil(self.kernels)
    }

    /// For each slot, the numbers of its image, group and kernel.
    fn places(&self, images: usize, groups: usize) -> impl Iterator<Item = [usize; 3]> {
        let lanes = self.groups * self.kernels;
        (0..self.period).map(move |slot| {
            let (lane, image) = (slot / self.images, slot % self.images);
            // A lane without a group gets a number beyond the layer's groups.
            let group = if lane < lanes {
                lane / self.kernels
            } else {
                self.layer.groups
            };
            let image = images * self.images + image;
            [image, groups * self.groups + group, lane % self.kernels]
        })
    }

    /// The taps of an output's window that read a row, or column, of the input: pairs of the tap
    /// and its place in the padded input.
    fn seen(&self, axis: usize, output: usize) -> Vec<(usize, usize)> {
        let taps = (0..self.layer.kernel[axis]).map(|tap| {
            (
                tap,
                output * self.layer.stride[axis] + tap * self.layer.dilation[axis],
            )
        });
        let (before, size) = (self.layer.pads[axis], self.layer.input[axis]);
        taps.filter(|&(_, at)| (before..before + size).contains(&at))
            .collect()
    }

    /// Pairs of a result and a tap within the input, for one axis.
    fn pairs_seen(&self, axis: usize) -> usize {
        let outputs = 0..self.layer.output()[axis];
        outputs.map(|output| self.seen(axis, output).len()).sum()
    }

    /// Rows or columns of the input that any window reads.
    fn read(&self, axis: usize) -> Vec<usize> {
        let outputs = 0..self.layer.output()[axis];
        let all = outputs.flat_map(|output| self.seen(axis, output));
        let mut all: Vec<usize> = all.map(|(_, at)| at).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Results whose windows see no value of the input in an axis.
    fn blind(&self, axis: usize) -> bool {
        (0..self.layer.output()[axis]).any(|output| self.seen(axis, output).is_empty())
    }
}

/// The closed formula. With `lanes`, slots beyond the batch take groups and kernels.
pub(crate) fn counts(layer: &Layer, frame: &Frame, lanes: bool) -> Result<Counts> {
    let s = Scalars::new(layer, frame, lanes)?;
    refuse_blind(&s)?;
    let channels = layer.group_channels() as u64;
    let (sets, kernel_sets) = (s.group_sets() as u64, s.kernel_sets() as u64);
    let [height, width] = layer.output();
    let seen = (s.pairs_seen(0) * s.pairs_seen(1)) as u64;
    let used = |axis: usize| {
        let outputs = 0..layer.output()[axis];
        let mut taps: Vec<usize> = outputs
            .flat_map(|output| s.seen(axis, output))
            .map(|(tap, _)| tap)
            .collect();
        taps.sort_unstable();
        taps.dedup();
        taps.len() as u64
    };
    Ok(Counts {
        inputs: sets * channels * (s.read(0).len() * s.read(1).len()) as u64,
        outputs: sets * kernel_sets * (height * width) as u64,
        sums: sets * kernel_sets * (height * width) as u64,
        outer: sets * kernel_sets * (height * width) as u64,
        plaintexts: sets * kernel_sets * channels * used(0) * used(1),
        products: sets * kernel_sets * channels * seen,
        ..Counts::default()
    }
    .repeated(s.image_sets()))
}

fn refuse_blind(s: &Scalars) -> Result<()> {
    if s.blind(0) || s.blind(1) {
        let what = "the padding";
        let found = format!("{:?}, with windows in it that see no value", s.layer.pads);
        return Err(crate::error::shape(what, found, "less than a window"));
    }
    Ok(())
}

/// Writes the layer. With `lanes`, slots beyond the batch take groups and kernels.
pub(crate) fn build(
    name: &str,
    layer: &Layer,
    weights: &[i64],
    frame: &Frame,
    lanes: bool,
) -> Result<Packed> {
    layer.check_weights(weights)?;
    let s = Scalars::new(layer, frame, lanes)?;
    refuse_blind(&s)?;
    let mut w = Writer::new(name, frame, 1)?;
    let channels = layer.group_channels();
    let mut plaintexts: BTreeMap<[usize; 5], ValueId> = BTreeMap::new();
    let [height, width] = layer.output();
    for (images, groups) in pairs(s.image_sets(), s.group_sets()) {
        let mut inputs: BTreeMap<[usize; 3], ValueId> = BTreeMap::new();
        for channel in 0..channels {
            for &y in &s.read(0) {
                for &x in &s.read(1) {
                    let value = |[image, group, _]: [usize; 3]| {
                        let there = image < layer.batch && group < layer.groups;
                        let channel = group * channels + channel;
                        there.then(|| layer.value(image, channel, [y, x])).flatten()
                    };
                    let values = s.places(images, groups).map(value).collect();
                    inputs.insert([channel, y, x], w.input(values)?);
                }
            }
        }
        for kernels in 0..s.kernel_sets() {
            let kernel = |[_, group, own]: [usize; 3]| {
                let own = kernels * s.kernels + own;
                let there = group < layer.groups && own < layer.group_kernels();
                there.then_some(group * layer.group_kernels() + own)
            };
            for (oy, ox) in pairs(height, width) {
                let mut terms = Vec::new();
                for channel in 0..channels {
                    for (r, y) in s.seen(0, oy) {
                        for (t, x) in s.seen(1, ox) {
                            let key = [groups, kernels, channel, r, t];
                            let known = plaintexts.get(&key).copied();
                            let weight = match known {
                                Some(weight) => weight,
                                None => {
                                    let weight = |place: [usize; 3]| {
                                        kernel(place).map_or(0, |kernel| {
                                            weights[layer.weight(kernel, channel, [r, t])]
                                        })
                                    };
                                    let slots: Vec<i64> = match lanes {
                                        true => s.places(0, groups).map(weight).collect(),
                                        false => vec![weight([0, groups, 0])],
                                    };
                                    let id = w.weights(&slots, 1)?;
                                    plaintexts.insert(key, id);
                                    id
                                }
                            };
                            terms.push([inputs[&[channel, y, x]], weight]);
                        }
                    }
                }
                let sum = w.sum(&terms)?;
                let result = |place: [usize; 3]| {
                    let kernel = kernel(place).filter(|_| place[0] < layer.batch);
                    kernel.map(|kernel| layer.result(place[0], kernel, [oy, ox]))
                };
                w.output(sum, s.places(images, groups).map(result).collect())?;
            }
        }
    }
    w.finish(false)
}
