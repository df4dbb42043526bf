//! Tensors in cells: the values of a window lie next to each other. Shared by Hyena and Hyena+.
//!
//! A *cell* is a rectangle of the padded input, and cells do not overlap. Windows that begin at the
//! corners of cells do not overlap either. These windows give the results of class (0, 0). A window
//! of class (a, b) begins `a` steps of the stride further down and `b` further right, and reaches
//! into the next cells. There are as many classes as steps in a cell: 9 for a 3x3 kernel of stride
//! 1. The paper's dataflow computes `(R-1)(S-1)+1`, so 5 of these; ours computes all.
//!
//! The ciphertexts of another class are the ciphertexts of class (0, 0) with every value moved. No
//! single rotation moves all values: those that stay in their cell move by another distance than
//! those that enter it from a neighbour. The move is a sum of up to four rotations, each with a
//! mask.

mod write;

pub(crate) use write::{build, counts};

use crate::error::{Result, shape};
use crate::frame::Frame;
use crate::layer::{Layer, pairs};

/// The places of a layer's tensors in cells.
///
/// Slots of a row are numbered lane, cell, channel, place in the cell. A lane has an image, a group
/// and a share of the group's kernels.
struct Cells<'a> {
    layer: &'a Layer,
    row: usize,
    rows: usize,
    /// Classes in both directions.
    classes: [usize; 2],
    /// Height and width of a cell, as far as windows use it.
    cell: [usize; 2],
    /// Distance of cells in the input.
    pitch: [usize; 2],
    /// Cells of a tile that have results.
    tile: [usize; 2],
    /// Cells of a ciphertext, with the neighbours that windows reach into.
    grid: [usize; 2],
    tiles: [usize; 2],
    /// Channels of a group in a ciphertext.
    together: usize,
    /// Ciphertexts of a group.
    parts: usize,
    /// Images, groups, and shares of kernels in a ciphertext.
    images: usize,
    groups: usize,
    shares: usize,
    /// Kernels of a share.
    kernels: usize,
}

/// Levels that a layer takes: one more if values are moved.
pub(crate) fn depth(layer: &Layer) -> usize {
    let several = |axis: usize| classes(layer)[axis] > 1 && layer.output()[axis] > 1;
    1 + usize::from(several(0) || several(1))
}

fn classes(layer: &Layer) -> [usize; 2] {
    [0, 1].map(|axis| layer.span()[axis].div_ceil(layer.stride[axis]))
}

impl<'a> Cells<'a> {
    fn new(layer: &'a Layer, frame: &Frame, batched: bool) -> Result<Self> {
        layer.check()?;
        let (row, rows) = (frame.row(), frame.rows());
        let (classes, span, output) = (classes(layer), layer.span(), layer.output());
        let pitch = [0, 1].map(|a| classes[a] * layer.stride[a]);
        let cell = [0, 1].map(|a| if classes[a] == 1 { span[a] } else { pitch[a] });
        let size = cell[0] * cell[1];
        // All cells that have results, and all that windows reach.
        let own = [0, 1].map(|a| output[a].div_ceil(classes[a]));
        let reached = |a: usize| ((output[a] - 1) * layer.stride[a] + span[a]).div_ceil(pitch[a]);
        let all = [0, 1].map(reached);
        let grid =
            |tile: [usize; 2]| [0, 1].map(|a| (tile[a] + usize::from(classes[a] > 1)).min(all[a]));
        let mut tile = own;
        while grid(tile)[0] * grid(tile)[1] * size > row {
            if tile == [1, 1] {
                let (found, what) = (size, "the number of values of a cell and its neighbours");
                return Err(shape(
                    what,
                    found,
                    format!("at most the {row} slots of a row"),
                ));
            }
            let longer = usize::from(tile[1] >= tile[0]);
            tile[longer] = tile[longer].div_ceil(2);
        }
        let tiles = [0, 1].map(|a| own[a].div_ceil(tile[a]));
        let grid = grid(tile);
        let (channels, room) = (layer.group_channels(), row / (grid[0] * grid[1] * size));
        // Images come before channels, channels before groups and shares.
        let in_row = if batched {
            layer.batch.div_ceil(rows).min(room)
        } else {
            1
        };
        let parts = channels.div_ceil(room / in_row);
        let together = channels.div_ceil(parts);
        let lanes = rows * (room / together);
        let images = if batched { layer.batch.min(lanes) } else { 1 };
        let groups = match parts {
            1 => layer.groups.min(lanes / images),
            _ => 1,
        };
        let shares = (lanes / (images * groups)).min(layer.group_kernels());
        Ok(Self {
            layer,
            row,
            rows,
            classes,
            cell,
            pitch,
            tile,
            grid,
            tiles,
            together,
            parts,
            images,
            groups,
            shares,
            kernels: layer.group_kernels().div_ceil(shares),
        })
    }

