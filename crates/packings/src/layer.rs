//! The shape of a linear layer, and its definition on integers.

use crate::error::{Result, shape};
use network::{Conv, Dense, Linear};

/// Largest number of values or weights that a layer may have.
const MOST_VALUES: usize = 1 << 30;

/// The shape of a convolution. A dense layer is a convolution of one pixel with a kernel of one
/// weight.
///
/// Values are numbered image, channel, row, column; weights kernel, channel of the group, row,
/// column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layer {
    /// Number of images that are computed at once.
    pub batch: usize,
    /// Number of input channels.
    pub channels: usize,
    /// Number of output channels.
    pub kernels: usize,
    /// Number of groups of channels and of kernels. A kernel sees the channels of its own group.
    pub groups: usize,
    /// Height and width of the input.
    pub input: [usize; 2],
    /// Kernel height and width.
    pub kernel: [usize; 2],
    /// Step between windows, vertical and horizontal.
    pub stride: [usize; 2],
    /// Step between the rows and between the columns of a window.
    pub dilation: [usize; 2],
    /// Zeros added at top, left, bottom, right.
    pub pads: [usize; 4],
}

impl Layer {
    /// A convolution with stride 1, one group, and as much padding as keeps the size of the input.
    ///
    /// The result is the start of a shape: set the other fields, and call [`Layer::check`].
    pub fn conv(channels: usize, kernels: usize, side: usize, kernel: usize) -> Self {
        let around = (kernel.max(1) - 1) / 2;
        Self {
            batch: 1,
            channels,
            kernels,
            groups: 1,
            input: [side; 2],
            kernel: [kernel; 2],
            stride: [1; 2],
            dilation: [1; 2],
            pads: [around; 4],
        }
    }

    /// A dense layer.
    pub fn dense(inputs: usize, outputs: usize) -> Self {
        Self::conv(inputs, outputs, 1, 1)
    }

    /// This layer with another stride in both directions.
    #[must_use]
    pub fn strided(self, stride: usize) -> Self {
        Self {
            stride: [stride; 2],
            ..self
        }
    }

    /// This layer with groups.
    #[must_use]
    pub fn grouped(self, groups: usize) -> Self {
        Self { groups, ..self }
    }

    /// The shape and the weights of a linear map of an integer network, on a source of the given
    /// channels, height and width. `None` for a pooling sum or a shortcut: a packing has no
    /// products for these.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for negative padding, which cuts the source off.
    pub fn of_linear(linear: &Linear, source: [usize; 3]) -> Result<Option<(Self, Vec<i64>)>> {
        Ok(match linear {
            Linear::Conv(conv) => Some((Self::of_conv(conv, source)?, conv.weights.clone())),
            Linear::Dense(dense) => Some((Self::of_dense(dense), dense.weights.clone())),
            Linear::Window(_) => None,
        })
    }

    fn of_conv(conv: &Conv, [channels, height, width]: [usize; 3]) -> Result<Self> {
        let mut pads = [0; 4];
        for (pad, &own) in pads.iter_mut().zip(&conv.pads) {
            let checked = usize::try_from(own);
            *pad = checked.map_err(|_| shape("the padding of a convolution", own, "at least 0"))?;
        }
        let layer = Self {
            batch: 1,
            channels,
            kernels: conv.kernels,
            groups: conv.groups,
            input: [height, width],
            kernel: conv.kernel,
            stride: conv.stride,
            dilation: conv.dilation,
            pads,
        };
        layer.check().map(|()| layer)
    }

    fn of_dense(dense: &Dense) -> Self {
        Self::dense(dense.inputs, dense.outputs)
    }

