//! Tensors in blocks: a channel's part of the image lies row by row in a block of slots, with
//! padding and with the neighbours that its windows reach. Shared by LoLa, A+W, Channel and Gala.
//!
//! A rotation by a tap's distance brings every window's value of that tap to the slot of its
//! result. Since the neighbours are there, nothing that enters a result is rotated around a border:
//! no mask is needed. The paper's "permute" of partial sums is this rotation.

use crate::error::{Result, shape};
use crate::frame::Frame;
use crate::layer::{Layer, pairs};
use crate::writer::Writer;
use program::circuit::ValueId;

/// The places of a layer's tensors in blocks.
pub(crate) struct Blocks<'a> {
    pub(crate) layer: &'a Layer,
    row: usize,
    rows: usize,
    /// Height and width of the outputs of a tile.
    tile: [usize; 2],
    /// Numbers of tiles.
    tiles: [usize; 2],
    /// Width of the patch of inputs that a tile reads.
    width: usize,
    /// Slots of a block: a power of two.
    pub(crate) block: usize,
    /// Blocks of a row.
    pub(crate) per_row: usize,
    /// True if the channels of one group repeat after a power of two of blocks, in every row. Else
    /// groups lie side by side.
    repeats: bool,
    /// Rows with groups of their own. In other rows, the same channels lie again.
    group_rows: usize,
    /// Groups in a row.
    pub(crate) groups: usize,
    /// Ciphertexts of a group, if it takes several.
    pub(crate) parts: usize,
    /// Ciphertexts of a tile of an image.
    pub(crate) ciphertexts: usize,
    /// Kernels of a group that each row computes.
    pub(crate) kernels: usize,
}

impl<'a> Blocks<'a> {
    /// Lays out a layer. If it `repeats` and has one group, the channels repeat along a row.
    pub(crate) fn new(layer: &'a Layer, frame: &Frame, repeats: bool) -> Result<Self> {
        layer.check()?;
        let (row, rows, span) = (frame.row(), frame.rows(), layer.span());
        let output = layer.output();
        let mut tile = output;
        let patch = |tile: [usize; 2]| [0, 1].map(|a| (tile[a] - 1) * layer.stride[a] + span[a]);
        while patch(tile)[0] * patch(tile)[1] > row {
            if tile == [1, 1] {
                let expected = format!("at most the {row} slots of a row");
                let what = "the number of values that a window covers";
                return Err(shape(what, span[0] * span[1], expected));
            }
            let longer = usize::from(tile[1] >= tile[0]);
            tile[longer] = tile[longer].div_ceil(2);
        }
        let [height, width] = patch(tile);
        let block = (height * width).next_power_of_two();
        let per_row = row / block;
        let (channels, groups) = (layer.group_channels(), layer.groups);
        let narrow = channels <= per_row;
        let group_rows = match layer.group_kernels() == 1 && groups > 1 && narrow {
            true => rows,
            false => 1,
        };
        let in_row = match narrow {
            true => (per_row / channels).min(groups.div_ceil(group_rows)),
            false => 1,
        };
        let parts = channels.div_ceil(per_row);
        Ok(Self {
            layer,
            row,
            rows,
            tile,
            tiles: [0, 1].map(|axis| output[axis].div_ceil(tile[axis])),
            width,
            block,
            per_row,
            repeats: repeats && (groups == 1 || !narrow),
            group_rows,
            groups: in_row,
            parts,
            ciphertexts: groups.div_ceil(in_row * group_rows) * parts,
            kernels: layer.group_kernels().div_ceil(rows / group_rows),
        })
    }

    /// Blocks after which the channels of a repeating layout come again.
    pub(crate) fn period(&self) -> usize {
        let channels = self.layer.group_channels();
        channels.next_power_of_two().min(self.per_row)
    }

    /// Returns true if the channels of a group repeat along a row.
    pub(crate) fn repeating(&self) -> bool {
        self.repeats
    }

    /// Channels of a group that lie in one ciphertext, at most.
    pub(crate) fn together(&self) -> usize {
        self.layer.group_channels().min(self.per_row)
    }

    /// Number of tiles of all images.
    pub(crate) fn all_tiles(&self) -> usize {
        self.layer.batch * self.tiles[0] * self.tiles[1]
    }

    /// Ciphertexts or groups of ciphertexts that belong together.
    pub(crate) fn sets(&self) -> usize {
        self.ciphertexts / self.parts
    }

    /// Returns the group that lies at a place of a row, if there is one.
    pub(crate) fn group(&self, set: usize, row: usize, place: usize) -> Option<usize> {
        let row = if self.group_rows > 1 { row } else { 0 };
        let group = (set * self.group_rows + row) * self.groups + place;
        (place < self.groups && group < self.layer.groups).then_some(group)
    }

    /// Places of a set in which a group lies, in any row.
    pub(crate) fn places(&self, set: usize) -> usize {
        let before = set * self.group_rows * self.groups;
        self.groups.min(self.layer.groups - before)
    }

