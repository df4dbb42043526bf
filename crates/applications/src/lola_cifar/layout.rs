//! The layout of values in slots, and the layers as sums of rotations.
//!
//! Slot `128 p + c` has channel `c` at place `p = 8 row + column`. Weights therefore repeat every
//! 128 slots, and plaintexts are short.
//!
//! The second convolution has stride 2. It is computed with stride 1 on four times the channels:
//! the results of the first one by the parity of row and column, 332 channels at 7 x 7 places, 111
//! in each of three ciphertexts. Its results are 163 channels at 5 x 5 of the places, 64 in each of
//! three ciphertexts. Values at other places and in other channels are multiplied by zeros later.

use super::network::{CLASSES, COLORS, KERNELS, Layer, MAPS, Network, SIDES, pixel};
use program::circuit::{Giant, Term};

/// Number of slots of a place.
pub(super) const CHANNELS: usize = 128;
/// Number of places in a row of the grid, and of rows. 7 of them are used.
const GRID: usize = 8;
/// Number of slots of a ciphertext.
pub const SLOTS: usize = CHANNELS * GRID * GRID;
/// Number of ciphertexts between the layers.
pub(super) const BLOCKS: usize = 3;
/// Places of the second convolution's inputs in a row or column, and of one parity.
const PLACES: usize = SIDES[0] / 2;
/// Number of channels of a ciphertext after the first convolution.
const PER_BLOCK: usize = (4 * MAPS[0]).div_ceil(BLOCKS);
/// Number of channels of a ciphertext after the second convolution: half of [`CHANNELS`], so that
/// two sums fit, each over half of the inputs.
pub(super) const HALF: usize = CHANNELS / 2;
/// Rows and columns of the window of a place: the pixels that its four parities see together.
const WINDOW: usize = KERNELS[0] + 2;
/// Number of rotations of sums in the first layer, and of channels between two ciphertexts of an
/// image.
const STEP: usize = 8;
/// Number of ciphertexts of an image. Together they show the whole window to each channel.
pub(super) const IMAGES: usize = (WINDOW * WINDOW * COLORS).div_ceil(STEP);
/// Number of baby steps of the second layer.
const BABIES: usize = 16;
/// Number of logits with padding, and number of baby steps of the last layer.
pub(super) const PERIOD: usize = 16;
const LAST_BABIES: usize = 4;

// Rotations of the first layer stay within the slots of a place.
const _: () = assert!(PER_BLOCK + STEP - 1 <= CHANNELS);

/// The ciphertexts of an image, as the client sends them. Ciphertext `s` has in channel `c` of a
/// place pixel `8 s + c` of the place's window of 300, cyclically.
pub(super) fn image(pixels: &[u8]) -> Vec<Vec<f64>> {
    let value = |s: usize, slot: usize| {
        let (place, channel) = (slot / CHANNELS, slot % CHANNELS);
        let (row, column) = (place / GRID, place % GRID);
        let (color, r, c) = window(STEP * s + channel)?;
        let at = |place: usize, offset: usize| (4 * place + offset) as isize - 1;
        let inside = row < PLACES && column < PLACES;
        inside.then(|| pixel(pixels, color, at(row, r), at(column, c)))
    };
    let vector = |s: usize| (0..SLOTS).map(|j| value(s, j).unwrap_or(0.0)).collect();
    (0..IMAGES).map(vector).collect()
}

/// Color, row and column of a pixel of the window. The list of pixels is padded to a multiple of
/// [`STEP`], and cyclic.
fn window(index: usize) -> Option<(usize, usize, usize)> {
    let index = index % (STEP * IMAGES);
    let (color, place) = (index / (WINDOW * WINDOW), index % (WINDOW * WINDOW));
    (color < COLORS).then_some((color, place / WINDOW, place % WINDOW))
}

/// The map, and the parities of row and column, of channel `c` of ciphertext `block` between the
/// convolutions.
fn parity(block: usize, c: usize) -> Option<(usize, usize, usize)> {
    let index = block * PER_BLOCK + c;
    let (parity, map) = (index / MAPS[0], index % MAPS[0]);
    (c < PER_BLOCK && parity < 4).then_some((map, parity / 2, parity % 2))
}

/// The map in channel `c` of ciphertext `block` after the second convolution.
fn map(block: usize, c: usize) -> Option<usize> {
    let index = block * HALF + c;
    (c < HALF && index < MAPS[1]).then_some(index)
}

/// The first convolution. It rotates no input, and [`STEP`] sums.
pub(super) fn first(network: &Network) -> Vec<Vec<Giant>> {
    let layer = &network.first;
    let weight = |block: usize, c: usize, pixel: usize| {
        let (map, a, b) = parity(block, c)?;
        let (color, row, column) = window(pixel)?;
        let (r, c) = (row.checked_sub(2 * a)?, column.checked_sub(2 * b)?);
        let inside = r < KERNELS[0] && c < KERNELS[0];
        inside.then(|| layer.row(map)[(color * KERNELS[0] + r) * KERNELS[0] + c])
    };
    let term = |block, rotation: usize, s: usize| {
        // Channel `c` of the sum goes to `c - rotation`.
        let value = |c: usize| weight(block, c.checked_sub(rotation)?, STEP * s + c);
        let values = (0..CHANNELS).map(|c| value(c).unwrap_or(0.0)).collect();
        Term {
            input: s,
            baby: 0,
            values,
        }
    };
    let giant = |block, rotation| Giant {
        rotation: rotation as isize,
        terms: (0..IMAGES).map(|s| term(block, rotation, s)).collect(),
    };
    let output = |block| (0..STEP).map(|rotation| giant(block, rotation)).collect();
    (0..BLOCKS).map(output).collect()
}