    /// Checks that the shape is one of a layer.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) names the number that does not fit.
    pub fn check(&self) -> Result<()> {
        let sides = [
            ("the batch", self.batch),
            ("the number of channels", self.channels),
            ("the number of kernels", self.kernels),
            ("the number of groups", self.groups),
            ("the height of the input", self.input[0]),
            ("the width of the input", self.input[1]),
            ("the height of the kernel", self.kernel[0]),
            ("the width of the kernel", self.kernel[1]),
            ("the vertical stride", self.stride[0]),
            ("the horizontal stride", self.stride[1]),
            ("the vertical dilation", self.dilation[0]),
            ("the horizontal dilation", self.dilation[1]),
        ];
        for (what, found) in sides {
            if !(1..=1 << 15).contains(&found) {
                return Err(shape(what, found, "1 to 32768"));
            }
        }
        if let Some(&pad) = self.pads.iter().find(|&&pad| pad > 1 << 15) {
            return Err(shape("a padding", pad, "at most 32768"));
        }
        for (what, found) in [
            ("the number of channels", self.channels),
            ("the number of kernels", self.kernels),
        ] {
            if found % self.groups != 0 {
                let expected = format!("a multiple of the {} groups", self.groups);
                return Err(shape(what, found, expected));
            }
        }
        let span = self.span();
        for (axis, name) in ["height", "width"].into_iter().enumerate() {
            let padded = self.input[axis] + self.pads[axis] + self.pads[axis + 2];
            if span[axis] > padded {
                let what = format!("the {name} of a window, dilation included,");
                let expected = format!("at most the padded input's {padded}");
                return Err(shape(what, span[axis], expected));
            }
        }
        let sizes = [
            ("the number of input values", self.inputs_wide()),
            ("the number of output values", self.outputs_wide()),
            ("the number of weights", self.weights_wide()),
        ];
        match sizes.into_iter().find(|&(_, n)| n > MOST_VALUES as u128) {
            Some((what, found)) => Err(shape(what, found, format!("at most {MOST_VALUES}"))),
            None => Ok(()),
        }
    }

    fn inputs_wide(&self) -> u128 {
        [self.batch, self.channels, self.input[0], self.input[1]]
            .iter()
            .map(|&n| n as u128)
            .product()
    }

    fn outputs_wide(&self) -> u128 {
        let [height, width] = self.output();
        [self.batch, self.kernels, height, width]
            .iter()
            .map(|&n| n as u128)
            .product()
    }

    fn weights_wide(&self) -> u128 {
        [
            self.kernels,
            self.group_channels(),
            self.kernel[0],
            self.kernel[1],
        ]
        .iter()
        .map(|&n| n as u128)
        .product()
    }

    /// Number of input values.
    pub fn inputs(&self) -> usize {
        self.inputs_wide() as usize
    }

    /// Number of output values.
    pub fn outputs(&self) -> usize {
        self.outputs_wide() as usize
    }

    /// Number of weights.
    pub fn weights(&self) -> usize {
        self.weights_wide() as usize
    }

    /// Channels that a kernel sees.
    pub fn group_channels(&self) -> usize {
        self.channels / self.groups
    }

    /// Kernels of a group.
    pub fn group_kernels(&self) -> usize {
        self.kernels / self.groups
    }

