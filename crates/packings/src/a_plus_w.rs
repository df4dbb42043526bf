//! A+W: activations and weights are both packed densely.
//!
//! Source: Hyena (IEEE S&P 2024), section 5.1.
//!
//! *Packing.* A stored plaintext holds the weights of a window for all channels of a ciphertext,
//! and of as many kernels as fit. One product uses the weights of all channels at once.
//!
//! *Dataflow.* In the paper, a plaintext is rotated against the input, and every partial sum is
//! then permuted, because its slots belong to different taps and kernels. A permutation of slots is
//! a sum of rotations of masked values. A mask after a product with a plaintext is a mask of that
//! plaintext, so both products are one: with the plaintext whose slots hold one tap of one kernel,
//! a weight for each channel. Of the permutation only one rotation is left. `plaintexts` counts
//! these expanded plaintexts, and the server must store the weights alone.
//!
//! *Ours.* Partial sums of a tap are added up over ciphertexts before they are rotated, and the
//! channels are added up by doubling. The results are complete.

use crate::blocks::Blocks;
use crate::counts::{
    Counts, Letters, Published, fold_decompositions, fold_rotations, power_of_two,
};
use crate::error::Result;
use crate::frame::Frame;
use crate::layer::Layer;
use crate::packed::Packed;
use crate::packing::Packing;
use crate::writer::Writer;

/// The weights of all channels of a ciphertext in a plaintext.
pub struct APlusW;

impl Packing for APlusW {
    fn name(&self) -> &'static str {
        "a+w"
    }

    fn counts(&self, layer: &Layer, frame: &Frame) -> Result<Counts> {
        let blocks = Blocks::new(layer, frame, false)?;
        let sums = (blocks.sets() * blocks.kernels) as u64;
        let taps = layer.taps() as u64;
        let products = sums * taps * blocks.parts as u64;
        let together = blocks.together();
        Ok(Counts {
            inputs: blocks.ciphertexts as u64,
            outputs: sums,
            plaintexts: products,
            products,
            masks: 0,
            rotations: sums * (taps - 1 + fold_rotations(together)),
            early: 0,
            turned: 0,
            sums: sums * taps,
            outer: sums * taps,
            decompositions: sums * (taps - 1 + fold_decompositions(together)),
        }
        .repeated(blocks.all_tiles()))
    }

    fn published(&self, layer: &Layer, slots: usize) -> Published {
        let Letters { c, k, rs, xy, .. } = Letters::new(layer);
        let pixels = xy.min(slots);
        let ct = power_of_two(|ct| pixels * ct <= slots && ct <= c);
        let kt = power_of_two(|kt| kt <= k && kt * ct * rs <= slots);
        let products = xy.div_ceil(pixels) * k.div_ceil(kt) * c.div_ceil(ct) * rs * kt;
        Published {
            products: products as u64,
            shifts: products as u64,
            permutes: products as u64,
        }
    }

    fn build(&self, layer: &Layer, weights: &[i64], frame: &Frame) -> Result<Packed> {
        layer.check_weights(weights)?;
        let blocks = Blocks::new(layer, frame, false)?;
        let mut w = Writer::new(self.name(), frame, self.depth(layer))?;
        let inputs = blocks.inputs(&mut w)?;
        let together = blocks.together();
        for set in 0..blocks.sets() {
            for index in 0..blocks.kernels {
                let mut plaintexts = Vec::new();
                for tap in layer.window() {
                    let mut parts = Vec::new();
                    for part in 0..blocks.parts {
                        let weight = |row: usize, block: usize| {
                            let found = blocks.channel((set, part), row, block);
                            found.map_or(0, |(group, channel)| {
                                let kernel = blocks.kernel(group, row, index);
                                kernel.map_or(0, |k| weights[layer.weight(k, channel, tap)])
                            })
                        };
                        let slots = blocks.plaintext(blocks.distance(tap), weight);
                        parts.push(w.weights(&slots, 1)?);
                    }
                    plaintexts.push(parts);
                }
                for (tile, sets) in inputs.iter().enumerate() {
                    let mut sums = Vec::new();
                    for parts in &plaintexts {
                        let terms = sets[set].iter().zip(parts);
                        let terms: Vec<[usize; 2]> = terms.map(|(&x, &w)| [x, w]).collect();
                        sums.push(w.sum(&terms)?);
                    }
                    let window = blocks.windows(&mut w, &sums)?[0];
                    let sum = w.fold(window, blocks.block, together)?;
                    let kernel = |row: usize, block: usize| {
                        let (place, own) = (block / together, block % together);
                        let group = blocks.group(set, row, place).filter(|_| own == 0)?;
                        blocks.kernel(group, row, index)
                    };
                    w.output(sum, blocks.output(tile, kernel))?;
                }
            }
        }
        w.finish(false)
    }
}
