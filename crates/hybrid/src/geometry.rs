//! The layout of a convolution in the coefficients of polynomials, after Cheetah (Huang et al.,
//! USENIX Security 2022, section 4).
//!
//! Value `(c, u, v)` of a tile of `C` channels is the coefficient of `X^(c P + u R + v)`, where a
//! row has the pitch `R` and a channel the pitch `P`. A polynomial of `M` kernels has the weight
//! `(m, c, i, j)` at `X^(m C P - c P - i d R - (j d - left))`. Then the coefficient of
//! `X^(m C P + y s R + x s)` in the product is output `(m, y, x)`: with `N >= M C P` no other term
//! reaches it. Rows share their padding: the gap after row `u` is the left padding of row `u + 1`.
//! The top padding of channel `c + 1` is also the bottom padding of channel `c`.
//!
//! Tall images are cut into bands of output rows. All bands have the same pitches, so that they
//! share their kernels.

use crate::bits::packed_len;
use crate::error::Error;
use network::{Conv, Sliding};
use serde::{Deserialize, Serialize};

/// The shape of a convolution, without its weights: public to both parties. A dense layer is a
/// convolution of images of one pixel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvShape {
    /// Channels, height and width of the source.
    pub source: [usize; 3],
    /// Number of kernels.
    pub kernels: usize,
    /// Groups of channels and kernels.
    pub groups: usize,
    /// Kernel height and width.
    pub kernel: [usize; 2],
    /// Step between windows.
    pub stride: [usize; 2],
    /// Step between taps of a window.
    pub dilation: [usize; 2],
    /// Padding at top, left, bottom, right; cropping where negative.
    pub pads: [i64; 4],
}

impl ConvShape {
    /// The shape of a convolution of `source`.
    pub fn of_conv(conv: &Conv, source: [usize; 3]) -> Self {
        Self {
            source,
            kernels: conv.kernels,
            groups: conv.groups,
            kernel: conv.kernel,
            stride: conv.stride,
            dilation: conv.dilation,
            pads: conv.pads,
        }
    }

    /// The shape of a matrix product.
    pub fn of_dense(inputs: usize, outputs: usize) -> Self {
        Self {
            source: [inputs, 1, 1],
            kernels: outputs,
            groups: 1,
            kernel: [1, 1],
            stride: [1, 1],
            dilation: [1, 1],
            pads: [0; 4],
        }
    }

    fn sliding(&self) -> Sliding {
        Sliding {
            kernel: self.kernel,
            stride: self.stride,
            dilation: self.dilation,
            pads: self.pads,
        }
    }

    /// Shape of the result. The program must be checked.
    pub fn output(&self) -> [usize; 3] {
        let [_, height, width] = self.source;
        let [rows, columns] = self.sliding().output([height, width]);
        [self.kernels, rows, columns]
    }

    /// Number of weights.
    pub fn weights(&self) -> usize {
        self.kernels * (self.source[0] / self.groups) * self.kernel[0] * self.kernel[1]
    }

    /// Returns true if the sides fit together, so that [`output`](Self::output) and the geometry
    /// exist.
    pub(crate) fn is_sound(&self) -> bool {
        const SIDE: usize = 1 << 15;
        let [channels, height, width] = self.source;
        let sides = [channels, height, width, self.kernels, self.groups];
        let sides = sides.into_iter().chain(self.kernel);
        let mut sides = sides.chain(self.stride).chain(self.dilation);
        let dense = self.source[1..] == [1, 1] && self.kernel == [1, 1];
        let fits = |side| (1..=SIDE).contains(&side) || dense && (1..=1 << 26).contains(&side);
        if !sides.all(fits) || self.pads.iter().any(|pad| pad.unsigned_abs() > SIDE as u64) {
            return false;
        }
        let (padded, span) = (
            self.sliding().padded([height, width]),
            self.sliding().span(),
        );
        let cut = |side: usize| (-self.pads[side]).max(0) as usize;
        cut(0) + cut(2) < height
            && cut(1) + cut(3) < width
            && channels.is_multiple_of(self.groups)
            && self.kernels.is_multiple_of(self.groups)
            && (0..2).all(|axis| padded[axis] >= span[axis] as i64)
            && channels.saturating_mul(height).saturating_mul(width) <= 1 << 26
            && self.weights() <= 1 << 26
    }
}

/// The coefficient of a polynomial that holds a value of the source or of the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coefficient {
    pub(crate) coefficient: usize,
    /// Index of the value, in the order channel, row, column.
    pub(crate) value: usize,
}

