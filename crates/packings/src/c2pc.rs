//! C2PC: values and weights in coefficients, as in Cheetah for two parties.
//!
//! Source: Huang, Lu, Hong, Ding, "Cheetah", USENIX Security 2022, section 3.1, theorem 1; Hyena
//! (IEEE S&P 2024), section 4.4.
//!
//! *Packing.* Value (channel c, row i, column j) of a patch is the coefficient of `X^(c HW + i W +
//! j)`. A kernel is the polynomial with its weights in reverse, so that one product of polynomials
//! has every result in a coefficient. Several kernels lie one after the other. There is no
//! rotation.
//!
//! *As a circuit.* The slots of a plaintext are values of its polynomial, and the slots of a
//! product of polynomials are the products of their slots. A product of slots, with the slots of
//! these polynomials, is therefore the product of the polynomials. The circuit has no other
//! operations than those of slots.

use crate::counts::{Counts, Letters, Published};
use crate::error::{Result, shape};
use crate::frame::Frame;
use crate::layer::{Layer, pairs};
use crate::packed::Packed;
use crate::packing::Packing;
use crate::writer::Writer;

/// Coefficients instead of slots.
pub struct C2pc;

/// The places of a layer's tensors in coefficients.
struct Coefficients<'a> {
    layer: &'a Layer,
    n: usize,
    tile: [usize; 2],
    tiles: [usize; 2],
    patch: [usize; 2],
    /// Channels of a ciphertext, and ciphertexts of a group.
    channels: usize,
    parts: usize,
    /// Kernels of an output, and outputs of a group.
    kernels: usize,
    outputs: usize,
}

impl<'a> Coefficients<'a> {
    fn new(layer: &'a Layer, n: usize) -> Result<Self> {
        layer.check()?;
        let (span, output) = (layer.span(), layer.output());
        let mut tile = output;
        let patch = |tile: [usize; 2]| [0, 1].map(|a| (tile[a] - 1) * layer.stride[a] + span[a]);
        while patch(tile)[0] * patch(tile)[1] > n {
            if tile == [1, 1] {
                let what = "the number of values that a window covers";
                let expected = format!("at most the {n} coefficients");
                return Err(shape(what, span[0] * span[1], expected));
            }
            let longer = usize::from(tile[1] >= tile[0]);
            tile[longer] = tile[longer].div_ceil(2);
        }
        let patch = patch(tile);
        let room = n / (patch[0] * patch[1]);
        let parts = layer.group_channels().div_ceil(room);
        let channels = layer.group_channels().div_ceil(parts);
        let outputs = layer.group_kernels().div_ceil(room / channels);
        Ok(Self {
            layer,
            n,
            tile,
            tiles: [0, 1].map(|a| output[a].div_ceil(tile[a])),
            patch,
            channels,
            parts,
            kernels: layer.group_kernels().div_ceil(outputs),
            outputs,
        })
    }

    fn all_tiles(&self) -> usize {
        self.layer.batch * self.tiles[0] * self.tiles[1]
    }

    fn corner(&self, tile: usize) -> (usize, [usize; 2]) {
        let [down, right] = self.tiles;
        let (image, tile) = (tile / (down * right), tile % (down * right));
        let at = [tile / right, tile % right];
        (image, [0, 1].map(|a| at[a] * self.tile[a]))
    }

    fn area(&self) -> usize {
        self.patch[0] * self.patch[1]
    }

    /// Exponent of the first result of kernel 0: that of its last weight's place.
    fn origin(&self) -> usize {
        let span = self.layer.span();
        self.area() * (self.kernels * self.channels - 1) + self.patch[1] * (span[0] - 1) + span[1]
            - 1
    }

    fn input(&self, tile: usize, group: usize, part: usize) -> Vec<Option<u32>> {
        let (image, corner) = self.corner(tile);
        let channels = self.layer.group_channels();
        let mut values = vec![None; self.n];
        for own in 0..self.channels {
            let channel = part * self.channels + own;
            if channel >= channels {
                break;
            }
            let channel = group * channels + channel;
            for (y, x) in pairs(self.patch[0], self.patch[1]) {
                let at = [0, 1].map(|a| corner[a] * self.layer.stride[a] + [y, x][a]);
                let place = own * self.area() + y * self.patch[1] + x;
                values[place] = self.layer.value(image, channel, at);
            }
        }
        values
    }

