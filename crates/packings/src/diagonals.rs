//! Products along diagonals of channels and kernels, shared by Channel and Gala.
//!
//! Blocks hold channels on the way in and kernels on the way out. Diagonal `d` has the weights of
//! kernel `b` and channel `b + d` in the block of the channel. It is multiplied with the input,
//! rotated by each tap, summed over taps, and rotated by `d` blocks.
//!
//! Within a row, channels repeat after a power of two of blocks, so that diagonals are cyclic. With
//! fewer kernels than channels, there are as many diagonals as kernels, and the results are folded
//! (GAZELLE's hybrid method). Groups smaller than a row lie side by side, and their diagonals are
//! not cyclic: some have negative numbers.

use crate::blocks::Blocks;
use crate::counts::Counts;
use crate::error::Result;
use crate::frame::Frame;
use crate::layer::Layer;
use crate::packed::Packed;
use crate::writer::Writer;
use program::circuit::ValueId;

/// The diagonals of a layer.
struct Diagonals<'a> {
    blocks: Blocks<'a>,
    /// Number of the first diagonal, which is 0 or negative.
    first: isize,
    /// Number of diagonals.
    count: usize,
    /// Kernels of a group in one output, in each row.
    kernels: usize,
    /// Outputs of a set.
    outputs: usize,
    /// Sums over blocks that end up in one result.
    fold: usize,
}

impl<'a> Diagonals<'a> {
    fn new(layer: &'a Layer, frame: &Frame) -> Result<Self> {
        let blocks = Blocks::new(layer, frame, true)?;
        let (first, count, kernels, fold) = if blocks.repeating() {
            let period = blocks.period();
            let count = blocks.kernels.next_power_of_two().min(period);
            let fold = period / count;
            let kernels = if fold == 1 { blocks.per_row } else { count };
            (0, count, kernels, fold)
        } else {
            let channels = layer.group_channels();
            let kernels = channels.min(blocks.kernels);
            (1 - kernels as isize, kernels + channels - 1, kernels, 1)
        };
        let outputs = blocks.kernels.div_ceil(kernels);
        Ok(Self {
            blocks,
            first,
            count,
            kernels,
            outputs,
            fold,
        })
    }

    /// Kernel of a block of an output, before its results are folded.
    fn kernel(&self, at: (usize, usize), row: usize, block: usize) -> Option<usize> {
        let (set, output) = at;
        let blocks = &self.blocks;
        let (group, own) = if blocks.repeating() {
            (set, block % self.kernels)
        } else {
            let channels = blocks.layer.group_channels();
            let group = blocks.group(set, row, block / channels)?;
            (group, block % channels)
        };
        let index = output * self.kernels + own;
        let kernel = blocks.kernel(group, row, index);
        kernel.filter(|_| own < self.kernels)
    }

    /// The weight at a block of a ciphertext, for diagonal number `d`.
    fn weight(
        &self,
        weights: &[i64],
        ((set, part), output): ((usize, usize), usize),
        (row, block): (usize, usize),
        (d, tap): (isize, [usize; 2]),
    ) -> i64 {
        let blocks = &self.blocks;
        let Some((group, channel)) = blocks.channel((set, part), row, block) else {
            return 0;
        };
        let target = block as isize - d;
        let target = if blocks.repeating() {
            target.rem_euclid(blocks.per_row as isize) as usize
        } else {
            // The kernel lies in the channel's group.
            let channels = blocks.layer.group_channels() as isize;
            match target.div_euclid(channels) == block as isize / channels {
                true => target as usize,
                false => return 0,
            }
        };
        let kernel = self.kernel((set, output), row, target);
        let same = |k: &usize| k / blocks.layer.group_kernels() == group;
        let kernel = kernel.filter(same);
        kernel.map_or(0, |k| weights[blocks.layer.weight(k, channel, tap)])
    }
}

