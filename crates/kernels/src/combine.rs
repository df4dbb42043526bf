//! Products of linear combinations, by a backend's matrix products and dot products.

use crate::backend::{MAX_DOT, MAX_INNER, check_lengths};
use crate::{Kernels, Modulus};
use std::ops::Range;

/// Combinations that one product of matrices gives. Groups share it: their terms are the same.
const ROWS: usize = 256;
/// Words of one component of them: 512 KiB, so that both and their factors stay in the L2 cache.
const WORDS: usize = 1 << 16;
/// Most columns worked on at a time.
const BLOCK: usize = 1 << 9;

/// A limb of both components of some ciphertexts.
type Components<'a> = [&'a [&'a [u64]]; 2];

/// Operands of [`Kernels::tensor_combinations`].
#[derive(Clone, Copy, Debug)]
pub struct Combinations<'a> {
    /// Group-major, then by `y`, then by `x`.
    pub matrix: &'a [u64],
    /// The ciphertexts that are combined.
    pub x: Components<'a>,
    /// The ciphertexts by which combinations are multiplied.
    pub y: Components<'a>,
}

/// Panics if the sizes do not fit [`Kernels::tensor_combinations`].
#[track_caller]
pub(crate) fn check(&Combinations { matrix, x, y }: &Combinations, out: &[&mut [u64]]) {
    let ([inner, other], [height, second]) = (x.map(<[_]>::len), y.map(<[_]>::len));
    assert!(
        inner == other && height == second,
        "a ciphertext has two components"
    );
    assert!(inner > 0 && height > 0, "at least one term and one factor");
    assert!(inner <= MAX_INNER, "{inner} terms, at most {MAX_INNER}");
    assert!(
        2 * height <= MAX_DOT,
        "{height} combinations, at most {}",
        MAX_DOT / 2
    );
    assert_eq!(out.len() % 3, 0, "three components for each group");
    assert_eq!(
        matrix.len(),
        out.len() / 3 * inner * height,
        "a matrix of groups * height * inner"
    );
    let Some(first) = out.first() else { return };
    let limbs = x.iter().chain(&y).flat_map(|rows| rows.iter());
    for len in limbs
        .map(|row| row.len())
        .chain(out.iter().map(|row| row.len()))
    {
        check_lengths(first, [len]);
    }
}

/// [`Kernels::tensor_combinations`], for sizes that fit.
pub(crate) fn tensor_combinations<K: Kernels + ?Sized>(
    kernels: &K,
    q: &Modulus,
    &Combinations { matrix, x, y }: &Combinations,
    out: &mut [&mut [u64]],
) {
    let (inner, height) = (x[0].len(), y[0].len());
    let together = (ROWS / height).clamp(1, (out.len() / 3).max(1));
    let rows = together * height;
    let block = (WORDS / rows).clamp(64, BLOCK);
    let moduli = vec![*q; rows];
    let mut scratch = [vec![0u64; rows * block], vec![0u64; rows * block]];
    let width = out.first().map_or(0, |words| words.len());
    for first in (0..width).step_by(block) {
        let columns = first..(first + block).min(width);
        let x_block = x.map(|rows| slices(rows, &columns));
        let [y0, y1] = &y.map(|rows| slices(rows, &columns));
        let matrices = matrix.chunks(rows * inner);
        for (m, out) in matrices.zip(out.chunks_mut(3 * together)) {
            let rows = m.len() / inner;
            for (part, x) in scratch.iter_mut().zip(&x_block) {
                let mut targets: Vec<&mut [u64]> = part
                    .chunks_exact_mut(block)
                    .map(|r| &mut r[..columns.len()])
                    .take(rows)
                    .collect();
                kernels.mat_mul_into(&moduli[..rows], m, (x, q.bits()), &mut targets);
            }
            for (group, out) in out.chunks_exact_mut(3).enumerate() {
                let [p0, p1] = scratch.each_ref().map(|part| -> Vec<&[u64]> {
                    part[group * height * block..]
                        .chunks_exact(block)
                        .take(height)
                        .map(|r| &r[..columns.len()])
                        .collect()
                });
                kernels.dot_into(q, &mut out[0][columns.clone()], &p0, y0);
                kernels.dot_into(q, &mut out[2][columns.clone()], &p1, y1);
                let (crossed, others) = ([p0, p1].concat(), [&y1[..], y0].concat());
                kernels.dot_into(q, &mut out[1][columns.clone()], &crossed, &others);
            }
        }
    }
}

fn slices<'a>(rows: &[&'a [u64]], columns: &Range<usize>) -> Vec<&'a [u64]> {
    rows.iter().map(|r| &r[columns.clone()]).collect()
}