/// Largest number of tiles of a group. One call of the kernels adds up their products.
const MOST_TILES: usize = 256;

/// The reason why a convolution has no layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// A band of one row needs this number of coefficients.
    Band(usize),
    /// The channels of a group need this number of tiles.
    Tiles(usize),
    /// A tile would need `found` channels; at most `most` fit.
    Channels { found: usize, most: usize },
}

impl Misfit {
    /// The error for a program with a term without a layout.
    pub(crate) fn into_error(self, n: usize) -> Error {
        match self {
            Self::Band(found) => Error::program("a band of a convolution", found, n),
            Self::Tiles(found) => Error::program("the tiles of a term", found, MOST_TILES),
            Self::Channels { found, most } => {
                Error::program("the channels of a tile", found, format!("1 to {most}"))
            }
        }
    }
}

/// The layout of a convolution in rings of degree `n`.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    shape: ConvShape,
    n: usize,
    /// Zero rows before the source's first row (`top`), zero columns before its first column
    /// (`left`), and the rows and columns that are cropped (`cut`).
    top: usize,
    left: usize,
    cut: [usize; 2],
    /// Rows and columns after cropping.
    height: usize,
    width: usize,
    row_pitch: usize,
    channel_pitch: usize,
    /// Output rows of a band. The last band may have fewer.
    band_rows: usize,
    output: [usize; 3],
    /// Channels of a tile and kernels of a block, both within a group.
    tile_channels: usize,
    block_kernels: usize,
}

impl Geometry {
    /// All layouts with the fewest bands. The fewer channels a tile has, the more kernels a block
    /// has: the client sends more ciphertexts and the server fewer. Fails if a band of one row
    /// needs more than `n` coefficients, or if there are too many tiles even with as many channels
    /// in each as fit.
    pub(crate) fn all(shape: &ConvShape, n: usize) -> Result<Vec<Self>, Misfit> {
        let bands = Self::fewest_bands(shape, n)?;
        let channels = bands.group_channels();
        let most = (n / bands.channel_pitch).min(channels);
        let fewest = channels.div_ceil(most);
        if fewest > MOST_TILES {
            return Err(Misfit::Tiles(fewest));
        }
        let tiles = fewest..=channels.min(MOST_TILES);
        let mut sizes: Vec<usize> = tiles.map(|tiles| channels.div_ceil(tiles)).collect();
        sizes.dedup();
        // More tiles are useless without fewer blocks.
        let layouts = sizes.into_iter().map(|size| bands.clone().with_tiles(size));
        let mut layouts: Vec<Self> = layouts.collect();
        layouts.dedup_by_key(|layout| layout.blocks());
        Ok(layouts)
    }

    /// The layout with the fewest bands and `tile_channels` channels in a tile. Fails as
    /// [`all`](Self::all) does, and for a number of channels that does not fit.
    pub(crate) fn new(shape: &ConvShape, n: usize, tile_channels: usize) -> Result<Self, Misfit> {
        let bands = Self::fewest_bands(shape, n)?;
        let channels = bands.group_channels();
        let most = (n / bands.channel_pitch).min(channels);
        if !(1..=most).contains(&tile_channels) {
            return Err(Misfit::Channels {
                found: tile_channels,
                most,
            });
        }
        let tiles = channels.div_ceil(tile_channels);
        if tiles > MOST_TILES {
            return Err(Misfit::Tiles(tiles));
        }
        Ok(bands.with_tiles(tile_channels))
    }

    /// The layout with the fewest bands, before its division into tiles.
    fn fewest_bands(shape: &ConvShape, n: usize) -> Result<Self, Misfit> {
        let output = shape.output();
        let [_, rows, _] = output;
        let mut bands = 1;
        loop {
            let band_rows = rows.div_ceil(bands);
            let layout = Self::with_bands(shape, n, band_rows);
            if layout.channel_pitch <= n {
                return Ok(layout);
            }
            if band_rows == 1 {
                return Err(Misfit::Band(layout.channel_pitch));
            }
            bands = rows.div_ceil(band_rows - 1);
        }
    }