/// The second convolution, before the sum of the two halves of each place's channels.
///
/// Output `o` has its inputs in two sums, at channels `o` and `o + 64`: rotations by 0 to 63 show
/// them all channels. A rotation that runs over the end of a place reaches the next place, one
/// column further. A kernel of 3 columns of places needs 4 shifts, from -1 to 2 columns, of which
/// the first and the last are half used.
pub(super) fn second(network: &Network) -> Vec<Vec<Giant>> {
    let layer = &network.second;
    let kernel = KERNELS[1];
    let weight =
        |output: usize, c: usize, input: usize, shift: usize, row: usize, column: isize| {
            let over = (c + shift) / CHANNELS;
            let column = usize::try_from(column + over as isize).ok()?;
            let (from, a, b) = parity(input, (c + shift) % CHANNELS)?;
            let to = map(output, c % HALF)?;
            let (r, c) = (2 * row + a, 2 * column + b);
            (c < kernel).then(|| layer.row(to)[(from * kernel + r) * kernel + c])
        };
    let term = |output, input, row: usize, baby: usize, column: isize, giant: usize| {
        // The giant step moves channel `c + giant` to `c`. It is cyclic in all slots, except where
        // weights are zero.
        let value = |c: usize| {
            let c = (c + CHANNELS - giant) % CHANNELS;
            weight(output, c, input, giant + baby, row, column).unwrap_or(0.0)
        };
        Term {
            input,
            baby: (row * GRID * CHANNELS + baby) as isize,
            values: (0..CHANNELS).map(value).collect(),
        }
    };
    let giant = |output, column: isize, giant: usize| {
        let mut terms = Vec::new();
        for input in 0..BLOCKS {
            for row in 0..kernel / 2 {
                terms.extend((0..BABIES).map(|b| term(output, input, row, b, column, giant)));
            }
        }
        let rotation = column * CHANNELS as isize + giant as isize;
        Giant { rotation, terms }
    };
    let output = |output| {
        let columns = -1..(kernel / 2) as isize;
        let giants = |column| {
            (0..HALF)
                .step_by(BABIES)
                .map(move |g| giant(output, column, g))
        };
        columns.flat_map(giants).collect()
    };
    (0..BLOCKS).map(output).collect()
}

/// The dense layer, before the sum over all slots at strides of [`PERIOD`].
pub(super) fn last(network: &Network) -> Vec<Vec<Giant>> {
    let weight = |class: usize, block: usize, slot: usize| {
        let (place, channel) = (slot / CHANNELS, slot % CHANNELS);
        let (row, column) = (place / GRID, place % GRID);
        let inside = class < CLASSES && row < SIDES[1] && column < SIDES[1];
        let map = map(block, channel).filter(|_| inside)?;
        Some(network.last.row(class)[(map * SIDES[1] + row) * SIDES[1] + column])
    };
    let term = |input, baby: usize, giant: usize| {
        let value = |j: usize| {
            let j = (j + SLOTS - giant) % SLOTS;
            weight(j % PERIOD, input, (j + giant + baby) % SLOTS).unwrap_or(0.0)
        };
        let values = (0..SLOTS).map(value).collect();
        Term {
            input,
            baby: baby as isize,
            values,
        }
    };
    let giant = |giant: usize| {
        let inputs = (0..BLOCKS).flat_map(|i| (0..LAST_BABIES).map(move |b| (i, b)));
        Giant {
            rotation: giant as isize,
            terms: inputs.map(|(i, b)| term(i, b, giant)).collect(),
        }
    };
    vec![(0..PERIOD).step_by(LAST_BABIES).map(giant).collect()]
}

/// The biases: by channel for each ciphertext after the two convolutions, and by logit.
pub(super) fn biases(network: &Network) -> [Vec<Vec<f64>>; 3] {
    let by_map = |layer: &Layer, map: Option<usize>| map.map_or(0.0, |m| layer.biases[m]);
    let first = |block, c| by_map(&network.first, parity(block, c).map(|(map, ..)| map));
    let second = |block, c| by_map(&network.second, map(block, c));
    let mut logits = network.last.biases.clone();
    logits.resize(PERIOD, 0.0);
    let block = |of: &dyn Fn(usize, usize) -> f64, b| (0..CHANNELS).map(|c| of(b, c)).collect();
    [
        (0..BLOCKS).map(|b| block(&first, b)).collect(),
        (0..BLOCKS).map(|b| block(&second, b)).collect(),
        vec![logits],
    ]
}