    fn polynomial(&self, weights: &[i64], group: usize, part: usize, output: usize) -> Vec<i64> {
        let (channels, kernels) = (self.layer.group_channels(), self.layer.group_kernels());
        let [down, right] = self.layer.dilation;
        let mut out = vec![0; self.n];
        for (index, own) in pairs(self.kernels, self.channels) {
            let kernel = output * self.kernels + index;
            let channel = part * self.channels + own;
            if kernel >= kernels || channel >= channels {
                continue;
            }
            for [r, s] in self.layer.window() {
                let distance = (index * self.channels + own) * self.area()
                    + r * down * self.patch[1]
                    + s * right;
                let weight = self.layer.weight(group * kernels + kernel, channel, [r, s]);
                out[self.origin() - distance] = weights[weight];
            }
        }
        out
    }

    fn output(&self, tile: usize, group: usize, output: usize) -> Vec<Option<u32>> {
        let (image, corner) = self.corner(tile);
        let (kernels, [height, width]) = (self.layer.group_kernels(), self.layer.output());
        let [down, right] = self.layer.stride;
        let mut values = vec![None; self.n];
        for index in 0..self.kernels {
            let kernel = output * self.kernels + index;
            let first = self.origin() - index * self.channels * self.area();
            for (i, j) in pairs(self.tile[0], self.tile[1]) {
                let (y, x) = (corner[0] + i, corner[1] + j);
                if kernel < kernels && y < height && x < width {
                    let result = self.layer.result(image, group * kernels + kernel, [y, x]);
                    values[first + i * down * self.patch[1] + j * right] = Some(result);
                }
            }
        }
        values
    }
}

impl Packing for C2pc {
    fn name(&self) -> &'static str {
        "c2pc"
    }

    fn counts(&self, layer: &Layer, frame: &Frame) -> Result<Counts> {
        let places = Coefficients::new(layer, frame.n())?;
        let outputs = (layer.groups * places.outputs) as u64;
        let products = outputs * places.parts as u64;
        Ok(Counts {
            inputs: (layer.groups * places.parts) as u64,
            outputs,
            plaintexts: products,
            products,
            sums: outputs,
            outer: outputs,
            ..Counts::default()
        }
        .repeated(places.all_tiles()))
    }

    fn published(&self, layer: &Layer, slots: usize) -> Published {
        let Letters { c, k, .. } = Letters::new(layer);
        let ([y, x], [r, s]) = (layer.input, layer.kernel);
        let tiles = |size: usize, kernel: usize, patch: usize| {
            (size + 1)
                .saturating_sub(kernel)
                .max(1)
                .div_ceil(patch + 1 - kernel)
        };
        let mut best: Option<(usize, [usize; 2])> = None;
        for h in r..=y.max(r).min(slots) {
            for w in s..=x.max(s).min(slots / h) {
                let parts = c.div_ceil(slots / (h * w));
                let cost = parts * tiles(y, r, h) * tiles(x, s, w);
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, [h, w]));
                }
            }
        }
        let Some((_, [h, w])) = best else {
            return Published::default();
        };
        let channels = c.min(slots / (h * w));
        let kernels = k.min((slots / (channels * h * w)).max(1));
        let count = tiles(y, r, h) * tiles(x, s, w) * k.div_ceil(kernels) * c.div_ceil(channels);
        Published {
            products: (count * kernels) as u64,
            ..Published::default()
        }
    }

    fn build(&self, layer: &Layer, weights: &[i64], frame: &Frame) -> Result<Packed> {
        layer.check_weights(weights)?;
        let places = Coefficients::new(layer, frame.n())?;
        let mut w = Writer::new(self.name(), frame, self.depth(layer))?;
        let mut inputs = Vec::new();
        for (tile, group) in pairs(places.all_tiles(), layer.groups) {
            let parts = (0..places.parts).map(|part| w.input(places.input(tile, group, part)));
            inputs.push(parts.collect::<Result<Vec<usize>>>()?);
        }
        for (group, output) in pairs(layer.groups, places.outputs) {
            let parts = (0..places.parts).map(|part| {
                let polynomial = places.polynomial(weights, group, part, output);
                w.polynomial(&polynomial)
            });
            let parts: Vec<usize> = parts.collect::<Result<_>>()?;
            for tile in 0..places.all_tiles() {
                let terms = inputs[tile * layer.groups + group].iter().zip(&parts);
                let terms: Vec<[usize; 2]> = terms.map(|(&x, &w)| [x, w]).collect();
                let sum = w.sum(&terms)?;
                w.output(sum, places.output(tile, group, output))?;
            }
        }
        w.finish(true)
    }
}