    /// The group, and the channel in it, in a block.
    pub(crate) fn channel(
        &self,
        (set, part): (usize, usize),
        row: usize,
        block: usize,
    ) -> Option<(usize, usize)> {
        let channels = self.layer.group_channels();
        if self.repeats {
            let channel = part * self.per_row + block % self.period();
            return (channel < channels).then_some((set, channel));
        }
        if channels > self.per_row {
            let channel = part * self.per_row + block;
            return (channel < channels).then_some((set, channel));
        }
        let group = self.group(set, row, block / channels)?;
        Some((group, block % channels))
    }

    /// Kernel number `index` of a row, in a group.
    pub(crate) fn kernel(&self, group: usize, row: usize, index: usize) -> Option<usize> {
        let share = if self.group_rows > 1 { 0 } else { row };
        let own = share * self.kernels + index;
        let kernels = self.layer.group_kernels();
        (index < self.kernels && own < kernels).then_some(group * kernels + own)
    }

    /// Number of slots by which a tap's values are rotated to the left.
    pub(crate) fn distance(&self, [r, s]: [usize; 2]) -> usize {
        let [down, right] = self.layer.dilation;
        r * down * self.width + s * right
    }

    /// Places of a tile's results in a block.
    fn results(&self) -> impl Iterator<Item = ([usize; 2], usize)> {
        let [down, right] = self.layer.stride;
        let width = self.width;
        pairs(self.tile[0], self.tile[1]).map(move |(i, j)| ([i, j], i * down * width + j * right))
    }

    /// Writes the encrypted inputs of every tile of every image, set by set.
    pub(crate) fn inputs(&self, w: &mut Writer) -> Result<Vec<Vec<Vec<ValueId>>>> {
        let mut all = Vec::new();
        for tile in 0..self.all_tiles() {
            let mut sets = Vec::new();
            for set in 0..self.sets() {
                let parts = (0..self.parts).map(|part| w.input(self.input(tile, (set, part))));
                sets.push(parts.collect::<Result<_>>()?);
            }
            all.push(sets);
        }
        Ok(all)
    }

    fn input(&self, tile: usize, at: (usize, usize)) -> Vec<Option<u32>> {
        let (image, corner) = self.corner(tile);
        let mut values = vec![None; self.row * self.rows];
        for (row, block) in pairs(self.rows, self.per_row) {
            let Some((group, channel)) = self.channel(at, row, block) else {
                continue;
            };
            let channel = group * self.layer.group_channels() + channel;
            let span = self.layer.span();
            let height = (self.tile[0] - 1) * self.layer.stride[0] + span[0];
            for (y, x) in pairs(height, self.width) {
                let from = [0, 1].map(|a| corner[a] * self.layer.stride[a] + [y, x][a]);
                let slot = row * self.row + block * self.block + y * self.width + x;
                values[slot] = self.layer.value(image, channel, from);
            }
        }
        values
    }

    /// The image of a tile, and the row and column of its first result.
    fn corner(&self, tile: usize) -> (usize, [usize; 2]) {
        let [down, right] = self.tiles;
        let (image, tile) = (tile / (down * right), tile % (down * right));
        let at = [tile / right, tile % right];
        (image, [0, 1].map(|axis| at[axis] * self.tile[axis]))
    }

    /// A plaintext: in the slots of every result of a block, moved by `distance` slots, the number
    /// that `weight` gives for row and block.
    pub(crate) fn plaintext(
        &self,
        distance: usize,
        weight: impl Fn(usize, usize) -> i64,
    ) -> Vec<i64> {
        let mut slots = vec![0; self.row * self.rows];
        for (row, block) in pairs(self.rows, self.per_row) {
            let weight = weight(row, block);
            if weight != 0 {
                for (_, slot) in self.results() {
                    slots[row * self.row + block * self.block + slot + distance] = weight;
                }
            }
        }
        slots
    }

    /// Adds up partial sums, one for each tap, to one for each window: first along the lines of the
    /// window, then over its lines. All but the first of a window's sums are rotated.
    pub(crate) fn windows(&self, w: &mut Writer, sums: &[ValueId]) -> Result<Vec<ValueId>> {
        let [height, width] = self.layer.kernel;
        let lines = sums.chunks(width);
        let lines = lines.map(|line| w.nested(line, self.distance([0, 1])));
        let lines: Vec<ValueId> = lines.collect::<Result<_>>()?;
        let windows = lines.chunks(height);
        let windows = windows.map(|window| w.nested(window, self.distance([1, 0])));
        windows.collect()
    }

    /// The results in an output, where `kernel` gives the kernel of a row and block.
    pub(crate) fn output(
        &self,
        tile: usize,
        kernel: impl Fn(usize, usize) -> Option<usize>,
    ) -> Vec<Option<u32>> {
        let (image, corner) = self.corner(tile);
        let [height, width] = self.layer.output();
        let mut values = vec![None; self.row * self.rows];
        for (row, block) in pairs(self.rows, self.per_row) {
            let Some(kernel) = kernel(row, block) else {
                continue;
            };
            for ([i, j], slot) in self.results() {
                let (y, x) = (corner[0] + i, corner[1] + j);
                if y < height && x < width {
                    let result = self.layer.result(image, kernel, [y, x]);
                    values[row * self.row + block * self.block + slot] = Some(result);
                }
            }
        }
        values
    }
}
