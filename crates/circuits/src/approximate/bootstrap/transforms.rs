//! The slot transform and its inverse as a few sparse matrices.

use crate::approximate::Matrix;
use ckks::{Complex64, Encoder};
use std::ops::Range;

/// Stages of the slot transform in each matrix from slots to coefficients, the first stage (blocks of 2) first.
const STAGES: usize = 4;

/// Matrices from slots to coefficients, and back, in the order of their use.
pub(super) struct Transforms {
    pub(super) inward: Vec<Matrix>,
    pub(super) outward: Vec<Matrix>,
}

impl Transforms {
    /// Matrices in each direction for so many slots.
    pub(super) fn count(slots: usize) -> usize {
        (slots.ilog2() as usize).div_ceil(STAGES).max(1)
    }

    /// The matrices for vectors of so many slots.
    ///
    /// All diagonals are at non-negative multiples of a step, below `2^STAGES` steps more than the transform has: results of
    /// the first part come rotated, the second part takes them so.
    pub(super) fn new(encoder: &Encoder, slots: usize) -> Self {
        let bits = slots.ilog2() as usize;
        // Groups of stages, the blocks of 2 first; what does not divide is in the last. One slot has one group of none.
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

    /// The same between vectors of `slots` complex numbers and of twice as many: those times 1, then times `-i`, so that
    /// with their conjugates they are real parts, then imaginary ones. What comes out is half of the result: the other
    /// half is that rotated by `slots`.
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

/// The matrix on twice as many slots: entry `j` of diagonal `k` is that of the given one times `factor(j, k)`.
fn doubled(matrix: &Matrix, factor: impl Fn(usize, usize) -> Complex64) -> Matrix {
    let slots = matrix.slots();
    let diagonals = matrix.diagonals().map(|(k, diagonal)| {
        let entries = (0..2 * slots).map(|j| diagonal[j % slots] * factor(j, k));
        (k as isize, entries.collect())
    });
    Matrix::new(2 * slots, diagonals)
}

/// Rotation that makes the diagonals of a group of stages non-negative: `2^stages - 1` steps, and one more for the first
/// group, so that all rotations together are a multiple of the largest step. The last group wraps around.
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
