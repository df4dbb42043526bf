//! BatchWise+: BatchWise with several kernels in the slots that the batch leaves.
//!
//! Source: Hyena (IEEE S&P 2024), section 7.3.
//!
//! *Packing.* A value of a channel stands in every lane of the images, once for each kernel. A
//! plaintext has one weight of each kernel.
//!
//! *Ours.* Small groups share ciphertexts too, so that depthwise layers fill their slots.

use crate::batchwise::published;
use crate::counts::{Counts, Letters, Published};
use crate::error::Result;
use crate::frame::Frame;
use crate::layer::Layer;
use crate::packed::Packed;
use crate::packing::Packing;
use crate::scalars;

/// A value a ciphertext, for several kernels.
pub struct BatchWisePlus;

impl Packing for BatchWisePlus {
    fn name(&self) -> &'static str {
        "batchwise+"
    }

    fn counts(&self, layer: &Layer, frame: &Frame) -> Result<Counts> {
        scalars::counts(layer, frame, true)
    }

    fn published(&self, layer: &Layer, slots: usize) -> Published {
        let Letters { c, k, rs, p, .. } = Letters::new(layer);
        let lanes = (slots / layer.batch.max(1)).max(1).min(k);
        published((c, k.div_ceil(lanes), rs, p), slots)
    }

    fn build(&self, layer: &Layer, weights: &[i64], frame: &Frame) -> Result<Packed> {
        scalars::build(self.name(), layer, weights, frame, true)
    }
}
