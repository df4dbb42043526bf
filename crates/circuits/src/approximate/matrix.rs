//! Complex matrices, stored by their diagonals.

use ckks::{Complex64, Encoder};
use std::collections::BTreeMap;

/// Square matrix on `slots` slots, stored by its diagonals that are not zero:
/// `(A x)_j = sum_k d_k[j] x_(j+k)`, with indices modulo the number of slots.
#[derive(Clone, Debug)]
pub struct Matrix {
    slots: usize,
    diagonals: BTreeMap<usize, Vec<Complex64>>,
}

impl Matrix {
    /// The zero matrix.
    ///
    /// # Panics
    /// If the number of slots is no power of two.
    pub fn zero(slots: usize) -> Self {
        assert!(slots.is_power_of_two(), "a power of two of slots");
        Self {
            slots,
            diagonals: BTreeMap::new(),
        }
    }

    /// Makes the matrix with these diagonals. Their indices are taken modulo the number of slots.
    ///
    /// # Panics
    /// If the number of slots is no power of two, or a diagonal has another number of entries.
    pub fn new(slots: usize, diagonals: impl IntoIterator<Item = (isize, Vec<Complex64>)>) -> Self {
        let mut out = Self::zero(slots);
        for (k, diagonal) in diagonals {
            assert_eq!(diagonal.len(), slots, "one entry per slot");
            out.add_diagonal(k, |j| diagonal[j]);
        }
        out
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The diagonals by their index.
    pub fn diagonals(&self) -> impl ExactSizeIterator<Item = (usize, &[Complex64])> {
        self.diagonals.iter().map(|(&k, d)| (k, d.as_slice()))
    }

    fn add_diagonal(&mut self, k: isize, entry: impl Fn(usize) -> Complex64) {
        let k = k.rem_euclid(self.slots as isize) as usize;
        let diagonal = self.diagonals.entry(k);
        let diagonal = diagonal.or_insert_with(|| vec![Complex64::ZERO; self.slots]);
        for (j, x) in diagonal.iter_mut().enumerate() {
            *x += entry(j);
        }
    }

    /// Returns the matrix that applies `first`, then this matrix.
    ///
    /// # Panics
    /// If the numbers of slots differ.
    #[must_use]
    pub fn after(&self, first: &Self) -> Self {
        assert_eq!(self.slots, first.slots, "matrices of one size");
        let mask = self.slots - 1;
        let mut out = Self::zero(self.slots);
        for (&a, left) in &self.diagonals {
            for (&b, right) in &first.diagonals {
                out.add_diagonal((a + b) as isize, |j| left[j] * right[(j + a) & mask]);
            }
        }
        out
    }

    /// Returns the same map from vectors rotated left by `input` to results rotated left by
    /// `output`.
    #[must_use]
    pub fn rotated(&self, output: usize, input: usize) -> Self {
        let mask = self.slots - 1;
        let mut out = Self::zero(self.slots);
        for (&k, diagonal) in &self.diagonals {
            let index = (k + output) as isize - input as isize;
            out.add_diagonal(index, |j| diagonal[(j + output) & mask]);
        }
        out
    }

    /// Multiplies all entries by a number.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        let entries = self.diagonals.values_mut().flatten();
        entries.for_each(|x| *x *= factor);
        self
    }

    /// Multiplies the matrix by a vector.
    ///
    /// # Panics
    /// If the vector does not have one entry per slot.
    pub fn apply(&self, x: &[Complex64]) -> Vec<Complex64> {
        assert_eq!(x.len(), self.slots, "one entry per slot");
        let mask = self.slots - 1;
        let row = |j: usize| {
            let terms = self.diagonals.iter();
            terms.map(|(&k, d)| d[j] * x[(j + k) & mask]).sum()
        };
        (0..self.slots).map(row).collect()
    }

    /// The stage of the slot transform that joins blocks of `len / 2` to blocks of `len`. The
    /// stages 2, 4, .., in this order, are [`Encoder::coefficients_to_slots`] without its bit
    /// reversal.
    pub fn join_stage(encoder: &Encoder, slots: usize, len: usize) -> Self {
        let (half, inner) = (len / 2, |j: usize| j & (len - 1));
        let twiddle: Vec<Complex64> = (0..half).map(|j| encoder.twiddle(len, j)).collect();
        let mut out = Self::zero(slots);
        let one = Complex64::ONE;
        let low = |j: usize| inner(j) < half;
        out.add_diagonal(0, |j| {
            if low(j) {
                one
            } else {
                -twiddle[inner(j) - half]
            }
        });
        out.add_diagonal(half as isize, |j| {
            if low(j) {
                twiddle[inner(j)]
            } else {
                Complex64::ZERO
            }
        });
        out.add_diagonal(
            -(half as isize),
            |j| if low(j) { Complex64::ZERO } else { one },
        );
        out
    }

    /// The inverse of [`Matrix::join_stage`].
    pub fn split_stage(encoder: &Encoder, slots: usize, len: usize) -> Self {
        let (half, inner) = (len / 2, |j: usize| j & (len - 1));
        let twiddle: Vec<Complex64> = (0..half)
            .map(|j| encoder.twiddle(len, j).conj() / 2.0)
            .collect();
        let mut out = Self::zero(slots);
        let one = Complex64::new(0.5, 0.0);
        let low = |j: usize| inner(j) < half;
        out.add_diagonal(0, |j| {
            if low(j) {
                one
            } else {
                -twiddle[inner(j) - half]
            }
        });
        out.add_diagonal(
            half as isize,
            |j| if low(j) { one } else { Complex64::ZERO },
        );
        out.add_diagonal(-(half as isize), |j| {
            if low(j) {
                Complex64::ZERO
            } else {
                twiddle[inner(j) - half]
            }
        });
        out
    }
}
