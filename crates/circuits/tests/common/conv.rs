//! The geometry of a convolution on coefficients, for tests: several kernels and images side by
//! side.

/// Shape of a convolution on coefficients. A dense layer is a convolution whose kernel is as large
/// as its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvShape {
    /// Number of input channels.
    pub channels: usize,
    /// Number of kernels, which is the number of output channels.
    pub kernels: usize,
    /// Height and width of the input, padding included.
    pub input: [usize; 2],
    /// Height and width of a kernel.
    pub kernel: [usize; 2],
    /// Stride in both directions.
    pub stride: usize,
}

impl ConvShape {
    /// Number of coefficients of one image.
    pub fn input_len(&self) -> usize {
        self.channels * self.input[0] * self.input[1]
    }

    /// Height and width of the output.
    pub fn output(&self) -> [usize; 2] {
        [0, 1].map(|d| (self.input[d] - self.kernel[d]) / self.stride + 1)
    }

    /// Exponent of the last weight, `T`.
    fn top(&self) -> usize {
        let [h, w] = self.input;
        (self.channels - 1) * h * w + (self.kernel[0] - 1) * w + self.kernel[1] - 1
    }

    /// Number of coefficients that one image's product with one kernel takes. Results that are
    /// further apart do not overlap.
    pub fn span(&self) -> usize {
        self.input_len() + self.top()
    }

    /// Distance in coefficients from one image to the next if all kernels are in one polynomial.
    pub fn image_span(&self) -> usize {
        self.span() * self.kernels
    }

    /// Returns the coefficients of all kernels side by side. The weights are in the order kernel,
    /// channel, row, column.
    ///
    /// # Panics
    /// If the number of weights does not match the shape.
    pub fn kernel_polynomial(&self, weights: &[i64]) -> Vec<i64> {
        let [kh, kw] = self.kernel;
        let [h, w] = self.input;
        let per_kernel = self.channels * kh * kw;
        assert_eq!(
            weights.len(),
            self.kernels * per_kernel,
            "one weight per place"
        );
        let mut out = vec![0; self.span() * (self.kernels - 1) + self.top() + 1];
        for (index, &weight) in weights.iter().enumerate() {
            let (k, rest) = (index / per_kernel, index % per_kernel);
            let (c, place) = (rest / (kh * kw), rest % (kh * kw));
            let offset = c * h * w + (place / kw) * w + place % kw;
            out[k * self.span() + self.top() - offset] = weight;
        }
        out
    }

    /// Coefficient of output `(kernel, row, column)` of the image that begins at coefficient
    /// `start`.
    pub fn output_coefficient(&self, start: usize, [kernel, row, column]: [usize; 3]) -> usize {
        let place = row * self.stride * self.input[1] + column * self.stride;
        start + kernel * self.span() + self.top() + place
    }
}
