//! Positions of a tensor's values among the coefficients of ciphertexts.
//!
//! A [`Ring`] counts *positions*: `V` of them with `X^V = -1`. Fresh ciphertexts have `V = N`.
//! After slots to coefficients of a layout with copies, there are as many positions as values:
//! position `p` is coefficient `p g` with `g = N / 2V`. The copies fill the coefficients between,
//! and the upper half. Kernels in `X^g` are not affected by the copies: with values `d`, the
//! polynomial is `d(X^g) (1 + .. + X^(g-1)) (1 + X^(N/2))`. At coefficients `p g` below `N/2`, its
//! product with `k(X^g)` is `k d mod X^V + 1`.
//!
//! A [`Raster`] places channels, rows and columns in a ring. Positions of zeros may lie between
//! rows and between channels: as many as windows reach beyond the image. Without zeros, windows
//! that reach out of the image need kernels of their own (`linear`).

use circuits::transform::coefficient_of_slot;
use exchange::Layout;
use network::Shape;

/// The positions of a ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ring {
    n: usize,
    values: usize,
}

impl Ring {
    /// The ring of a fresh ciphertext: every coefficient is a position.
    pub(crate) fn full(n: usize) -> Self {
        Self { n, values: n }
    }

    /// The ring of a layout after slots to coefficients.
    pub(crate) fn of(layout: Layout) -> Self {
        Self {
            n: layout.slots(),
            values: layout.values(),
        }
    }

    /// Number of positions.
    pub(crate) fn len(self) -> usize {
        self.values
    }

    fn gap(self) -> usize {
        match self.values {
            values if values == self.n => 1,
            values => self.n / 2 / values,
        }
    }

    /// Coefficient of a position.
    pub(crate) fn coefficient(self, position: usize) -> usize {
        position * self.gap()
    }

    /// The coefficients that a kernel touches: those of the position and, in the upper half, those
    /// of its copy.
    pub(crate) fn coefficients(self, position: usize) -> Vec<i64> {
        let first = self.coefficient(position) as i64;
        match self.values {
            values if values == self.n => vec![first],
            _ => vec![first, first + self.n as i64 / 2],
        }
    }

    /// Power of `X` below `2N` that moves positions by `distance`.
    pub(crate) fn exponent(self, distance: i64) -> i64 {
        let values = self.values as i64;
        let wrapped = distance.rem_euclid(2 * values);
        if wrapped < values {
            wrapped * self.gap() as i64
        } else {
            self.n as i64 + (wrapped - values) * self.gap() as i64
        }
    }

    /// Index of the layout's value that comes to a position.
    pub(crate) fn value(self, position: usize) -> usize {
        if self.values == self.n {
            return coefficient_of_slot(self.n, position);
        }
        match self.values.ilog2() {
            0 => 0,
            bits => position.reverse_bits() >> (usize::BITS - bits),
        }
    }
}

/// Images of one shape in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raster {
    /// Channels, height, width of the part in one ciphertext.
    pub(crate) shape: Shape,
    /// Rows of zeros after each channel, and zeros after each row.
    pub(crate) zeros: [usize; 2],
    /// Distance in positions between images, between channels, and between rows.
    pub(crate) pitch: [usize; 3],
}

impl Raster {
    /// Places images directly one after the other, with the given zeros.
    pub(crate) fn new(shape: Shape, zeros: [usize; 2]) -> Self {
        let row = shape[2] + zeros[1];
        let channel = (shape[1] + zeros[0]) * row;
        Self {
            shape,
            zeros,
            pitch: [shape[0] * channel, channel, row],
        }
    }

    /// Sets the distance between images to `distance` positions, if that is more.
    pub(crate) fn spread(mut self, distance: usize) -> Self {
        self.pitch[0] = self.pitch[0].max(distance);
        self
    }

    /// Position of a value.
    pub(crate) fn position(&self, image: usize, [c, y, x]: Shape) -> usize {
        let [images, channels, rows] = self.pitch;
        image * images + c * channels + y * rows + x
    }

    /// Distance in positions from a window's first value to the value of `channel` that is `down`
    /// rows below and `across` columns to the right.
    pub(crate) fn distance(&self, channel: usize, [down, across]: [i64; 2]) -> i64 {
        let [_, channels, rows] = self.pitch.map(|p| p as i64);
        channel as i64 * channels + down * rows + across
    }

    /// Number of positions of `images` images, including the zeros before the first image and after
    /// the last.
    pub(crate) fn span(&self, images: usize) -> usize {
        let own = self.shape[0] * self.pitch[1];
        (images - 1) * self.pitch[0] + own + self.zeros[0] * self.pitch[2] + self.zeros[1]
    }

    /// The kind of value that a window reads at the given row and column, which may lie outside the
    /// image.
    pub(crate) fn reads(&self, [y, x]: [i64; 2]) -> Read {
        let inside = |at: i64, len: usize| (0..len as i64).contains(&at);
        let near = |at: i64, len: usize, zeros: usize| {
            (-(zeros as i64)..(len + zeros) as i64).contains(&at)
        };
        let [_, height, width] = self.shape;
        if inside(y, height) && inside(x, width) {
            Read::Value
        } else if near(y, height, self.zeros[0]) && near(x, width, self.zeros[1]) {
            Read::Zero
        } else {
            Read::Other
        }
    }
}

/// The kind of value at a position that a window reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// A value of the image.
    Value,
    /// A zero.
    Zero,
    /// A value of another row, channel or image.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_counts_modulo_minus_one() {
        let n = 64;
        let full = Ring::full(n);
        assert_eq!([0, 5, 64, -1].map(|d| full.exponent(d)), [0, 5, 64, 127]);
        let small = Ring::of(Layout::new(n, 8).unwrap());
        assert_eq!((small.len(), small.coefficient(3)), (8, 12));
        // X^(8 g) = X^32 counts as -1: exponents of the upper half come back with a sign.
        assert_eq!([1, 8, 9, -1].map(|d| small.exponent(d)), [4, 64, 68, 92]);
        assert_eq!(small.coefficients(1), [4, 36]);
        for ring in [full, small] {
            let mut seen: Vec<usize> = (0..ring.len()).map(|p| ring.value(p)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..ring.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn zeros_are_shared_by_neighbours() {
        let raster = Raster::new([2, 3, 4], [1, 1]);
        assert_eq!(raster.pitch, [40, 20, 5]);
        // The zero before a row is the zero after the row before it.
        assert_eq!(
            raster.position(0, [0, 1, 0]) - 1,
            raster.position(0, [0, 0, 3]) + 1
        );
        assert_eq!(raster.span(2), 86);
        assert_eq!(raster.reads([2, 3]), Read::Value);
        assert_eq!(raster.reads([-1, 4]), Read::Zero);
        assert_eq!(raster.reads([4, 0]), Read::Other);
        assert_eq!(Raster::new([1, 2, 2], [0, 0]).reads([0, -1]), Read::Other);
    }
}