/// The closed formula. If sums are rotated `late`, the ciphertexts of a group are added up first.
pub(crate) fn counts(layer: &Layer, frame: &Frame, late: bool) -> Result<Counts> {
    let d = Diagonals::new(layer, frame)?;
    let (blocks, taps) = (&d.blocks, layer.taps());
    let outputs = blocks.sets() * d.outputs;
    let sums = outputs * d.count;
    let products = sums * blocks.parts * taps;
    let each = if late { 1 } else { blocks.parts };
    // Negative diagonals take one rotation more, back to the start.
    let back = usize::from(d.first < 0);
    let moved = outputs * (each * (d.count - 1 + back) + d.fold.ilog2() as usize);
    Ok(Counts {
        inputs: blocks.ciphertexts as u64,
        outputs: outputs as u64,
        plaintexts: products as u64,
        products: products as u64,
        masks: 0,
        early: (blocks.ciphertexts * (taps - 1)) as u64,
        turned: (blocks.ciphertexts * usize::from(taps > 1)) as u64,
        sums: (sums * each) as u64,
        outer: (sums * each) as u64,
        rotations: (blocks.ciphertexts * (taps - 1) + moved) as u64,
        decompositions: (blocks.ciphertexts * usize::from(taps > 1) + moved) as u64,
    }
    .repeated(blocks.all_tiles()))
}

/// Writes the layer. If sums are rotated `late`, the ciphertexts of a group are added up first.
pub(crate) fn build(
    name: &str,
    layer: &Layer,
    weights: &[i64],
    frame: &Frame,
    late: bool,
) -> Result<Packed> {
    layer.check_weights(weights)?;
    let d = Diagonals::new(layer, frame)?;
    let blocks = &d.blocks;
    let mut w = Writer::new(name, frame, 1)?;
    let inputs = blocks.inputs(&mut w)?;
    let taps: Vec<[usize; 2]> = layer.window().collect();
    let mut turned = Vec::new();
    for input in inputs.iter().flatten().flatten() {
        let rotated = taps
            .iter()
            .map(|&tap| w.rotate(*input, blocks.distance(tap)));
        turned.push(rotated.collect::<Result<Vec<ValueId>>>()?);
    }
    for set in 0..blocks.sets() {
        for output in 0..d.outputs {
            // Plaintexts by part, diagonal and tap. They serve every tile.
            let mut plaintexts = vec![vec![Vec::new(); d.count]; blocks.parts];
            for (part, own) in plaintexts.iter_mut().enumerate() {
                for (index, own) in own.iter_mut().enumerate() {
                    for &tap in &taps {
                        let number = d.first + index as isize;
                        let weight = |row: usize, block: usize| {
                            let at = ((set, part), output);
                            d.weight(weights, at, (row, block), (number, tap))
                        };
                        own.push(w.weights(&blocks.plaintext(0, weight), 1)?);
                    }
                }
            }
            for tile in 0..blocks.all_tiles() {
                let first = (tile * blocks.sets() + set) * blocks.parts;
                let terms = |part: usize, index: usize| {
                    let rotated = turned[first + part].iter();
                    let terms = rotated.zip(&plaintexts[part][index]);
                    terms.map(|(&x, &w)| [x, w]).collect::<Vec<_>>()
                };
                let together: Vec<Vec<usize>> = match late {
                    true => vec![(0..blocks.parts).collect()],
                    false => (0..blocks.parts).map(|part| vec![part]).collect(),
                };
                let mut total: Option<ValueId> = None;
                for parts in together {
                    let mut sums = Vec::new();
                    for index in 0..d.count {
                        let all = parts.iter().flat_map(|&part| terms(part, index));
                        sums.push(w.sum(&all.collect::<Vec<_>>())?);
                    }
                    let mut sum = w.nested(&sums, blocks.block)?;
                    if d.first < 0 {
                        let back = d.first.unsigned_abs() * blocks.block;
                        sum = w.rotate_right(sum, back)?;
                    }
                    total = Some(match total {
                        Some(total) => w.add(total, sum)?,
                        None => sum,
                    });
                }
                let total = total.expect("a group has a ciphertext");
                let stride = d.count * blocks.block;
                let total = w.fold(total, stride, d.fold)?;
                // The results of a repeating layout lie several times: they are read once.
                let kernel = |row: usize, block: usize| {
                    let again = blocks.repeating() && block >= d.kernels;
                    d.kernel((set, output), row, block).filter(|_| !again)
                };
                w.output(total, blocks.output(tile, kernel))?;
            }
        }
    }
    w.finish(false)
}
