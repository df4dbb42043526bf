//! Channel packing: several channels in a ciphertext, and products along diagonals.
//!
//! Source: Juvekar, Vaikuntanathan, Chandrakasan, "GAZELLE", USENIX Security 2018, section 5;
//! Hyena (IEEE S&P 2024), section 4.3.
//!
//! *Dataflow.* Each ciphertext is rotated by every tap. The products of a diagonal are added up
//! over taps, and rotated by as many blocks as the diagonal's number: once for each ciphertext and
//! diagonal.
//!
//! *Ours.* Rotations by taps are hoisted: they share a decomposition. Rotations by blocks are
//! nested, so that one key serves all. A ciphertext holds whole channels and not one window for
//! each result, as the paper's formula has it: there are fewer ciphertexts.

use crate::counts::{Counts, Letters, Published, power_of_two};
use crate::diagonals;
use crate::error::Result;
use crate::frame::Frame;
use crate::layer::Layer;
use crate::packed::Packed;
use crate::packing::Packing;

/// Diagonals, rotated for each ciphertext.
pub struct Channel;

impl Packing for Channel {
    fn name(&self) -> &'static str {
        "channel"
    }

    fn counts(&self, layer: &Layer, frame: &Frame) -> Result<Counts> {
        diagonals::counts(layer, frame, false)
    }

    fn published(&self, layer: &Layer, slots: usize) -> Published {
        let Letters { c, k, rs, p, .. } = Letters::new(layer);
        let ct = power_of_two(|ct| ct <= c.min(k) && rs * ct * ct <= slots);
        let tiles = p.div_ceil((slots / (rs * ct * ct)).max(1));
        let (nc, nk) = (c.div_ceil(ct), k.div_ceil(ct));
        Published {
            products: (tiles * nc * nk * ct * rs) as u64,
            shifts: (tiles * (nc * rs + nc * nk * ct)) as u64,
            permutes: 0,
        }
    }

    fn build(&self, layer: &Layer, weights: &[i64], frame: &Frame) -> Result<Packed> {
        diagonals::build(self.name(), layer, weights, frame, false)
    }
}
