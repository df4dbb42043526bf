//! Linear layers on coefficients: one product of polynomials does many inner products.
//!
//! A tensor `x[c][h][w]` lies in coefficients `c HW + h W + w`. The kernel polynomial has the weight
//! `w[c][i][j]` at `T - (c HW + i W + j)` with `T = (C-1) HW + (k_h-1) W + k_w - 1`, so coefficient
//! `T + h W + w` of the product is the convolution at `(h, w)`. Several kernels stand side by side,
//! [`ConvShape::span`] apart, and so do several images. Strides and gaps cost nothing: sample extraction
//! takes any coefficients.
//!
//! Source: Athena (MICRO 2025), section 3.2.1, equation 1; Huang, Lu, Hong, Ding, "Cheetah", USENIX
//! Security 2022, section 3.

/// Shape of a convolution on coefficients; a dense layer is one with a kernel as large as its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvShape {
    /// Input channels, and kernels.
    pub channels: usize,
    /// Output channels.
    pub kernels: usize,
    /// Height and width of the input, padding included.
    pub input: [usize; 2],
    /// Height and width of a kernel.
    pub kernel: [usize; 2],
    /// Stride in both directions.
    pub stride: usize,
}

impl ConvShape {
    /// Coefficients of one image.
    pub fn input_len(&self) -> usize {
        self.channels * self.input[0] * self.input[1]
    }

    /// Height and width of the output.
    pub fn output(&self) -> [usize; 2] {
        [0, 1].map(|d| (self.input[d] - self.kernel[d]) / self.stride + 1)
    }

    /// Place of the last weight, `T`.
    fn top(&self) -> usize {
        let [h, w] = self.input;
        (self.channels - 1) * h * w + (self.kernel[0] - 1) * w + self.kernel[1] - 1
    }

    /// Coefficients that one image's product with one kernel takes: results further apart do not meet.
    pub fn span(&self) -> usize {
        self.input_len() + self.top()
    }

    /// Coefficients from one image to the next when all kernels are in one polynomial.
    pub fn image_span(&self) -> usize {
        self.span() * self.kernels
    }

    /// Coefficients of all kernels side by side, for weights in the order kernel, channel, row,
    /// column.
    ///
    /// # Panics
    /// If there is not one weight per place.
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

    /// Coefficient of output `(kernel, row, column)` of the image that begins at `start`.
    pub fn output_coefficient(&self, start: usize, [kernel, row, column]: [usize; 3]) -> usize {
        let place = row * self.stride * self.input[1] + column * self.stride;
        start + kernel * self.span() + self.top() + place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_of_the_product_are_the_convolution() {
        let shape = ConvShape {
            channels: 2,
            kernels: 3,
            input: [6, 5],
            kernel: [3, 2],
            stride: 2,
        };
        let input: Vec<i64> = (0..60).map(|i| (i * 7) % 11 - 5).collect();
        let weights: Vec<i64> = (0..36).map(|i| (i * 5) % 13 - 6).collect();
        let kernel = shape.kernel_polynomial(&weights);
        let start = shape.image_span();
        let mut product = vec![0; start + input.len() + kernel.len()];
        for (i, &x) in input.iter().enumerate() {
            for (j, &w) in kernel.iter().enumerate() {
                product[start + i + j] += x * w;
                product[i + j] += 3 * x * w; // an image before it
            }
        }
        let [oh, ow] = shape.output();
        assert_eq!([oh, ow], [2, 2]);
        for k in 0..3 {
            for (r, c) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let mut want = 0;
                for ch in 0..2 {
                    for i in 0..3 {
                        for j in 0..2 {
                            let x = input[ch * 30 + (r * 2 + i) * 5 + c * 2 + j];
                            want += x * weights[((k * 2 + ch) * 3 + i) * 2 + j];
                        }
                    }
                }
                assert_eq!(product[shape.output_coefficient(start, [k, r, c])], want);
                assert_eq!(product[shape.output_coefficient(0, [k, r, c])], 3 * want);
            }
        }
    }
}