    fn with_bands(shape: &ConvShape, n: usize, band_rows: usize) -> Self {
        let crop = |side: usize| (-shape.pads[side]).max(0) as usize;
        let pad = |side: usize| shape.pads[side].max(0) as usize;
        let [_, height, width] = shape.source;
        let (height, width) = (height - crop(0) - crop(2), width - crop(1) - crop(3));
        let row_pitch = width + pad(1).max(pad(3));
        let mut layout = Self {
            n,
            top: pad(0),
            left: pad(1),
            cut: [crop(0), crop(1)],
            height,
            width,
            row_pitch,
            channel_pitch: 0,
            band_rows,
            output: shape.output(),
            tile_channels: 0,
            block_kernels: 0,
            shape: shape.clone(),
        };
        let pitch = |band: usize| {
            let [from, to] = layout.band_window(band);
            let above = (-from).max(0);
            let real = to.min(height as i64) - from.max(0).min(height as i64);
            let below = (to - height as i64).max(0);
            (above + real + (below - above).max(0)) as usize
        };
        let stored = (0..layout.bands()).map(pitch).max().unwrap_or(1);
        layout.channel_pitch = stored.max(1) * row_pitch;
        layout
    }

    /// Completes the layout: a tile has `tile_channels` channels, and a block as many kernels as
    /// fit.
    fn with_tiles(mut self, tile_channels: usize) -> Self {
        let fit = self.n / (tile_channels * self.channel_pitch);
        self.block_kernels = fit.min(self.group_kernels());
        self.tile_channels = tile_channels;
        self
    }

    /// First row of the source in the windows of a band, and the row after the last one. With
    /// padding, the first row may be negative, and the last one beyond the source.
    fn band_window(&self, band: usize) -> [i64; 2] {
        let first = band * self.band_rows;
        let last = (first + self.band_rows).min(self.output[1]) - 1;
        let stride = self.shape.stride[0];
        let span = self.shape.dilation[0] * (self.shape.kernel[0] - 1) + 1;
        let top = self.top as i64;
        [
            (first * stride) as i64 - top,
            (last * stride + span) as i64 - top,
        ]
    }

    pub(crate) fn bands(&self) -> usize {
        self.output[1].div_ceil(self.band_rows)
    }

    fn group_channels(&self) -> usize {
        self.shape.source[0] / self.shape.groups
    }

    fn group_kernels(&self) -> usize {
        self.shape.kernels / self.shape.groups
    }

    /// Channels of a tile. The last tile of a group may have fewer.
    pub(crate) fn tile_channels(&self) -> usize {
        self.tile_channels
    }

