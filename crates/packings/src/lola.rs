//! LoLa: the input is packed, a plaintext holds one weight in many copies.
//!
//! Source: Brutzkus, Gilad-Bachrach, Elisha, ICML 2019, as Hyena (IEEE S&P 2024) describes it in
//! section 4.2.
//!
//! *Dataflow.* For each kernel, each channel and each tap: the ciphertext with the channel times
//! the weight, which stands in the channel's block alone; then the partial sum is moved to its
//! result and added up. Every product takes a rotation. The plaintext of a channel is zero in the
//! blocks of all other channels, so most multiplications of slots are with zeros.
//!
//! *Ours.* Ciphertexts of one group with the same block and tap are summed before they are rotated.
//! Rotations are nested, so that three keys serve all. The results are complete.

use crate::blocks::Blocks;
use crate::counts::{Counts, Letters, Published, power_of_two};
use crate::error::Result;
use crate::frame::Frame;
use crate::layer::Layer;
use crate::packed::Packed;
use crate::packing::Packing;
use crate::writer::Writer;

/// The packing with one weight in a plaintext.
pub struct Lola;

impl Packing for Lola {
    fn name(&self) -> &'static str {
        "lola"
    }

    fn counts(&self, layer: &Layer, frame: &Frame) -> Result<Counts> {
        let blocks = Blocks::new(layer, frame, false)?;
        let units: usize = (0..blocks.sets()).map(|set| blocks.places(set)).sum();
        let sums = units * blocks.kernels;
        let products = sums * layer.group_channels() * layer.taps();
        let rotations = sums * (blocks.together() * layer.taps() - 1);
        Ok(Counts {
            inputs: blocks.ciphertexts as u64,
            outputs: sums as u64,
            plaintexts: products as u64,
            products: products as u64,
            masks: 0,
            rotations: rotations as u64,
            early: 0,
            turned: 0,
            sums: (sums * blocks.together() * layer.taps()) as u64,
            outer: (sums * blocks.together() * layer.taps()) as u64,
            decompositions: rotations as u64,
        }
        .repeated(blocks.all_tiles()))
    }

    fn published(&self, layer: &Layer, slots: usize) -> Published {
        let Letters { c, k, rs, xy, .. } = Letters::new(layer);
        let pixels = xy.min(slots);
        let ct = power_of_two(|ct| pixels * ct <= slots && ct <= c);
        let products = xy.div_ceil(pixels) * k * c.div_ceil(ct) * rs * ct;
        Published {
            products: products as u64,
            shifts: 0,
            permutes: products as u64,
        }
    }

    fn build(&self, layer: &Layer, weights: &[i64], frame: &Frame) -> Result<Packed> {
        layer.check_weights(weights)?;
        let blocks = Blocks::new(layer, frame, false)?;
        let mut w = Writer::new(self.name(), frame, self.depth(layer))?;
        let inputs = blocks.inputs(&mut w)?;
        let channels = layer.group_channels();
        for set in 0..blocks.sets() {
            for place in 0..blocks.places(set) {
                for index in 0..blocks.kernels {
                    let kernel = |row: usize| {
                        let group = blocks.group(set, row, place)?;
                        blocks.kernel(group, row, index)
                    };
                    let first = place * channels;
                    // The plaintexts serve every tile.
                    let mut plaintexts = Vec::new();
                    for own in 0..blocks.together() {
                        for tap in layer.window() {
                            let mut parts = Vec::new();
                            for part in 0..blocks.parts {
                                let channel = part * blocks.per_row + own;
                                if channel >= channels {
                                    continue;
                                }
                                let weight = |row: usize, block: usize| match kernel(row) {
                                    Some(kernel) if block == first + own => {
                                        weights[layer.weight(kernel, channel, tap)]
                                    }
                                    _ => 0,
                                };
                                let slots = blocks.plaintext(blocks.distance(tap), weight);
                                parts.push((part, w.weights(&slots, 1)?));
                            }
                            plaintexts.push(parts);
                        }
                    }
                    for (tile, sets) in inputs.iter().enumerate() {
                        let mut sums = Vec::new();
                        for parts in &plaintexts {
                            let term = |&(part, weight): &(usize, usize)| [sets[set][part], weight];
                            let terms: Vec<[usize; 2]> = parts.iter().map(term).collect();
                            sums.push(w.sum(&terms)?);
                        }
                        let windows = blocks.windows(&mut w, &sums)?;
                        let sum = w.nested(&windows, blocks.block)?;
                        let kernel = |row, block| kernel(row).filter(|_| block == first);
                        w.output(sum, blocks.output(tile, kernel))?;
                    }
                }
            }
        }
        w.finish(false)
    }
}