    /// Slots of a cell with its channels: one result is the sum of these.
    fn block(&self) -> usize {
        self.together * self.cell[0] * self.cell[1]
    }

    fn lane(&self) -> usize {
        self.grid[0] * self.grid[1] * self.block()
    }

    /// Sets of groups that share ciphertexts.
    fn sets(&self) -> usize {
        self.layer.groups.div_ceil(self.groups)
    }

    /// Sets of images, times tiles.
    fn all_tiles(&self) -> usize {
        self.layer.batch.div_ceil(self.images) * self.tiles[0] * self.tiles[1]
    }

    /// Number of the first image of a tile, and the row and column of its first cell.
    fn corner(&self, tile: usize) -> (usize, [usize; 2]) {
        let [down, right] = self.tiles;
        let (images, tile) = (tile / (down * right), tile % (down * right));
        let at = [tile / right, tile % right];
        let corner = [0, 1].map(|axis| at[axis] * self.tile[axis]);
        (images * self.images, corner)
    }

    /// Classes that have results in a tile.
    fn classes_of(&self, tile: usize) -> [usize; 2] {
        let (_, corner) = self.corner(tile);
        [0, 1].map(|a| {
            let left = self.layer.output()[a] - corner[a] * self.classes[a];
            self.classes[a].min(left)
        })
    }

    /// Every lane: its first slot, and the numbers of its image, group and share in the ciphertext.
    fn lanes(&self) -> impl Iterator<Item = (usize, [usize; 3])> {
        let in_row = self.row / self.lane();
        (0..self.images * self.groups * self.shares).map(move |lane| {
            let slot = lane / in_row * self.row + lane % in_row * self.lane();
            let image = lane / (self.groups * self.shares);
            let group = lane / self.shares % self.groups;
            (slot, [image, group, lane % self.shares])
        })
    }

    /// The values of a ciphertext of class (0, 0).
    fn input(&self, tile: usize, (set, part): (usize, usize)) -> Vec<Option<u32>> {
        let (first, corner) = self.corner(tile);
        let channels = self.layer.group_channels();
        let mut values = vec![None; self.row * self.rows];
        for (start, [image, group, _]) in self.lanes() {
            let (image, group) = (first + image, set * self.groups + group);
            if image >= self.layer.batch || group >= self.layer.groups {
                continue;
            }
            let mut slot = start;
            for (down, right) in pairs(self.grid[0], self.grid[1]) {
                for own in 0..self.together {
                    let channel = part * self.together + own;
                    for (u, v) in pairs(self.cell[0], self.cell[1]) {
                        let cell = [corner[0] + down, corner[1] + right];
                        let at = [0, 1].map(|a| cell[a] * self.pitch[a] + [u, v][a]);
                        if channel < channels {
                            let channel = group * channels + channel;
                            values[slot] = self.layer.value(image, channel, at);
                        }
                        slot += 1;
                    }
                }
            }
        }
        values
    }

