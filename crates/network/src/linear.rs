//! Linear groups: accumulation without any rounding.

use serde::{Deserialize, Serialize};

const FITS: &str = "accumulators of a checked network fit in 64 bits";

/// A linear map with bias.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Linear {
    /// Two-dimensional convolution.
    Conv(Conv),
    /// Matrix times vector.
    Dense(Dense),
}

/// Two-dimensional convolution (cross-correlation, as in every machine-learning library).
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Conv {
    /// Input channels.
    pub channels: usize,
    /// Kernels, which are the output channels.
    pub kernels: usize,
    /// Kernel height and width.
    pub kernel: [usize; 2],
    /// Step between windows, the same in both directions.
    pub stride: usize,
    /// Zeros added on each side.
    pub padding: usize,
    /// Input height and width, without the padding.
    pub input: [usize; 2],
    /// Weights in the order kernel, channel, row, column.
    pub weights: Vec<i64>,
    /// One bias per kernel.
    pub bias: Vec<i64>,
}

/// Matrix times vector.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Dense {
    /// Length of the input.
    pub inputs: usize,
    /// Length of the output.
    pub outputs: usize,
    /// Weights, one row per output.
    pub weights: Vec<i64>,
    /// One bias per output.
    pub bias: Vec<i64>,
}

impl Linear {
    /// Length of the input: for a convolution in the order channel, row, column.
    pub fn inputs(&self) -> usize {
        match self {
            Self::Conv(conv) => conv.channels * conv.input[0] * conv.input[1],
            Self::Dense(dense) => dense.inputs,
        }
    }

    /// Length of the output: for a convolution in the order kernel, row, column.
    pub fn outputs(&self) -> usize {
        match self {
            Self::Conv(conv) => conv.kernels * conv.output().iter().product::<usize>(),
            Self::Dense(dense) => dense.outputs,
        }
    }

    /// The accumulators for `input`, bias included.
    ///
    /// # Panics
    /// If `input` does not have [`inputs`](Self::inputs) entries, or the layer is not one of a
    /// checked network.
    pub fn accumulate(&self, input: &[i64]) -> Vec<i64> {
        assert_eq!(
            input.len(),
            self.inputs(),
            "one number per input of the layer"
        );
        match self {
            Self::Conv(conv) => conv.accumulate(input),
            Self::Dense(dense) => dense.accumulate(input),
        }
    }

    /// Largest accumulator, by absolute value, that inputs in `0..=max` can give; for a layer of
    /// a checked network.
    pub fn worst_case(&self, max: i64) -> i64 {
        let (weights, bias) = (self.weights(), self.bias());
        let per_output = weights.len() / bias.len().max(1);
        weights
            .chunks(per_output.max(1))
            .zip(bias)
            .map(|(row, &bias)| {
                let sum = |sign: i64| -> i64 {
                    row.iter().map(|&w| (sign * w).max(0) * max).sum::<i64>() + sign * bias
                };
                sum(1).max(sum(-1))
            })
            .max()
            .unwrap_or(0)
    }

    /// All weights, in the order of the file.
    pub fn weights(&self) -> &[i64] {
        match self {
            Self::Conv(conv) => &conv.weights,
            Self::Dense(dense) => &dense.weights,
        }
    }

    /// All biases.
    pub fn bias(&self) -> &[i64] {
        match self {
            Self::Conv(conv) => &conv.bias,
            Self::Dense(dense) => &dense.bias,
        }
    }
}

impl Conv {
    /// Output height and width.
    ///
    /// # Panics
    /// If the kernel is larger than the padded input or the stride is 0, which a checked
    /// network excludes.
    pub fn output(&self) -> [usize; 2] {
        [0, 1]
            .map(|axis| (self.input[axis] + 2 * self.padding - self.kernel[axis]) / self.stride + 1)
    }

    fn accumulate(&self, input: &[i64]) -> Vec<i64> {
        let ([rows, columns], [out_rows, out_columns]) = (self.input, self.output());
        let mut accumulators = Vec::with_capacity(self.kernels * out_rows * out_columns);
        for (kernel, &bias) in self.bias.iter().enumerate() {
            for out_row in 0..out_rows {
                for out_column in 0..out_columns {
                    let mut sum = bias;
                    for (index, &weight) in self.kernel_weights(kernel).iter().enumerate() {
                        let [channel, y, x] = self.tap(index);
                        // Wraps below zero inside the padding; the comparison rejects both sides.
                        let row = (out_row * self.stride + y).wrapping_sub(self.padding);
                        let column = (out_column * self.stride + x).wrapping_sub(self.padding);
                        if row < rows && column < columns {
                            let value = input[(channel * rows + row) * columns + column];
                            sum = multiply_add(sum, weight, value);
                        }
                    }
                    accumulators.push(sum);
                }
            }
        }
        accumulators
    }

    fn kernel_weights(&self, kernel: usize) -> &[i64] {
        let len = self.channels * self.kernel[0] * self.kernel[1];
        &self.weights[kernel * len..(kernel + 1) * len]
    }

    /// Channel, row and column of weight `index` of a kernel.
    fn tap(&self, index: usize) -> [usize; 3] {
        let [rows, columns] = self.kernel;
        [
            index / (rows * columns),
            index / columns % rows,
            index % columns,
        ]
    }
}

impl Dense {
    fn accumulate(&self, input: &[i64]) -> Vec<i64> {
        self.weights
            .chunks_exact(self.inputs)
            .zip(&self.bias)
            .map(|(row, &bias)| {
                row.iter().zip(input).fold(bias, |sum, (&weight, &value)| {
                    multiply_add(sum, weight, value)
                })
            })
            .collect()
    }
}

fn multiply_add(sum: i64, weight: i64, value: i64) -> i64 {
    weight
        .checked_mul(value)
        .and_then(|product| sum.checked_add(product))
        .expect(FITS)
}
