//! BatchWise: one value a ciphertext, with as many images as there are slots.
//!
//! Source: Gilad-Bachrach et al., "CryptoNets", ICML 2016; Boemer et al., "nGraph-HE2", WAHC 2019;
//! Hyena (IEEE S&P 2024), section 7.3.
//!
//! *Dataflow.* The definition of the layer, value by value, with no rotation. One image costs as
//! much as a full batch.
//!
//! *Ours.* Taps in the padding are left out, so there are fewer products than the paper's tiles,
//! which are padded up, have.

use crate::counts::{Counts, Letters, Published};
use crate::error::Result;
use crate::frame::Frame;
use crate::layer::Layer;
use crate::packed::Packed;
use crate::packing::Packing;
use crate::scalars;

/// A value a ciphertext.
pub struct BatchWise;

impl Packing for BatchWise {
    fn name(&self) -> &'static str {
        "batchwise"
    }

    fn counts(&self, layer: &Layer, frame: &Frame) -> Result<Counts> {
        scalars::counts(layer, frame, false)
    }

    fn published(&self, layer: &Layer, slots: usize) -> Published {
        let Letters { c, k, rs, p, .. } = Letters::new(layer);
        published((c, k, rs, p), slots)
    }

    fn build(&self, layer: &Layer, weights: &[i64], frame: &Frame) -> Result<Packed> {
        scalars::build(self.name(), layer, weights, frame, false)
    }
}

/// The simulator's formula: tiles of channels and of kernels, padded up.
pub(crate) fn published(sizes: (usize, usize, usize, usize), slots: usize) -> Published {
    /// Kernels of a tile in the simulator.
    const KERNELS: usize = 256;
    let (c, k, rs, p) = sizes;
    let channels = if rs * c <= slots {
        c
    } else {
        (slots / rs).max(1)
    };
    let kernels = k.min(KERNELS);
    let tiles = k.div_ceil(kernels) * kernels * c.div_ceil(channels) * channels;
    Published {
        products: (p * tiles * rs) as u64,
        ..Published::default()
    }
}