    /// The weights of each block of kernels, as one slice.
    pub(crate) fn block_weights<'w>(&self, weights: &'w [i64]) -> impl Iterator<Item = &'w [i64]> {
        let group = weights.len() / self.groups();
        let block = self.block_kernels * (group / self.group_kernels());
        weights
            .chunks(group)
            .flat_map(move |group| group.chunks(block))
    }

    /// The weights of each kernel.
    pub(crate) fn kernel_weights<'w>(&self, weights: &'w [i64]) -> impl Iterator<Item = &'w [i64]> {
        weights.chunks(weights.len() / self.shape.kernels)
    }

    /// Number of tiles of one band and one group.
    pub(crate) fn tiles(&self) -> usize {
        self.group_channels().div_ceil(self.tile_channels)
    }

    /// Number of blocks of kernels of one group.
    pub(crate) fn blocks(&self) -> usize {
        self.group_kernels().div_ceil(self.block_kernels)
    }

    pub(crate) fn groups(&self) -> usize {
        self.shape.groups
    }

    /// Number of ciphertexts of the client: one for each band, group and tile, in this order.
    pub(crate) fn queries(&self) -> usize {
        self.bands() * self.groups() * self.tiles()
    }

    /// Number of ciphertexts of the server: one for each band, group and block, in this order.
    pub(crate) fn answers(&self) -> usize {
        self.bands() * self.groups() * self.blocks()
    }

    /// Length of all answers in bytes, in words of `bits` bits: the masks, and the coefficients
    /// that are outputs.
    pub(crate) fn answer_len(&self, bits: u32) -> usize {
        let answers = 0..self.answers();
        answers
            .map(|answer| self.one_answer_len(answer, bits))
            .sum()
    }

    /// Length of one answer in bytes.
    pub(crate) fn one_answer_len(&self, answer: usize, bits: u32) -> usize {
        packed_len(self.n + self.answer_places(answer).len(), bits)
    }

    /// The places of the values of a query's tile.
    pub(crate) fn query_places(&self, query: usize) -> Vec<Coefficient> {
        let (band, group, tile) = self.split(query, self.tiles());
        let [from, to] = self.band_window(band);
        let first = tile * self.tile_channels;
        let channels = self.tile_channels.min(self.group_channels() - first);
        let [_, height, width] = self.shape.source;
        let rows = from.max(0)..to.min(self.height as i64);
        let mut places = Vec::new();
        for c in 0..channels {
            let channel = group * self.group_channels() + first + c;
            for row in rows.clone() {
                let stored = (row - from) as usize;
                let start = c * self.channel_pitch + stored * self.row_pitch;
                let value = (channel * height + row as usize + self.cut[0]) * width + self.cut[1];
                places.extend((0..self.width).map(|x| Coefficient {
                    coefficient: start + x,
                    value: value + x,
                }));
            }
        }
        places
    }

    /// The places of the outputs of an answer. `value` is the index in the result.
    pub(crate) fn answer_places(&self, answer: usize) -> Vec<Coefficient> {
        let (band, group, block) = self.split(answer, self.blocks());
        let first = block * self.block_kernels;
        let kernels = self.block_kernels.min(self.group_kernels() - first);
        let [_, rows, columns] = self.output;
        let start = band * self.band_rows;
        let end = (start + self.band_rows).min(rows);
        let [down, across] = self.shape.stride;
        let mut places = Vec::new();
        for m in 0..kernels {
            let kernel = group * self.group_kernels() + first + m;
            let block = m * self.tile_channels * self.channel_pitch;
            for y in start..end {
                for x in 0..columns {
                    let row = block + (y - start) * down * self.row_pitch;
                    places.push(Coefficient {
                        // Windows of padding alone may lie beyond the end, where the product wraps
                        // to other windows of padding: all are 0.
                        coefficient: (row + x * across) % self.n,
                        value: (kernel * rows + y) * columns + x,
                    });
                }
            }
        }
        places
    }

    fn split(&self, index: usize, within: usize) -> (usize, usize, usize) {
        let (rest, last) = (index / within, index % within);
        (rest / self.groups(), rest % self.groups(), last)
    }

    /// The coefficients of the polynomial of a block's kernels for a tile.
    pub(crate) fn kernel(
        &self,
        weights: &[i64],
        group: usize,
        block: usize,
        tile: usize,
    ) -> Vec<i64> {
        let n = self.n as i64;
        let mut out = vec![0; self.n];
        let first = tile * self.tile_channels;
        let channels = self.tile_channels.min(self.group_channels() - first);
        let kernels =
            block * self.block_kernels..self.group_kernels().min((block + 1) * self.block_kernels);
        let [rows, columns] = self.shape.kernel;
        let [down, across] = self.shape.dilation;
        for (m, kernel) in kernels.enumerate() {
            let row = (group * self.group_kernels() + kernel) * self.group_channels();
            let block = m * self.tile_channels * self.channel_pitch;
            for c in 0..channels {
                for i in 0..rows {
                    for j in 0..columns {
                        let weight = weights[((row + first + c) * rows + i) * columns + j];
                        let back = c * self.channel_pitch + i * down * self.row_pitch + j * across;
                        let exponent = (block + self.left) as i64 - back as i64;
                        let sign = if exponent.rem_euclid(2 * n) < n {
                            1
                        } else {
                            -1
                        };
                        out[exponent.rem_euclid(n) as usize] += sign * weight;
                    }
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use network::{Evaluator, Input, IntNetwork, Layer, Linear, Source, Term};
    use proptest::prelude::*;

    fn evaluated(conv: &Conv, source: [usize; 3], values: &[i64]) -> Vec<i64> {
        let network = IntNetwork {
            name: "one".into(),
            input: Input {
                shape: source,
                min: -99,
                max: 99,
                scale: 1.0,
                mean: vec![],
                std: vec![],
            },
            interface: None,
            layers: vec![Layer {
                name: "conv".into(),
                terms: vec![Term {
                    source: Source::Input,
                    linear: Linear::Conv(conv.clone()),
                }],
                product: None,
                bias: vec![0; conv.kernels],
                bound: 32_767,
                lut: None,
                scale: 1.0,
            }],
        };
        let evaluator = Evaluator::new(&network).unwrap();
        evaluator.evaluate(values).unwrap().logits
    }

    /// The products modulo `X^n + 1`, by the definition.
    fn through_polynomials(
        geometry: &Geometry,
        weights: &[i64],
        values: &[i64],
        outputs: usize,
    ) -> Vec<i64> {
        let n = geometry.n;
        let mut result = vec![i64::MIN; outputs];
        for answer in 0..geometry.answers() {
            let (band, group, block) = geometry.split(answer, geometry.blocks());
            let mut sum = vec![0i64; n];
            for tile in 0..geometry.tiles() {
                let query = (band * geometry.groups() + group) * geometry.tiles() + tile;
                let mut poly = vec![0i64; n];
                for place in geometry.query_places(query) {
                    assert_eq!(poly[place.coefficient], 0, "each place once");
                    poly[place.coefficient] = values[place.value];
                }
                let kernel = geometry.kernel(weights, group, block, tile);
                for (i, &a) in poly.iter().enumerate().filter(|(_, a)| **a != 0) {
                    for (j, &b) in kernel.iter().enumerate().filter(|(_, b)| **b != 0) {
                        let sign = if i + j < n { 1 } else { -1 };
                        sum[(i + j) % n] += sign * a * b;
                    }
                }
            }
            for place in geometry.answer_places(answer) {
                assert_eq!(result[place.value], i64::MIN, "each output once");
                result[place.value] = sum[place.coefficient];
            }
        }
        result
    }

    fn check(conv: &Conv, source: [usize; 3], n: usize) {
        let shape = ConvShape::of_conv(conv, source);
        assert!(shape.is_sound(), "{shape:?}");
        let Ok(layouts) = Geometry::all(&shape, n) else {
            return;
        };
        let len: usize = source.iter().product();
        // No zero, so that a place that is met twice is seen.
        let values: Vec<i64> = (0..len as i64).map(|i| 1 + i * 37 % 98).collect();
        let expected = evaluated(conv, source, &values);
        for geometry in layouts {
            let found = through_polynomials(&geometry, &conv.weights, &values, expected.len());
            assert_eq!(found, expected, "{geometry:?}");
            let again = Geometry::new(&shape, n, geometry.tile_channels()).unwrap();
            assert_eq!(format!("{again:?}"), format!("{geometry:?}"));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        /// Small rings, so that tiles, blocks and bands all occur.
        #[test]
        fn a_convolution_is_a_product_of_polynomials(
            (groups, channels, kernels) in (1usize..3, 1usize..4, 1usize..4),
            (height, width) in (1usize..10, 1usize..10),
            kernel in [1usize..4, 1usize..4],
            stride in [1usize..4, 1usize..4],
            dilation in [1usize..3, 1usize..3],
            pads in [-2i64..3, -2i64..3, -2i64..3, -2i64..3],
            log_n in 4u32..9,
        ) {
            let conv = Conv {
                kernels: kernels * groups,
                channels: channels * groups,
                groups,
                kernel,
                stride,
                dilation,
                pads,
                weights: (0..(kernels * groups * channels * kernel[0] * kernel[1]) as i64)
                    .map(|i| i * 7919 % 15 - 7)
                    .collect(),
            };
            let sliding = conv.sliding();
            let (padded, span) = (sliding.padded([height, width]), sliding.span());
            let cut = |side: usize| (-pads[side]).max(0) as usize;
            prop_assume!((0..2).all(|axis| padded[axis] >= span[axis] as i64));
            prop_assume!(cut(0) + cut(2) < height && cut(1) + cut(3) < width);
            check(&conv, [channels * groups, height, width], 1 << log_n);
        }
    }

    #[test]
    fn layers_of_a_residual_network_take_few_ciphertexts() {
        let shape = |channels, side, kernels, kernel: usize, stride| ConvShape {
            source: [channels, side, side],
            kernels,
            groups: 1,
            kernel: [kernel; 2],
            stride: [stride; 2],
            dilation: [1; 2],
            pads: [kernel as i64 / 2; 4],
        };
        let of = |shape: ConvShape| -> Vec<[usize; 2]> {
            let layouts = Geometry::all(&shape, 4096).unwrap();
            let counts = layouts.iter().map(|one| [one.queries(), one.answers()]);
            counts.collect()
        };
        assert_eq!(of(shape(3, 32, 16, 3, 1)), [[1, 16], [3, 6]]);
        assert_eq!(of(shape(16, 32, 16, 3, 1)), [[6, 16], [16, 6]]);
        assert!(of(shape(32, 16, 32, 3, 1)).contains(&[5, 16]));
        assert!(of(shape(64, 8, 64, 3, 1)).contains(&[7, 13]));
        assert_eq!(of(ConvShape::of_dense(64, 10)), [[1, 1]]);
        assert!(of(ConvShape::of_dense(800, 500)).contains(&[9, 11]));
    }

    #[test]
    fn channels_that_need_too_many_tiles_are_counted() {
        let mut shape = ConvShape::of_dense(300, 2);
        shape.source = [300, 64, 64];
        let found = Geometry::all(&shape, 4096).unwrap_err();
        assert_eq!(found, Misfit::Tiles(300));
        assert_eq!(Geometry::new(&shape, 4096, 1).unwrap_err(), found);
        let text = found.into_error(4096).to_string();
        assert!(text.contains("300") && text.contains("256"), "{text}");
    }
}
