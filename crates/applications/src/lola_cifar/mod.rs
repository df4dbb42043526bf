//! LoLa's CIFAR-10 network: its weights, its answer in the clear, and its circuit on slots.
//!
//! An image is sent as 38 ciphertexts. In each, every one of 7 x 7 positions has pixels of its own
//! window of 10 x 10, and from one ciphertext to the next the pixels are shifted by 8
//! (`layout.rs`). Convolutions and the dense layer are products with short plaintexts and
//! rotations. With the two squares the circuit has [`LEVELS`] levels.
//!
//! Source: Brutzkus, Gilad-Bachrach, Elisha, "Low Latency Privacy Preserving Inference", ICML 2019.

mod layout;
mod network;

pub use layout::SLOTS;
pub use network::{CLASSES, COLORS, Network, SIDE};

use crate::error::Result;
use layout::{HALF, PERIOD};
use program::circuit::{
    Arithmetic, Circuit, CircuitBuilder, Type, ValueId, Weights, linear_maps, sum_strided,
};

/// Number of levels: one for each linear layer and each square.
pub const LEVELS: usize = 5;

/// Builds the circuit from an image's [`inputs`] to its logits. The logits are the first slots of
/// the output `logits`.
///
/// The weights of each layer are at the level of the layer, and their scale is the modulus of this
/// level. Only squares therefore change the scale of ciphertexts.
pub fn circuit(
    network: &Network,
    arithmetic: Arithmetic,
    (slots, scale): (usize, f64),
) -> Result<Circuit> {
    let (encrypted, level) = (true, arithmetic.levels() - 1);
    let mut b = CircuitBuilder::new("lola_cifar", arithmetic, slots)?;
    let mut x = Vec::new();
    for i in 0..layout::IMAGES {
        let ty = Type {
            encrypted,
            level,
            scale,
        };
        x.push(b.input(&image_name(i), ty)?);
    }
    let weights = &mut Weights::Plain;
    let [first, second, last] = layout::biases(network);
    let x = linear_maps(&mut b, "first", &x, layout::first(network), weights)?;
    let x = add_biases(&mut b, "first", x, &first)?;
    let x = squares(&mut b, x)?;
    let x = linear_maps(&mut b, "second", &x, layout::second(network), weights)?;
    let x = sums(&mut b, x, (HALF as isize, 2))?;
    let x = add_biases(&mut b, "second", x, &second)?;
    let x = squares(&mut b, x)?;
    let x = linear_maps(&mut b, "last", &x, layout::last(network), weights)?;
    let x = sums(&mut b, x, (PERIOD as isize, slots / PERIOD))?;
    let x = add_biases(&mut b, "last", x, &last)?;
    b.output("logits", x[0])?;
    Ok(b.finish()?)
}

/// The circuit's inputs for an image, by name.
pub fn inputs(pixels: &[u8]) -> impl Iterator<Item = (String, Vec<f64>)> {
    let vectors = layout::image(pixels).into_iter().enumerate();
    vectors.map(|(i, values)| (image_name(i), values))
}

fn image_name(i: usize) -> String {
    format!("image.{i}")
}

fn squares(b: &mut CircuitBuilder, x: Vec<ValueId>) -> Result<Vec<ValueId>> {
    let mut square = |x| {
        let square = b.mul(x, x)?;
        Ok(b.rescale(square)?)
    };
    x.into_iter().map(&mut square).collect()
}

fn sums(b: &mut CircuitBuilder, x: Vec<ValueId>, of: (isize, usize)) -> Result<Vec<ValueId>> {
    x.into_iter().map(|x| Ok(sum_strided(b, x, of)?)).collect()
}

fn add_biases(
    b: &mut CircuitBuilder,
    layer: &str,
    x: Vec<ValueId>,
    biases: &[Vec<f64>],
) -> Result<Vec<ValueId>> {
    let mut add = |(i, (x, biases)): (usize, (ValueId, &Vec<f64>))| {
        let Type { level, scale, .. } = b.ty(x);
        let biases = b.constant(&format!("{layer}.bias.{i}"), biases, (level, scale))?;
        Ok(b.add(x, biases)?)
    };
    x.into_iter()
        .zip(biases)
        .enumerate()
        .map(&mut add)
        .collect()
}
