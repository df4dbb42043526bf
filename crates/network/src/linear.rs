//! Linear maps: how a term is computed from its source, without rounding.

use crate::place::Shape;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A linear map without bias.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Linear {
    /// Two-dimensional convolution.
    Conv(Conv),
    /// Matrix times vector.
    Dense(Dense),
    /// One kernel, applied to every channel separately.
    Window(Window),
}

/// Two-dimensional convolution (cross-correlation, as in every machine-learning library).
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Conv {
    /// Number of kernels, which is the number of output channels.
    pub kernels: usize,
    /// Number of channels of the source.
    pub channels: usize,
    /// Number of groups of channels and of kernels. A kernel sees the channels of its own group.
    pub groups: usize,
    /// Kernel height and width.
    pub kernel: [usize; 2],
    /// Step between windows, vertical and horizontal.
    pub stride: [usize; 2],
    /// Step between the rows and between the columns of a window.
    pub dilation: [usize; 2],
    /// Zeros added at top, left, bottom, right. A negative number cuts off that many rows or
    /// columns.
    pub pads: [i64; 4],
    /// Weights in the order kernel, channel of the group, row, column.
    pub weights: Vec<i64>,
}

/// Matrix times vector.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Dense {
    /// Number of inputs. The source is read in the order channel, row, column.
    pub inputs: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// Weights, one row per output.
    pub weights: Vec<i64>,
}

/// One kernel, applied to every channel separately: pooling sums, residual branches, shortcuts.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Kernel height and width.
    pub kernel: [usize; 2],
    /// Step between windows, vertical and horizontal.
    pub stride: [usize; 2],
    /// Step between the rows and between the columns of a window.
    pub dilation: [usize; 2],
    /// Zeros added at top, left, bottom, right. A negative number cuts off that many rows or
    /// columns.
    pub pads: [i64; 4],
    /// Weights in the order row, column.
    pub weights: Vec<i64>,
    /// Output channel of the source's channel 0. Output channels before it are 0.
    pub first: usize,
    /// Number of output channels. Output channels after the source's last channel are 0.
    pub channels: usize,
}

/// The places of a map's windows on a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sliding {
    /// Height and width of the kernel.
    pub kernel: [usize; 2],
    /// Step between windows, vertical and horizontal.
    pub stride: [usize; 2],
    /// Step between the rows and between the columns of a window.
    pub dilation: [usize; 2],
    /// Padding at top, left, bottom, right.
    pub pads: [i64; 4],
}

/// A linear map as a grouped convolution. Every kind of map is one, and the code that computes,
/// predicts or compiles maps is written for this form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grouped<'a> {
    /// Places of the windows.
    pub sliding: Sliding,
    /// Number of groups of source channels.
    pub groups: usize,
    /// Number of source channels of a group.
    pub inputs: usize,
    /// Number of kernels of a group. Each gives an output channel.
    pub kernels: usize,
    /// Output channel of the first kernel. Channels before it, and those after the last kernel, are
    /// 0.
    pub first: usize,
    /// One row of `inputs * rows * columns` weights for each kernel, group after group. If all
    /// kernels have the same weights, there is only one row.
    pub weights: &'a [i64],
}

impl Grouped<'_> {
    /// Number of weights of a kernel.
    pub fn row_len(&self) -> usize {
        self.inputs * self.sliding.kernel[0] * self.sliding.kernel[1]
    }

    /// Output channels that have a kernel.
    pub fn channels(&self) -> Range<usize> {
        self.first..self.first + self.groups * self.kernels
    }

    /// The kernel that gives an output channel, counted through all groups.
    pub fn kernel_of(&self, channel: usize) -> Option<usize> {
        let kernel = channel.checked_sub(self.first)?;
        (kernel < self.groups * self.kernels).then_some(kernel)
    }

    /// Index of the first weight of a kernel.
    pub fn weights_of(&self, kernel: usize) -> usize {
        kernel * self.row_len() % self.weights.len()
    }

    /// The map on a flattened source, if its only window covers all of the source: `inputs`
    /// channels with one value each. Otherwise the map as it is.
    pub(crate) fn flattened(self, source: Shape) -> (Shape, Self) {
        let whole = Sliding {
            kernel: [source[1], source[2]],
            stride: self.sliding.stride,
            dilation: [1, 1],
            pads: [0; 4],
        };
        if self.sliding != whole || self.groups != 1 {
            return (source, self);
        }
        let inputs = self.row_len();
        let sliding = Sliding {
            kernel: [1, 1],
            ..whole
        };
        let map = Self {
            sliding,
            inputs,
            ..self
        };
        ([inputs, 1, 1], map)
    }
}

impl Linear {
    /// The map as a grouped convolution of a source of this shape: channels, rows, columns. A dense
    /// map has one window over the whole source.
    pub fn grouped(&self, source: [usize; 3]) -> Grouped<'_> {
        match self {
            Self::Conv(conv) => Grouped {
                sliding: conv.sliding(),
                groups: conv.groups,
                inputs: conv.channels / conv.groups,
                kernels: conv.kernels / conv.groups,
                first: 0,
                weights: &conv.weights,
            },
            Self::Dense(dense) => Grouped {
                sliding: Sliding {
                    kernel: [source[1], source[2]],
                    stride: [1, 1],
                    dilation: [1, 1],
                    pads: [0; 4],
                },
                groups: 1,
                inputs: source[0],
                kernels: dense.outputs,
                first: 0,
                weights: &dense.weights,
            },
            Self::Window(window) => Grouped {
                sliding: window.sliding(),
                groups: source[0],
                inputs: 1,
                kernels: 1,
                first: window.first,
                weights: &window.weights,
            },
        }
    }

    /// All weights, in the order of the file.
    pub fn weights(&self) -> &[i64] {
        match self {
            Self::Conv(conv) => &conv.weights,
            Self::Dense(dense) => &dense.weights,
            Self::Window(window) => &window.weights,
        }
    }
}

impl Conv {
    /// The places of the convolution's windows.
    pub fn sliding(&self) -> Sliding {
        let (kernel, stride, dilation, pads) = (self.kernel, self.stride, self.dilation, self.pads);
        Sliding {
            kernel,
            stride,
            dilation,
            pads,
        }
    }
}

impl Window {
    /// The places of the map's windows.
    pub fn sliding(&self) -> Sliding {
        let (kernel, stride, dilation, pads) = (self.kernel, self.stride, self.dilation, self.pads);
        Sliding {
            kernel,
            stride,
            dilation,
            pads,
        }
    }
}

impl Sliding {
    /// Number of rows and columns that a window covers, dilation included.
    pub fn span(&self) -> [usize; 2] {
        [0, 1].map(|axis| self.dilation[axis] * (self.kernel[axis] - 1) + 1)
    }

    /// Number of rows and columns of a source, padding included. For a map of a checked network
    /// this is at least the span.
    pub fn padded(&self, source: [usize; 2]) -> [i64; 2] {
        [0, 1].map(|axis| source[axis] as i64 + self.pads[axis] + self.pads[axis + 2])
    }

    /// Number of rows and columns of windows on a source. For a map of a checked network.
    pub fn output(&self, source: [usize; 2]) -> [usize; 2] {
        let (padded, span) = (self.padded(source), self.span());
        [0, 1].map(|axis| (padded[axis] as usize - span[axis]) / self.stride[axis] + 1)
    }
}
