//! LoLa's MNIST network: its weights, its answer in the clear, and its circuit on slots.
//!
//! An image is sent as 26 vectors, one for each tap of the kernel: 25 have the tap's pixel at each
//! position, and one is 1, for the bias. A ciphertext holds as many vectors as fit. The convolution
//! is therefore a sum of products. Squares and dense layers follow. The circuit has [`LEVELS`]
//! levels.
//!
//! Source: Brutzkus, Gilad-Bachrach, Elisha, "Low Latency Privacy Preserving Inference", ICML 2019.

use crate::error::Result;
use crate::tensors::{self, Size, Synthetic, Tensors};
use program::circuit::{
    Arithmetic, Circuit, CircuitBuilder, Dense, Type, ValueId, Weights, sum_strided,
};
use std::path::Path;

/// Number of levels: one for each linear layer and each square.
pub const LEVELS: usize = 5;
/// Number of kernels of the convolution, and of positions of a kernel: 13 x 13.
const MAPS: usize = 5;
const SIDE: usize = 13;
const PLACES: usize = SIDE * SIDE;
const KERNEL: usize = 5;
const INPUTS: usize = MAPS * PLACES;
/// Number of outputs of the hidden layer.
const HIDDEN: usize = 100;
/// Number of classes.
pub const CLASSES: usize = 10;
/// Slots of the convolution's results: map by map, and a 1 in the last slot.
const BLOCK: usize = 1024;
/// Number of pixels under a kernel, plus one input that is 1 for the bias.
const TAPS: usize = KERNEL * KERNEL + 1;

/// A linear layer: weights by output, and biases.
struct Layer {
    weights: Vec<f64>,
    biases: Vec<f64>,
}

/// The network. Squares are between the layers.
pub struct Network {
    convolution: Layer,
    hidden: Layer,
    last: Layer,
}

impl Network {
    /// Reads the safetensors file that `scripts/train_lola.py` writes.
    ///
    /// # Errors
    /// [`Error::Model`](crate::Error::Model) for another file.
    pub fn load(path: &Path) -> Result<Self> {
        Self::of(&mut Tensors::open(path)?)
    }

    /// A network with synthetic weights, of no trained model. The instructions of a trace depend on
    /// no weight.
    ///
    /// # Errors
    /// No error occurs: synthetic tensors have every size.
    pub fn synthetic() -> Result<Self> {
        Self::of(&mut Synthetic::new())
    }

    fn of(weights: &mut impl tensors::Weights) -> Result<Self> {
        let mut layer = |name: &str, outputs: usize, inputs: usize| {
            Result::Ok(Layer {
                weights: weights.read(&format!("{name}.weight"), Size { outputs, inputs })?,
                biases: weights.read(&format!("{name}.bias"), Size { outputs, inputs: 1 })?,
            })
        };
        Ok(Self {
            convolution: layer("conv", MAPS, KERNEL * KERNEL)?,
            hidden: layer("hidden", HIDDEN, INPUTS)?,
            last: layer("last", CLASSES, HIDDEN)?,
        })
    }

    /// Computes the logits of an image of 28 x 28 pixels in the clear, by the definition of the
    /// layers.
    pub fn evaluate(&self, pixels: &[u8]) -> Vec<f64> {
        let square = |x: Vec<f64>| -> Vec<f64> { x.iter().map(|x| x * x).collect() };
        let mut maps = Vec::with_capacity(INPUTS);
        let kernels = self.convolution.weights.chunks_exact(KERNEL * KERNEL);
        for (kernel, bias) in kernels.zip(&self.convolution.biases) {
            for place in 0..PLACES {
                let seen = (0..KERNEL * KERNEL).map(|tap| kernel[tap] * pixel(pixels, tap, place));
                maps.push(bias + seen.sum::<f64>());
            }
        }
        self.last.apply(&square(self.hidden.apply(&square(maps))))
    }

    /// Builds the circuit from an image's [`inputs`] to its logits. The logits are the first
    /// [`CLASSES`] slots of the output `logits`.
    ///
    /// The convolution is a sum of products with as many taps to a ciphertext as fit (four in 4,096
    /// slots), and then a sum over these taps. The weights of each layer are at the level of the
    /// layer, and their scale is the modulus of this level. Only squares therefore change the scale
    /// of ciphertexts.
    ///
    /// # Errors
    /// The errors of [`CircuitBuilder`] for fewer than [`LEVELS`] levels, and for fewer slots than
    /// a tap has.
    pub fn circuit(
        &self,
        arithmetic: Arithmetic,
        (slots, scale): (usize, f64),
        mut weights: Weights,
    ) -> Result<Circuit> {
        let level = arithmetic.levels() - 1;
        let at = (level, arithmetic.divisor(level));
        let mut b = CircuitBuilder::new("lola_mnist", arithmetic, slots)?;
        let mut terms = Vec::new();
        for (i, taps) in grouped(&self.taps(), slots).into_iter().enumerate() {
            let encrypted = true;
            let ty = Type {
                encrypted,
                level,
                scale,
            };
            let image = b.input(&image_name(i), ty)?;
            terms.push([
                image,
                weights.place(&mut b, &format!("taps.{i}"), taps, at)?,
            ]);
        }
        let sum = b.dot(&terms)?;
        let sum = b.rescale(sum)?;
        let maps = sum_strided(&mut b, sum, (BLOCK as isize, slots / BLOCK))?;
        let x = square(&mut b, maps)?;
        let [hidden, last] = self.dense()?;
        let x = hidden.apply_to(&mut b, x, 16, &mut weights)?;
        let x = square(&mut b, x)?;
        let logits = last.apply_to(&mut b, x, 4, &mut weights)?;
        b.output("logits", logits)?;
        Ok(b.finish()?)
    }

