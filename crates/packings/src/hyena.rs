//! Hyena: the values of a window next to each other, and all sums before any rotation.
//!
//! Source: Hyena (IEEE S&P 2024), sections 5.2 and 5.3.
//!
//! *Packing.* Windows that do not overlap lie one after the other, each with several channels. A
//! plaintext has the weights of a kernel for each window, of another kernel for the next one. Where
//! windows do not fill a row, they lie there several times, for more kernels.
//!
//! *Dataflow.* A product gives one partial sum for each window and kernel. Products of all channels
//! are added up first. Only then are the slots of each window added up, by rotations. Then the
//! input is moved to the next windows, which overlap these.
//!
//! *Ours.* All windows are computed, of every tile, also at borders. The paper's dataflow leaves
//! out 4 of 9 for a 3x3 kernel. The paper's permute, which moves the input, is up to four masked
//! rotations, and costs a level. Slots are summed by doubling, where the paper has one rotation for
//! each slot. Rotations of an input are hoisted.

use crate::cells;
use crate::counts::{Counts, Letters, Published, power_of_two};
use crate::error::Result;
use crate::frame::Frame;
use crate::layer::Layer;
use crate::packed::Packed;
use crate::packing::Packing;

/// Windows, and sums before rotations.
pub struct Hyena;

impl Packing for Hyena {
    fn name(&self) -> &'static str {
        "hyena"
    }

    fn depth(&self, layer: &Layer) -> usize {
        cells::depth(layer)
    }

    fn counts(&self, layer: &Layer, frame: &Frame) -> Result<Counts> {
        Ok(cells::counts(&one(layer), frame, false)?.repeated(layer.batch))
    }

    fn published(&self, layer: &Layer, slots: usize) -> Published {
        published(layer, slots, 1)
    }

    fn build(&self, layer: &Layer, weights: &[i64], frame: &Frame) -> Result<Packed> {
        cells::build(self.name(), layer, weights, frame, false)
    }
}

fn one(layer: &Layer) -> Layer {
    Layer { batch: 1, ..*layer }
}

/// The simulator's formula, for `batch` images in a ciphertext.
pub(crate) fn published(layer: &Layer, slots: usize, batch: usize) -> Published {
    /// Partial sums that the accelerator's registers hold.
    const REGISTERS: usize = 64;
    let Letters { c, k, rs, p, .. } = Letters::new(layer);
    let ([y, x], [r, s]) = (layer.input, layer.kernel);
    let m = p.min(x / r * (y / s)).max(1);
    let mt = (slots / rs).min(m).max(1);
    let bt = (1..=batch)
        .rev()
        .find(|&b| rs * mt * b <= slots)
        .unwrap_or(1);
    let kt = power_of_two(|kt| kt <= k.min(REGISTERS) && rs * kt <= slots);
    let fits = |ct: usize| mt * rs * ct * bt <= slots && rs * ct * kt <= slots;
    let ct = power_of_two(|ct| ct <= c && fits(ct));
    let copies = (slots / (mt * ct * rs * bt)).max(1);
    let offsets = ((r - 1) * (s - 1) / (layer.stride[0] * layer.stride[1]) + 1).min(p.max(1));
    let tiles = m.div_ceil(mt) * layer.batch.div_ceil(bt);
    let (nc, nk) = (c.div_ceil(ct), k.div_ceil(kt));
    Published {
        products: (tiles * offsets * nk * nc * kt.div_ceil(copies)) as u64,
        shifts: (tiles * offsets * nk * rs * ct) as u64,
        permutes: (tiles * (offsets - 1) * nc) as u64,
    }
}
