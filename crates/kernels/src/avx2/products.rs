//! Dot and matrix products: halves of 25 bits, so that the 32-bit multiplier gives exact sums.
//!
//! `(a1 2^25 + a0)(b1 2^25 + b0)` is summed as three words: `a0 b0`, `a0 b1 + a1 b0`, `a1 b1`, each
//! below 2^51, so 512 terms stay below 2^60. Halves that are zero throughout are left out.

use std::arch::x86_64::*;

use super::float::{I, load, store};
use crate::Modulus;

const HALF: u32 = 25;
const MASK: u64 = (1 << HALF) - 1;

/// `acc + a * b` of the low 32 bits.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn mul_add(acc: I, a: I, b: I) -> I {
    _mm256_add_epi64(acc, _mm256_mul_epu32(a, b))
}

/// Low and high halves of words below 2^50.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn halves(x: I) -> [I; 2] {
    [
        _mm256_and_si256(x, _mm256_set1_epi64x(MASK as i64)),
        _mm256_srli_epi64::<{ HALF as i32 }>(x),
    ]
}

/// The sum whose three parts are `parts`, modulo `q`.
#[inline]
fn combine(q: &Modulus, parts: [u64; 3]) -> u64 {
    let [low, middle, high] = parts.map(u128::from);
    q.reduce_u128(low + (middle << HALF) + (high << (2 * HALF)))
}

/// `out = sum of a[k] * b[k]`, added to what is there if `ADD`. Lengths were checked.
#[target_feature(enable = "avx2,fma")]
pub(super) fn dot<const ADD: bool>(q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
    let zero = _mm256_setzero_si256();
    let (vectors, tail) = out.as_chunks_mut::<4>();
    let done = 4 * vectors.len();
    for (i, out) in vectors.iter_mut().enumerate() {
        let mut sums = [zero; 3];
        for (x, y) in a.iter().zip(b) {
            // SAFETY: 4i + 4 <= the length of every slice.
            let (x, y) = unsafe { (load(x.as_ptr().add(4 * i)), load(y.as_ptr().add(4 * i))) };
            let ([x0, x1], [y0, y1]) = (halves(x), halves(y));
            sums[0] = mul_add(sums[0], x0, y0);
            sums[1] = mul_add(mul_add(sums[1], x0, y1), x1, y0);
            sums[2] = mul_add(sums[2], x1, y1);
        }
        let parts = words(sums);
        for (j, o) in out.iter_mut().enumerate() {
            let start = if ADD { *o } else { 0 };
            *o = combine(q, [parts[0][j] + start, parts[1][j], parts[2][j]]);
        }
    }
    for (i, o) in tail.iter_mut().enumerate() {
        let terms = a
            .iter()
            .zip(b)
            .map(|(x, y)| u128::from(x[done + i]) * u128::from(y[done + i]));
        let start = if ADD { u128::from(*o) } else { 0 };
        *o = q.reduce_u128(terms.sum::<u128>() + start);
    }
}

/// Vectors as words.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn words<const K: usize>(x: [I; K]) -> [[u64; 4]; K] {
    x.map(|v| {
        let mut lanes = [0; 4];
        // SAFETY: `lanes` has 4 words.
        unsafe { store(lanes.as_mut_ptr(), v) };
        lanes
    })
}

/// `out = m * x`, row `r` modulo `moduli[r]`. Lengths were checked.
#[target_feature(enable = "avx2,fma")]
pub(super) fn mat_mul(moduli: &[Modulus], m: &[u64], x: &[&[u64]], out: &mut [&mut [u64]]) {
    let Some(first) = out.first() else {
        return;
    };
    let (columns, inner) = (first.len(), x.len());
    let small = m.iter().all(|&f| f <= MASK);
    // A panel of 8 columns: two vectors of low halves and two of high ones per row.
    let mut panel = vec![[0u64; 16]; inner];
    for start in (0..columns).step_by(8) {
        let width = (columns - start).min(8);
        for (line, row) in panel.iter_mut().zip(x) {
            for (j, &word) in row[start..start + width].iter().enumerate() {
                (line[j], line[8 + j]) = (word & MASK, word >> HALF);
            }
        }
        for (r, (row, q)) in out.iter_mut().zip(moduli).enumerate() {
            let factors = &m[r * inner..(r + 1) * inner];
            let parts = if small {
                row_product::<true>(&panel, factors)
            } else {
                row_product::<false>(&panel, factors)
            };
            for (j, o) in row[start..start + width].iter_mut().enumerate() {
                *o = combine(q, [0, 1, 2].map(|part| parts[2 * part + j / 4][j % 4]));
            }
        }
    }
}

/// The three parts of one row times a panel, two vectors each. `SMALL`: factors have one half.
#[target_feature(enable = "avx2,fma")]
fn row_product<const SMALL: bool>(panel: &[[u64; 16]], factors: &[u64]) -> [[u64; 4]; 6] {
    let mut sums = [_mm256_setzero_si256(); 6];
    for (line, &f) in panel.iter().zip(factors) {
        // SAFETY: a line has 16 words.
        let x = [0, 4, 8, 12].map(|j| unsafe { load(line.as_ptr().add(j)) });
        let f = _mm256_set1_epi64x(f as i64);
        let [f0, f1] = if SMALL { [f; 2] } else { halves(f) };
        for j in 0..2 {
            sums[j] = mul_add(sums[j], x[j], f0);
            sums[2 + j] = mul_add(sums[2 + j], x[2 + j], f0);
            if !SMALL {
                sums[2 + j] = mul_add(sums[2 + j], x[j], f1);
                sums[4 + j] = mul_add(sums[4 + j], x[2 + j], f1);
            }
        }
    }
    words(sums)
}
