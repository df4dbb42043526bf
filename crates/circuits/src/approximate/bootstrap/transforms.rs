//! The slot transform and its inverse as a few sparse matrices.

use crate::approximate::Matrix;
use ckks::{Complex64, Encoder};
use std::ops::Range;

/// Number of stages of the slot transform in each matrix. The first stage has blocks of 2.
const STAGES: usize = 4;

/// Matrices of coefficients to slots (`inward`) and of slots to coefficients (`outward`), in the
/// order of their use.
pub(super) struct Transforms {
    pub(super) inward: Vec<Matrix>,
    pub(super) outward: Vec<Matrix>,
}

impl Transforms {
    /// Number of matrices in each direction for `slots` slots.
    pub(super) fn count(slots: usize) -> usize {
        (slots.ilog2() as usize).div_ceil(STAGES).max(1)
    }

    /// Makes the matrices for vectors of `slots` slots.
    ///
    /// All diagonals are at non-negative multiples of a step. There are fewer than `2^STAGES` more
    /// steps than the transform has. For this, the results of `inward` are rotated, and `outward`
    /// takes them rotated.
    pub(super) fn new(encoder: &Encoder, slots: usize) -> Self {
        let bits = slots.ilog2() as usize;
        // Groups of stages, the blocks of 2 first. The last group has the remainder. One slot has
        // one empty group.
        let groups: Vec<Range<usize>> = (0..Self::count(slots))
            .map(|i| i * STAGES..((i + 1) * STAGES).min(bits))
            .collect();
        let identity = Matrix::new(slots, [(0, vec![Complex64::ONE; slots])]);
        let joined = |group: &Range<usize>| {
            group.clone().fold(identity.clone(), |done, s| {
                Matrix::join_stage(encoder, slots, 2 << s).after(&done)
            })
        };
        let split = |group: &Range<usize>| {
            group.clone().rev().fold(identity.clone(), |done, s| {
                Matrix::split_stage(encoder, slots, 2 << s).after(&done)
            })
        };
        let mut offset = 0;
        let mut inward = Vec::new();
        for group in groups.iter().rev() {
            let input = offset;
            offset += shift(group, bits);
            inward.push(split(group).rotated(offset, input));
        }
        let mut outward = Vec::new();
        for (i, group) in groups.iter().enumerate() {
            let input = offset;
            let last = i + 1 == groups.len();
            offset = if last { 0 } else { offset + shift(group, bits) };
            outward.push(joined(group).rotated(offset, input));
        }
        Self { inward, outward }
    }

    /// Changes the matrices for messages that repeat. The last matrix of `inward` then gives a
    /// vector of twice as many slots: the values times 1, then the values times `-i`. Added to
    /// their conjugates these are the real parts, then the imaginary parts. The first matrix of
    /// `outward` takes such a vector. Its result is half of the sum. The other half is the same
    /// rotated by `slots`.
    pub(super) fn by_parts(mut self) -> Self {
        if let Some(last) = self.inward.last_mut() {
            let slots = last.slots();
            *last = doubled(last, |j, _| {
                if j < slots {
                    Complex64::ONE
                } else {
                    -Complex64::I
                }
            });
        }
        if let Some(first) = self.outward.first_mut() {
            let slots = first.slots();
            let part = |j: usize, k: usize| {
                if (j + k) % (2 * slots) < slots {
                    Complex64::ONE
                } else {
                    Complex64::I
                }
            };
            *first = doubled(first, part);
        }
        self
    }
}

/// The matrix on twice as many slots. Entry `j` of diagonal `k` is that of `matrix` times
/// `factor(j, k)`.
fn doubled(matrix: &Matrix, factor: impl Fn(usize, usize) -> Complex64) -> Matrix {
    let slots = matrix.slots();
    let diagonals = matrix.diagonals().map(|(k, diagonal)| {
        let entries = (0..2 * slots).map(|j| diagonal[j % slots] * factor(j, k));
        (k as isize, entries.collect())
    });
    Matrix::new(2 * slots, diagonals)
}

/// Rotation that makes the diagonals of a group of stages non-negative: `2^stages - 1` steps. The
/// first group has one step more, so that all rotations together are a multiple of the largest
/// step. The last group wraps around.
fn shift(group: &Range<usize>, bits: usize) -> usize {
    let (step, steps) = (1usize << group.start, 1usize << group.len());
    if group.end == bits {
        0
    } else if group.start == 0 {
        steps * step
    } else {
        (steps - 1) * step
    }
}
