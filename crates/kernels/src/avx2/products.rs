//! Dot and matrix products: halves of 25 bits, so that the 32-bit multiplier gives exact sums.
//!
//! `(a1 2^25 + a0)(b1 2^25 + b0)` is summed as three words: `a0 b0`, `a0 b1 + a1 b0`, `a1 b1`, each
//! below 2^51, so 512 terms stay below 2^60. Halves that are zero throughout are left out.

use std::arch::x86_64::*;

use super::float::{Consts, F, I, load, store};
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

/// Reduction of sums in three parts.
struct Reduction {
    c: Consts,
    /// `2^50` and `2^100` modulo q, nearest to zero.
    shifts: [F; 2],
}

impl Reduction {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(q: &Modulus) -> Self {
        let shift = |bits: u32| q.center(q.reduce_u128(1 << bits)) as f64;
        Self {
            c: Consts::new(q),
            shifts: [_mm256_set1_pd(shift(50)), _mm256_set1_pd(shift(100))],
        }
    }

    /// `low + middle 2^25 + high 2^50` mod q, for parts below 2^61.
    ///
    /// Carries leave digits below 2^50, 2^50 and 2^12; the products with the shifts are below q
    /// in size, so the sum is below `2^50 + 2q < 2^52`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn run(&self, [low, middle, high]: [I; 3]) -> I {
        const WIDTH: i32 = HALF as i32;
        let c = &self.c;
        let mask = _mm256_set1_epi64x(MASK as i64);
        let middle = _mm256_add_epi64(middle, _mm256_srli_epi64::<WIDTH>(low));
        let high = _mm256_add_epi64(high, _mm256_srli_epi64::<WIDTH>(middle));
        let digit0 = _mm256_or_si256(
            _mm256_and_si256(low, mask),
            _mm256_slli_epi64::<WIDTH>(_mm256_and_si256(middle, mask)),
        );
        let digit1 = _mm256_and_si256(high, _mm256_set1_epi64x((1 << (2 * HALF)) - 1));
        let digit2 = _mm256_srli_epi64::<{ 2 * WIDTH }>(high);
        let sum = _mm256_add_pd(
            c.mul(c.float(digit1), self.shifts[0]),
            c.mul(c.float(digit2), self.shifts[1]),
        );
        c.finish(c.reduce(_mm256_add_pd(sum, c.float(digit0))))
    }
}

/// `out = sum of a[k] * b[k]`, added to what is there if `ADD`. Lengths were checked.
#[target_feature(enable = "avx2,fma")]
pub(super) fn dot<const ADD: bool>(q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
    let reduction = Reduction::new(q);
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
        // SAFETY: `out` has 4 words.
        unsafe {
            if ADD {
                sums[0] = _mm256_add_epi64(sums[0], load(out.as_ptr()));
            }
            store(out.as_mut_ptr(), reduction.run(sums));
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

/// `out = m * x`, row `r` modulo `moduli[r]`. Lengths were checked.
#[target_feature(enable = "avx2,fma")]
pub(super) fn mat_mul(moduli: &[Modulus], m: &[u64], x: &[&[u64]], out: &mut [&mut [u64]]) {
    let Some(first) = out.first() else {
        return;
    };
    let (columns, inner) = (first.len(), x.len());
    let small = m.iter().all(|&f| f <= MASK);
    let same = moduli.iter().all(|q| *q == moduli[0]);
    let reductions: Vec<Reduction> = moduli[..if same { 1 } else { moduli.len() }]
        .iter()
        .map(|q| Reduction::new(q))
        .collect();
    // A panel of 8 columns: two vectors of low halves and two of high ones per row.
    let mut panel = vec![[0u64; 16]; inner];
    for start in (0..columns).step_by(8) {
        let width = (columns - start).min(8);
        for (line, row) in panel.iter_mut().zip(x) {
            for (j, &word) in row[start..start + width].iter().enumerate() {
                (line[j], line[8 + j]) = (word & MASK, word >> HALF);
            }
        }
        for (r, row) in out.iter_mut().enumerate() {
            let factors = &m[r * inner..(r + 1) * inner];
            let reduction = &reductions[r.min(reductions.len() - 1)];
            let words = if small {
                row_product::<true>(&panel, factors, reduction)
            } else {
                row_product::<false>(&panel, factors, reduction)
            };
            row[start..start + width].copy_from_slice(&words[..width]);
        }
    }
}

/// One row times a panel of 8 columns. `SMALL`: factors have one half.
#[target_feature(enable = "avx2,fma")]
fn row_product<const SMALL: bool>(
    panel: &[[u64; 16]],
    factors: &[u64],
    reduction: &Reduction,
) -> [u64; 8] {
    // Parts of the first vector, then of the second.
    let mut sums = [[_mm256_setzero_si256(); 3]; 2];
    for (line, &f) in panel.iter().zip(factors) {
        let f = _mm256_set1_epi64x(f as i64);
        let [f0, f1] = if SMALL { [f; 2] } else { halves(f) };
        for (j, sums) in sums.iter_mut().enumerate() {
            // SAFETY: a line has 16 words, and j < 2.
            let [x0, x1] = [4 * j, 8 + 4 * j].map(|at| unsafe { load(line.as_ptr().add(at)) });
            sums[0] = mul_add(sums[0], x0, f0);
            sums[1] = mul_add(sums[1], x1, f0);
            if !SMALL {
                sums[1] = mul_add(sums[1], x0, f1);
                sums[2] = mul_add(sums[2], x1, f1);
            }
        }
    }
    let mut words = [0; 8];
    for (j, sums) in sums.into_iter().enumerate() {
        // SAFETY: `words` has 8 words, and j < 2.
        unsafe { store(words.as_mut_ptr().add(4 * j), reduction.run(sums)) };
    }
    words
}