    /// For each tap, its weight in each of [`BLOCK`] slots.
    fn taps(&self) -> Vec<Vec<f64>> {
        let mut taps = vec![vec![0.0; BLOCK]; TAPS];
        for (tap, weights) in taps.iter_mut().enumerate() {
            for (j, weight) in weights[..INPUTS].iter_mut().enumerate() {
                let map = j / PLACES;
                *weight = match tap {
                    t if t + 1 == TAPS => self.convolution.biases[map],
                    t => self.convolution.weights[map * KERNEL * KERNEL + t],
                };
            }
        }
        // The last slot keeps the bias input, which squares leave at 1.
        taps[TAPS - 1][BLOCK - 1] = 1.0;
        taps
    }

    /// The dense layers. Biases are columns for inputs that are 1.
    fn dense(&self) -> Result<[Dense; 2]> {
        let mut hidden = self.hidden.with_biases(BLOCK);
        let mut one = vec![0.0; BLOCK];
        one[BLOCK - 1] = 1.0;
        hidden.resize(HIDDEN.next_power_of_two() - 1, vec![0.0; BLOCK]);
        hidden.push(one);
        let last = self.last.with_biases(hidden.len());
        Ok([Dense::new("hidden", hidden)?, Dense::new("last", last)?])
    }
}

impl Layer {
    fn rows(&self) -> impl Iterator<Item = (&[f64], &f64)> {
        let inputs = self.weights.len() / self.biases.len();
        self.weights.chunks_exact(inputs).zip(&self.biases)
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let dot = |row: &[f64]| row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        self.rows().map(|(row, bias)| bias + dot(row)).collect()
    }

    /// The rows of weights, each extended to `columns` with the bias in the last column.
    fn with_biases(&self, columns: usize) -> Vec<Vec<f64>> {
        let row = |(row, &bias): (&[f64], &f64)| {
            let mut row = row.to_vec();
            row.resize(columns, 0.0);
            row[columns - 1] = bias;
            row
        };
        self.rows().map(row).collect()
    }
}

fn square(b: &mut CircuitBuilder, x: ValueId) -> Result<ValueId> {
    let square = b.mul(x, x)?;
    Ok(b.rescale(square)?)
}

/// The circuit's inputs for an image, by name. Each tap is a block of 1,024 slots, with its pixel
/// for each position. An input holds as many blocks as fit. Pixels are from 0 to 1.
pub fn inputs(pixels: &[u8], slots: usize) -> impl Iterator<Item = (String, Vec<f64>)> {
    let mut taps = vec![vec![0.0; BLOCK]; TAPS];
    for (tap, values) in taps[..TAPS - 1].iter_mut().enumerate() {
        for (j, value) in values[..INPUTS].iter_mut().enumerate() {
            *value = pixel(pixels, tap, j % PLACES);
        }
    }
    taps[TAPS - 1].fill(1.0);
    let groups = grouped(&taps, slots).into_iter().enumerate();
    groups.map(|(i, values)| (image_name(i), values))
}

fn image_name(i: usize) -> String {
    format!("image.{i}")
}

/// Joins as many vectors of [`BLOCK`] values as fit in `slots`, padded with zeros.
fn grouped(vectors: &[Vec<f64>], slots: usize) -> Vec<Vec<f64>> {
    let concat = |group: &[Vec<f64>]| {
        let mut values = group.concat();
        values.resize(slots, 0.0);
        values
    };
    vectors.chunks(slots / BLOCK).map(concat).collect()
}

/// The pixel of a tap at a position, from 0 to 1. The stride is 2, with one row of padding above
/// and one column on the left.
fn pixel(pixels: &[u8], tap: usize, place: usize) -> f64 {
    let row = (2 * (place / SIDE) + tap / KERNEL).checked_sub(1);
    let column = (2 * (place % SIDE) + tap % KERNEL).checked_sub(1);
    row.zip(column).map_or(0.0, |(row, column)| {
        f64::from(pixels[row * 28 + column]) / 255.0
    })
}
