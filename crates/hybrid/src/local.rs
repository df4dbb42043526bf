//! Maps with public weights, which each party applies to its own share.

use network::Window;

/// Adds a window's map of a share to `sums`, modulo 2^64. The program must be checked.
pub(crate) fn add_window(sums: &mut [u64], window: &Window, source: [usize; 3], share: &[u64]) {
    let [channels, height, width] = source;
    let [rows, columns] = window.sliding().output([height, width]);
    let start = window.first * rows * columns;
    for c in 0..channels {
        for y in 0..rows {
            for x in 0..columns {
                let mut sum = 0u64;
                for (i, weights) in window.weights.chunks(window.kernel[1]).enumerate() {
                    let at = |position: usize, axis: usize, tap: usize| {
                        let offset = position * window.stride[axis] + tap * window.dilation[axis];
                        offset as i64 - window.pads[axis]
                    };
                    let row = at(y, 0, i);
                    if !(0..height as i64).contains(&row) {
                        continue;
                    }
                    for (j, &weight) in weights.iter().enumerate() {
                        let column = at(x, 1, j);
                        if (0..width as i64).contains(&column) {
                            let value = (c * height + row as usize) * width + column as usize;
                            sum = sum.wrapping_add(share[value].wrapping_mul(weight as u64));
                        }
                    }
                }
                let out = &mut sums[start + (c * rows + y) * columns + x];
                *out = out.wrapping_add(sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::ConvShape;

    /// A window agrees with its grouped convolution, on a ring product of `geometry`'s tests.
    #[test]
    fn a_window_by_hand() {
        let window = Window {
            kernel: [2, 2],
            stride: [1, 2],
            dilation: [1, 1],
            pads: [1, 0, 0, 0],
            weights: vec![1, 2, 3, -4],
            first: 1,
            channels: 2,
        };
        // Rows [0 0 0 0] (padding), [1 2 3 4], [5 6 7 8].
        let share: Vec<u64> = (1..=8).collect();
        let mut sums = vec![100; 2 * 2 * 2];
        add_window(&mut sums, &window, [1, 2, 4], &share);
        let expected = [3 - 8, 9 - 16, 1 + 4 + 15 - 24, 3 + 8 + 21 - 32i64];
        let found: Vec<i64> = sums[4..].iter().map(|&s| s as i64 - 100).collect();
        assert_eq!(found, expected);
        assert_eq!(sums[..4], [100; 4]);
        let shape = ConvShape {
            source: [1, 2, 4],
            kernels: 1,
            groups: 1,
            kernel: window.kernel,
            stride: window.stride,
            dilation: window.dilation,
            pads: window.pads,
        };
        assert_eq!(shape.output(), [1, 2, 2]);
    }
}
