//! The trait of all packings: a name, counts before anything is built, and a builder.

use crate::counts::{Counts, Published};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::layer::Layer;
use crate::packed::Packed;
use crate::{APlusW, BatchWise, BatchWisePlus, C2pc, Channel, Gala, Hyena, HyenaPlus, Lola};

/// A way to pack a layer's tensors into ciphertexts and plaintexts, with its dataflow.
pub trait Packing: Sync {
    /// The packing's name in commands and reports.
    fn name(&self) -> &'static str;

    /// Levels that a layer takes: products with plaintexts in a row.
    fn depth(&self, _: &Layer) -> usize {
        1
    }

    /// The counts of the [circuit](Packing::build) of a layer, by a closed formula.
    ///
    /// # Errors
    /// [`Error::Shape`] for a shape that no layer has, and for a layer that does not fit a
    /// ciphertext.
    fn counts(&self, layer: &Layer, frame: &Frame) -> Result<Counts>;

    /// The counts of the paper's dataflow for the layer, with this number of slots, by the formula
    /// of its simulator.
    fn published(&self, layer: &Layer, slots: usize) -> Published;

    /// Builds the circuit of a layer, with its weights in it.
    ///
    /// # Errors
    /// As [`Packing::counts`], and [`Error::Shape`] for another number of weights and for
    /// parameters with fewer levels than the packing's [depth](Packing::depth).
    fn build(&self, layer: &Layer, weights: &[i64], frame: &Frame) -> Result<Packed>;
}

/// All packings, in the order of the paper.
pub const ALL: [&dyn Packing; 9] = [
    &Lola,
    &Channel,
    &C2pc,
    &APlusW,
    &Hyena,
    &Gala,
    &BatchWise,
    &BatchWisePlus,
    &HyenaPlus,
];

/// The packing of a name.
///
/// # Errors
/// [`Error::Packing`] for an unknown name.
pub fn by_name(name: &str) -> Result<&'static dyn Packing> {
    let found = ALL.into_iter().find(|packing| packing.name() == name);
    found.ok_or_else(|| Error::Packing {
        found: name.into(),
        expected: ALL.map(|packing| packing.name()).join(", "),
    })
}
