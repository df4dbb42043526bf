//! LoLa's MNIST network as three matrices, and the same in plain numbers.

use crate::common::Result;
use crate::tensors::Tensors;
use circuits::approximate::Weights;
use std::path::Path;

/// Kernels of the convolution, and places where each is applied: 13 x 13.
const MAPS: usize = 5;
const SIDE: usize = 13;
const KERNEL: usize = 5;
/// Outputs of the hidden layer.
const HIDDEN: usize = 100;
/// Slots of the convolution's results: map by map, and a 1 in the last.
pub(crate) const BLOCK: usize = 1024;
/// Pixels under a kernel, and one input that is 1 for the bias.
pub(crate) const TAPS: usize = KERNEL * KERNEL + 1;

/// The network with biases as columns for inputs that are 1; squares between the layers.
pub(crate) struct Network {
    /// For each tap, the weight at each of [`BLOCK`] places.
    pub(crate) taps: Vec<Vec<f64>>,
    pub(crate) hidden: Weights,
    pub(crate) last: Weights,
}

impl Network {
    /// Reads the safetensors file that `scripts/train_lola.py` writes.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let file = Tensors::open(path)?;
        let tensor = |name: &str, size: usize| file.read(name, size);
        let places = SIDE * SIDE;
        let inputs = MAPS * places;
        let kernels = tensor("conv.weight", MAPS * KERNEL * KERNEL)?;
        let biases = tensor("conv.bias", MAPS)?;
        let mut taps = vec![vec![0.0; BLOCK]; TAPS];
        for (tap, weights) in taps.iter_mut().enumerate() {
            for (j, weight) in weights[..inputs].iter_mut().enumerate() {
                let map = j / places;
                *weight = match tap {
                    t if t + 1 == TAPS => biases[map],
                    t => kernels[map * KERNEL * KERNEL + t],
                };
            }
        }
        // The bias input passes on as the last slot, which the square leaves at 1.
        taps[TAPS - 1][BLOCK - 1] = 1.0;
        let mut hidden = dense(
            &tensor("hidden.weight", HIDDEN * inputs)?,
            &tensor("hidden.bias", HIDDEN)?,
            BLOCK,
        );
        let mut one = vec![0.0; BLOCK];
        one[BLOCK - 1] = 1.0;
        hidden.resize(HIDDEN.next_power_of_two() - 1, vec![0.0; BLOCK]);
        hidden.push(one);
        let last = dense(
            &tensor("last.weight", 10 * HIDDEN)?,
            &tensor("last.bias", 10)?,
            hidden.len(),
        );
        Ok(Self {
            taps,
            hidden: Weights::new(hidden)?,
            last: Weights::new(last)?,
        })
    }

    /// Logits of an image, given as [`taps`], in plain numbers.
    pub(crate) fn evaluate(&self, image: &[Vec<f64>]) -> Vec<f64> {
        let mut sums = vec![0.0; BLOCK];
        for (pixels, weights) in image.iter().zip(&self.taps) {
            for ((sum, x), w) in sums.iter_mut().zip(pixels).zip(weights) {
                *sum += x * w;
            }
        }
        let square = |x: Vec<f64>| -> Vec<f64> { x.iter().map(|x| x * x).collect() };
        let hidden = self.hidden.apply(&square(sums));
        self.last.apply(&square(hidden))
    }
}

/// An image as the network's input: for each tap, what it sees at each of [`BLOCK`] places. Pixels become 0 to 1.
pub(crate) fn taps(pixels: &[u8]) -> Vec<Vec<f64>> {
    let places = SIDE * SIDE;
    let pixel = |tap: usize, place: usize| {
        // One row of padding above, one column to the left.
        let row = (2 * (place / SIDE) + tap / KERNEL).checked_sub(1)?;
        let column = (2 * (place % SIDE) + tap % KERNEL).checked_sub(1)?;
        Some(f64::from(pixels[row * 28 + column]) / 255.0)
    };
    let mut out = vec![vec![0.0; BLOCK]; TAPS];
    for (tap, values) in out[..TAPS - 1].iter_mut().enumerate() {
        for (j, value) in values[..MAPS * places].iter_mut().enumerate() {
            *value = pixel(tap, j % places).unwrap_or(0.0);
        }
    }
    out[TAPS - 1].fill(1.0);
    out
}

/// Rows of `columns` weights; the bias is in the last.
fn dense(weights: &[f64], biases: &[f64], columns: usize) -> Vec<Vec<f64>> {
    let rows = weights.chunks_exact(weights.len() / biases.len());
    rows.zip(biases)
        .map(|(row, &bias)| {
            let mut row = row.to_vec();
            row.resize(columns, 0.0);
            row[columns - 1] = bias;
            row
        })
        .collect()
}
