//! LoLa's CIFAR-10 network in the clear: two convolutions and a dense layer, with squares between
//! them.

use crate::error::Result;
use crate::tensors::{Size, Synthetic, Tensors, Weights};
use std::path::Path;

/// Number of maps of the two convolutions.
pub(super) const MAPS: [usize; 2] = [83, 163];
/// Rows and columns of the results of the two convolutions.
pub(super) const SIDES: [usize; 2] = [14, 5];
/// Rows and columns of the two kernels. Both have stride 2.
pub(super) const KERNELS: [usize; 2] = [8, 6];
/// Number of colours of a pixel.
pub const COLORS: usize = 3;
/// Number of classes.
pub const CLASSES: usize = 10;
/// Rows and columns of an image.
pub const SIDE: usize = 32;

/// Mean of each channel, as in `scripts/train_lola_cifar.py`.
const MEAN: [f64; COLORS] = [0.4914, 0.4822, 0.4465];
const DEVIATION: [f64; COLORS] = [0.2470, 0.2435, 0.2616];

/// The network. Weights are stored by output, inputs channel by channel and then row by row.
pub struct Network {
    pub(super) first: Layer,
    pub(super) second: Layer,
    pub(super) last: Layer,
}

pub(super) struct Layer {
    /// Row-major, one row for each bias.
    pub(super) weights: Vec<f64>,
    pub(super) biases: Vec<f64>,
}

impl Layer {
    fn read(file: &mut impl Weights, name: &str, outputs: usize, inputs: usize) -> Result<Self> {
        Ok(Self {
            weights: file.read(&format!("{name}.weight"), Size { outputs, inputs })?,
            biases: file.read(&format!("{name}.bias"), Size { outputs, inputs: 1 })?,
        })
    }

    /// Weights of output `o`.
    pub(super) fn row(&self, o: usize) -> &[f64] {
        let inputs = self.weights.len() / self.biases.len();
        &self.weights[o * inputs..][..inputs]
    }

    fn dense(&self, x: &[f64]) -> Vec<f64> {
        let dot = |(o, bias): (usize, &f64)| {
            let terms = self.row(o).iter().zip(x);
            bias + terms.map(|(w, x)| w * x).sum::<f64>()
        };
        self.biases.iter().enumerate().map(dot).collect()
    }

    /// A convolution with stride 2, by its definition. `x` has `channels` channels of `side` x
    /// `side`.
    fn convolution(&self, x: &[f64], (channels, side): (usize, usize), kernel: usize) -> Vec<f64> {
        let places = (side - kernel) / 2 + 1;
        let mut out = vec![0.0; self.biases.len() * places * places];
        let mut window = Vec::new();
        for place in 0..places * places {
            let (row, column) = (2 * (place / places), 2 * (place % places));
            window.clear();
            for line in 0..channels * kernel {
                let start = (line / kernel * side + row + line % kernel) * side + column;
                window.extend_from_slice(&x[start..start + kernel]);
            }
            for (map, value) in self.dense(&window).into_iter().enumerate() {
                out[map * places * places + place] = value;
            }
        }
        out
    }
}

impl Network {
    /// Reads the safetensors file that `scripts/train_lola_cifar.py` writes.
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

    fn of(file: &mut impl Weights) -> Result<Self> {
        let taps = |layer: usize, channels: usize| channels * KERNELS[layer] * KERNELS[layer];
        Ok(Self {
            first: Layer::read(file, "first", MAPS[0], taps(0, COLORS))?,
            second: Layer::read(file, "second", MAPS[1], taps(1, MAPS[0]))?,
            last: Layer::read(file, "last", CLASSES, MAPS[1] * SIDES[1] * SIDES[1])?,
        })
    }

    /// Computes the logits of an image in the clear. Pixels are channel by channel, from 0 to 255.
    pub fn evaluate(&self, pixels: &[u8]) -> Vec<f64> {
        let square = |x: Vec<f64>| -> Vec<f64> { x.iter().map(|x| x * x).collect() };
        let side = SIDE + 2;
        let mut padded = vec![0.0; COLORS * side * side];
        for color in 0..COLORS {
            for row in 0..SIDE {
                for column in 0..SIDE {
                    let value = pixel(pixels, color, row as isize, column as isize);
                    padded[(color * side + row + 1) * side + column + 1] = value;
                }
            }
        }
        let x = self.first.convolution(&padded, (COLORS, side), KERNELS[0]);
        let shape = (MAPS[0], SIDES[0]);
        let x = self.second.convolution(&square(x), shape, KERNELS[1]);
        self.last.dense(&square(x))
    }
}

/// The normalised value of a pixel, or zero outside the image.
pub(super) fn pixel(pixels: &[u8], color: usize, row: isize, column: isize) -> f64 {
    let inside = 0..SIDE as isize;
    if !inside.contains(&row) || !inside.contains(&column) {
        return 0.0;
    }
    let value = pixels[(color * SIDE + row as usize) * SIDE + column as usize];
    (f64::from(value) / 255.0 - MEAN[color]) / DEVIATION[color]
}