    /// The rotations that make a class's ciphertexts: steps to the left, and for each the mask.
    fn moves(&self, class: [usize; 2]) -> Vec<(usize, Vec<i64>)> {
        let span = self.layer.span();
        let by = [0, 1].map(|a| class[a] * self.layer.stride[a]);
        let into = |a: usize| 1 + usize::from(class[a] > 0 && self.grid[a] > 1);
        let strides = [self.grid[1] * self.block(), self.block()];
        let mut moves = Vec::new();
        for (over_y, over_x) in pairs(into(0), into(1)) {
            let over = [over_y, over_x];
            let within = |a: usize, at: usize| {
                let enters = at + by[a] >= self.cell[a];
                at < span[a] && enters == (over[a] == 1)
            };
            let mut mask = vec![0; self.row * self.rows];
            for (start, _) in self.lanes() {
                let mut slot = start;
                for (down, right) in pairs(self.grid[0], self.grid[1]) {
                    let inside = down + over_y < self.grid[0] && right + over_x < self.grid[1];
                    for _ in 0..self.together {
                        for (u, v) in pairs(self.cell[0], self.cell[1]) {
                            if inside && within(0, u) && within(1, v) {
                                mask[slot] = 1;
                            }
                            slot += 1;
                        }
                    }
                }
            }
            let forward = over_y * strides[0] + over_x * strides[1];
            let steps = (by[0] * self.cell[1] + by[1] + forward)
                - (over_y * self.cell[0] * self.cell[1] + over_x * self.cell[1]);
            moves.push((steps, mask));
        }
        moves
    }

    /// The kernel of a lane's cell in partial sum `index`. Neighbouring cells have different
    /// kernels, so that the plaintext of the next sum is this one moved by a cell.
    fn kernel(&self, group: usize, share: usize, cell: usize, index: usize) -> Option<usize> {
        let own = share * self.kernels + (cell + index) % self.kernels;
        let kernels = self.layer.group_kernels();
        (own < kernels && group < self.layer.groups).then_some(group * kernels + own)
    }

    /// The weights of a ciphertext for partial sum `index`.
    fn weights(&self, weights: &[i64], (set, part): (usize, usize), index: usize) -> Vec<i64> {
        let channels = self.layer.group_channels();
        let mut slots = vec![0; self.row * self.rows];
        for (start, [_, group, share]) in self.lanes() {
            for cell in 0..self.grid[0] * self.grid[1] {
                let Some(kernel) = self.kernel(set * self.groups + group, share, cell, index)
                else {
                    continue;
                };
                for own in 0..self.together {
                    let channel = part * self.together + own;
                    if channel >= channels {
                        break;
                    }
                    let first = start + (cell * self.together + own) * self.cell[0] * self.cell[1];
                    for tap in self.layer.window() {
                        let [u, v] = [0, 1].map(|a| tap[a] * self.layer.dilation[a]);
                        let weight = self.layer.weight(kernel, channel, tap);
                        slots[first + u * self.cell[1] + v] = weights[weight];
                    }
                }
            }
        }
        slots
    }

    /// The results of partial sum `index` of a class.
    fn output(
        &self,
        (tile, set): (usize, usize),
        class: [usize; 2],
        index: usize,
    ) -> Vec<Option<u32>> {
        let (first, corner) = self.corner(tile);
        let [height, width] = self.layer.output();
        let mut values = vec![None; self.row * self.rows];
        for (start, [image, group, share]) in self.lanes() {
            let (image, group) = (first + image, set * self.groups + group);
            for (down, right) in pairs(self.grid[0], self.grid[1]) {
                let cell = down * self.grid[1] + right;
                let kernel = self.kernel(group, share, cell, index);
                let own = down < self.tile[0] && right < self.tile[1] && image < self.layer.batch;
                let y = (corner[0] + down) * self.classes[0] + class[0];
                let x = (corner[1] + right) * self.classes[1] + class[1];
                if let (Some(kernel), true) = (kernel, own && y < height && x < width) {
                    let result = self.layer.result(image, kernel, [y, x]);
                    values[start + cell * self.block()] = Some(result);
                }
            }
        }
        values
    }
}
