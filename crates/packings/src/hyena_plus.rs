//! Hyena+: Hyena with several images in a ciphertext.
//!
//! Source: Hyena (IEEE S&P 2024), section 7.3.
//!
//! *Packing.* The packing of [`Hyena`](crate::Hyena), but images come before channels. As many
//! images as fit lie side by side, and only the rest of a row takes channels and more kernels. For
//! one image the packing is Hyena.

use crate::cells;
use crate::counts::{Counts, Published};
use crate::error::Result;
use crate::frame::Frame;
use crate::hyena::published;
use crate::layer::Layer;
use crate::packed::Packed;
use crate::packing::Packing;

/// Windows of several images.
pub struct HyenaPlus;

impl Packing for HyenaPlus {
    fn name(&self) -> &'static str {
        "hyena+"
    }

    fn depth(&self, layer: &Layer) -> usize {
        cells::depth(layer)
    }

    fn counts(&self, layer: &Layer, frame: &Frame) -> Result<Counts> {
        cells::counts(layer, frame, true)
    }

    fn published(&self, layer: &Layer, slots: usize) -> Published {
        published(layer, slots, layer.batch)
    }

    fn build(&self, layer: &Layer, weights: &[i64], frame: &Frame) -> Result<Packed> {
        cells::build(self.name(), layer, weights, frame, true)
    }
}
