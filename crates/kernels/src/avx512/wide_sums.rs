//! Sums of products of words below 2^60: dot products modulo a wide `q`, and matrix products where
//! a modulus or a word has more than 50 bits.
//!
//! With `a = a1 2^52 + a0` and `b = b1 2^52 + b0`, three accumulators hold the parts of `a b` at 1,
//! 2^52 and 2^104:
//!
//! ```text
//! low(a0 b0)    high(a0 b0) + low(a0 b1) + low(a1 b0)    high(a0 b1) + high(a1 b0) + low(a1 b1)
//! ```
//!
//! 512 products add up to less than `3 * 2^61` in each accumulator. The multiplier reads 52 bits,
//! so `a` may stand for `a0`.

use std::arch::x86_64::*;

use super::vector::*;
use crate::Modulus;

/// Three accumulators.
#[derive(Clone, Copy)]
struct Sum([V; 3]);

/// A word, and its bits from bit 52 on.
#[derive(Clone, Copy)]
struct Halves(V, V);

impl Halves {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn of(x: V) -> Self {
        Self(x, _mm512_srli_epi64::<52>(x))
    }
}

impl Sum {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn add_product(&mut self, Halves(a0, a1): Halves, Halves(b0, b1): Halves) {
        let [s0, s1, s2] = self.0;
        self.0 = [
            low(s0, a0, b0),
            low(low(high(s1, a0, b0), a0, b1), a1, b0),
            low(high(high(s2, a0, b1), a1, b0), a1, b1),
        ];
    }
}

/// Reduces a sum below q, for narrow and wide moduli.
#[derive(Clone, Copy)]
struct Reduction {
    c: Consts,
    /// 1, 2^52 and 2^104 modulo q.
    weights: [Factor; 3],
}

impl Reduction {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn new(q: &Modulus) -> Self {
        Self {
            c: Consts::new(q),
            weights: [1u128, 1 << 52, 1 << 104].map(|weight| {
                let w = q.reduce_u128(weight);
                Factor::shoup(w, q.shoup(w))
            }),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn run(&self, Sum(parts): Sum) -> V {
        let (c, [w0, w1, w2]) = (&self.c, self.weights);
        let x0 = c.mul_wide(parts[0], w0);
        let x1 = c.mul_wide(parts[1], w1);
        let x2 = c.mul_wide(parts[2], w2);
        let q4 = add(c.q2, c.q2);
        c.reduce8(sub_min(add(add(x0, x1), x2), add(q4, q4))) // below 12q
    }
}

/// Selects the lanes of the vector from word `i` on that lie before `len`.
#[inline]
fn mask(i: usize, len: usize) -> u8 {
    if len - i >= 8 {
        0xff
    } else {
        (1 << (len - i)) - 1
    }
}

/// `out = sum of a[k] * b[k]`, added to the old `out` if `ADD`. The caller has checked the lengths.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn dot<const ADD: bool>(q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
    let reduction = Reduction::new(q);
    let len = out.len();
    // Two vectors at a time, because the sums of one wait for the multiplier.
    for i in (0..len).step_by(16) {
        let masks = [mask(i, len), mask((i + 8).min(len), len)];
        let read = |p: *const u64, j: usize| {
            // SAFETY: the masks keep accesses below len, the length of every slice.
            unsafe { _mm512_maskz_loadu_epi64(masks[j], p.wrapping_add(i + 8 * j).cast()) }
        };
        let mut sums = [Sum([zero(); 3]); 2];
        if ADD {
            // `out` is below 2^60; with 256 products the sum stays below 2^62.
            sums[0].0[0] = read(out.as_ptr(), 0);
            sums[1].0[0] = read(out.as_ptr(), 1);
        }
        for (x, y) in a.iter().zip(b) {
            let (x, y) = (x.as_ptr(), y.as_ptr());
            sums[0].add_product(Halves::of(read(x, 0)), Halves::of(read(y, 0)));
            sums[1].add_product(Halves::of(read(x, 1)), Halves::of(read(y, 1)));
        }
        let [first, second] = sums;
        let p = out.as_mut_ptr().wrapping_add(i);
        // SAFETY: as above.
        unsafe {
            _mm512_mask_storeu_epi64(p.cast(), masks[0], reduction.run(first));
            _mm512_mask_storeu_epi64(p.wrapping_add(8).cast(), masks[1], reduction.run(second));
        }
    }
}

/// Rows and vectors of a tile: 24 of the 32 registers are accumulators.
const ROWS: usize = 4;
const WIDTH: usize = 2;

/// `out = m * x`, row `r` modulo `moduli[r]`, for entries and words below 2^60. The caller has
/// checked the lengths.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn mat_mul(moduli: &[Modulus], m: &[u64], x: &[&[u64]], out: &mut [&mut [u64]]) {
    let inner = x.len();
    for (first, out) in (0..).step_by(ROWS).zip(out.chunks_mut(ROWS)) {
        let moduli = &moduli[first..first + out.len()];
        let m = &m[first * inner..(first + out.len()) * inner];
        match out.len() {
            4 => tile::<4>(moduli, m, x, out),
            3 => tile::<3>(moduli, m, x, out),
            2 => tile::<2>(moduli, m, x, out),
            _ => tile::<1>(moduli, m, x, out),
        }
    }
}

/// Computes all columns of `R` rows.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn tile<const R: usize>(moduli: &[Modulus], m: &[u64], x: &[&[u64]], out: &mut [&mut [u64]]) {
    let reductions: [Reduction; R] = std::array::from_fn(|r| Reduction::new(&moduli[r]));
    // Column by column: the entries of all rows, with their upper bits.
    let factors: Vec<[[u64; 2]; R]> = (0..x.len())
        .map(|k| {
            std::array::from_fn(|r| {
                let factor = m[r * x.len() + k];
                [factor, factor >> 52]
            })
        })
        .collect();
    let len = out[0].len();
    for i in (0..len).step_by(8 * WIDTH) {
        let masks: [u8; WIDTH] = std::array::from_fn(|j| mask((i + 8 * j).min(len), len));
        let mut sums = [[Sum([zero(); 3]); WIDTH]; R];
        for (row, factors) in x.iter().zip(&factors) {
            let p = row.as_ptr().wrapping_add(i);
            // SAFETY: the masks keep accesses below len, the length of every row.
            let words = unsafe {
                [
                    Halves::of(_mm512_maskz_loadu_epi64(masks[0], p.cast())),
                    Halves::of(_mm512_maskz_loadu_epi64(masks[1], p.wrapping_add(8).cast())),
                ]
            };
            for r in 0..R {
                let factor = Halves(splat(factors[r][0]), splat(factors[r][1]));
                for j in 0..WIDTH {
                    sums[r][j].add_product(words[j], factor);
                }
            }
        }
        // Unrolled, so that the sums stay in registers to the end.
        macro_rules! finish {
            ($($r:literal)*) => {$(
                if $r < R {
                    let p = out[$r % R].as_mut_ptr().wrapping_add(i);
                    let reduction = &reductions[$r % R];
                    let [first, second] = sums[$r % R];
                    // SAFETY: as above.
                    unsafe {
                        _mm512_mask_storeu_epi64(p.cast(), masks[0], reduction.run(first));
                        let p = p.wrapping_add(8);
                        _mm512_mask_storeu_epi64(p.cast(), masks[1], reduction.run(second));
                    }
                }
            )*};
        }
        finish!(0 1 2 3);
    }
}
