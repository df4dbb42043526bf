//! Gala: channel packing whose partial sums are added up over all ciphertexts before they are
//! rotated.
//!
//! Source: Zhang, Xin, Wu, "GALA", NDSS 2021; Hyena (IEEE S&P 2024), section 7.2.
//!
//! *Dataflow.* The dataflow of [`Channel`](crate::Channel), with one rotation for each diagonal of
//! an output, however many ciphertexts the input has.

use crate::counts::{Counts, Letters, Published, power_of_two};
use crate::diagonals;
use crate::error::Result;
use crate::frame::Frame;
use crate::layer::Layer;
use crate::packed::Packed;
use crate::packing::Packing;

/// Diagonals, rotated once for all ciphertexts.
pub struct Gala;

impl Packing for Gala {
    fn name(&self) -> &'static str {
        "gala"
    }

    fn counts(&self, layer: &Layer, frame: &Frame) -> Result<Counts> {
        diagonals::counts(layer, frame, true)
    }

    fn published(&self, layer: &Layer, slots: usize) -> Published {
        let Letters { c, k, rs, p, .. } = Letters::new(layer);
        let ct = power_of_two(|ct| ct <= c.min(k) && rs * ct * ct <= slots);
        let tiles = p.div_ceil((slots / (rs * ct * ct)).max(1));
        let (nc, nk) = (c.div_ceil(ct), k.div_ceil(ct));
        Published {
            products: (tiles * nk * ct * (rs * c).div_ceil(ct)) as u64,
            shifts: (tiles * (nc * rs + nk * ct)) as u64,
            permutes: 0,
        }
    }

    fn build(&self, layer: &Layer, weights: &[i64], frame: &Frame) -> Result<Packed> {
        diagonals::build(self.name(), layer, weights, frame, true)
    }
}