    /// Weights of a kernel for one channel.
    pub fn taps(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// Rows and columns that a window covers, dilation included.
    pub fn span(&self) -> [usize; 2] {
        [0, 1].map(|axis| self.dilation[axis] * (self.kernel[axis] - 1) + 1)
    }

    /// Height and width of the output.
    pub fn output(&self) -> [usize; 2] {
        let span = self.span();
        [0, 1].map(|axis| {
            let padded = self.input[axis] + self.pads[axis] + self.pads[axis + 2];
            (padded - span[axis]) / self.stride[axis] + 1
        })
    }

    /// The number of an input value at a row and column of the padded input. `None` in the padding.
    pub fn value(&self, image: usize, channel: usize, [y, x]: [usize; 2]) -> Option<u32> {
        let (y, x) = (y.checked_sub(self.pads[0])?, x.checked_sub(self.pads[1])?);
        let [height, width] = self.input;
        let number = ((image * self.channels + channel) * height + y) * width + x;
        (y < height && x < width).then_some(number as u32)
    }

    /// The number of an output value.
    pub fn result(&self, image: usize, kernel: usize, [y, x]: [usize; 2]) -> u32 {
        let [height, width] = self.output();
        (((image * self.kernels + kernel) * height + y) * width + x) as u32
    }

    /// The number of a weight.
    pub fn weight(&self, kernel: usize, channel: usize, [r, s]: [usize; 2]) -> usize {
        let row = (kernel * self.group_channels() + channel) * self.kernel[0] + r;
        row * self.kernel[1] + s
    }

    /// The row and column within a window of every weight of a kernel's channel.
    pub fn window(&self) -> impl Iterator<Item = [usize; 2]> + use<> {
        let [height, width] = self.kernel;
        (0..height).flat_map(move |r| (0..width).map(move |s| [r, s]))
    }

    /// The layer on integers, by definition.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for other numbers of values or weights.
    pub fn apply(&self, x: &[i64], weights: &[i64]) -> Result<Vec<i64>> {
        self.check()?;
        self.check_numbers(x, weights)?;
        let [height, width] = self.output();
        let mut out = Vec::with_capacity(self.outputs());
        for (image, kernel) in pairs(self.batch, self.kernels) {
            let first = kernel / self.group_kernels() * self.group_channels();
            for (oy, ox) in pairs(height, width) {
                let mut sum = 0;
                for channel in 0..self.group_channels() {
                    for [r, s] in self.window() {
                        let y = oy * self.stride[0] + r * self.dilation[0];
                        let x_ = ox * self.stride[1] + s * self.dilation[1];
                        if let Some(value) = self.value(image, first + channel, [y, x_]) {
                            let weight = self.weight(kernel, channel, [r, s]);
                            sum += x[value as usize] * weights[weight];
                        }
                    }
                }
                out.push(sum);
            }
        }
        Ok(out)
    }

    fn check_numbers(&self, x: &[i64], weights: &[i64]) -> Result<()> {
        if x.len() != self.inputs() {
            return Err(shape("the number of values", x.len(), self.inputs()));
        }
        self.check_weights(weights)
    }

    pub(crate) fn check_weights(&self, weights: &[i64]) -> Result<()> {
        match weights.len() == self.weights() {
            true => Ok(()),
            false => Err(shape(
                "the number of weights",
                weights.len(),
                self.weights(),
            )),
        }
    }
}

impl std::fmt::Display for Layer {
    /// Writes `conv 16x32x32 -> 32x16x16, 3x3/2`, for example, or `dense 64 -> 10`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ([h, w], [oh, ow], [r, s]) = (self.input, self.output(), self.kernel);
        if self.input == [1, 1] && self.kernel == [1, 1] {
            write!(f, "dense {} -> {}", self.channels, self.kernels)?;
        } else {
            let (c, k) = (self.channels, self.kernels);
            write!(f, "conv {c}x{h}x{w} -> {k}x{oh}x{ow}, {r}x{s}")?;
        }
        if self.stride[0] != self.stride[1] {
            write!(f, "/{}x{}", self.stride[0], self.stride[1])?;
        } else if self.stride != [1, 1] {
            write!(f, "/{}", self.stride[0])?;
        }
        if self.groups > 1 {
            write!(f, ", {} groups", self.groups)?;
        }
        if self.dilation != [1, 1] {
            write!(f, ", dilation {}x{}", self.dilation[0], self.dilation[1])?;
        }
        if self.batch > 1 {
            write!(f, ", {} images", self.batch)?;
        }
        Ok(())
    }
}

/// All pairs of two ranges from 0, the second fastest.
pub(crate) fn pairs(a: usize, b: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..a).flat_map(move |i| (0..b).map(move |j| (i, j)))
}
