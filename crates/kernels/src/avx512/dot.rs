//! Sums of products with one reduction at the end, column by column.

use std::arch::x86_64::*;

use super::vector::*;
use crate::Modulus;
use crate::array::array;
use crate::modulus::MASK52;

/// Reduces `high * 2^52 + low`, two 64-bit accumulators of [`low`] and [`high`] products.
#[derive(Clone, Copy)]
pub(super) struct Reduction {
    pub(super) c: Consts,
    /// The factor whose Montgomery form is `2^104 mod q`: a product with it multiplies by `2^52`.
    shift: Factor,
    /// `floor(2^58 / q)`.
    ratio58: V,
    mask: V,
    /// True if the upper accumulator may exceed 2^51.
    fold: bool,
}

impl Reduction {
    /// For sums below `bound`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn new(q: &Modulus, bound: u128) -> Self {
        let c = Consts::new(q);
        Self {
            c,
            shift: c.factor(splat(q.reduce_u128(1 << 104))),
            ratio58: splat((1 << 58) / q.value()),
            mask: splat(MASK52),
            fold: bound > 1 << 103,
        }
    }

    /// The sum mod q, for `upper < 2^58` and `lower < 2^62`.
    ///
    /// A Montgomery step divides by 2^52. The product with `shift` undoes that.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn run(&self, lower: V, upper: V) -> V {
        let c = &self.c;
        let upper = if self.fold {
            // The quotient is at most two too small. The remainder is below 2^52, so its low bits
            // are all of it.
            let quotient = high(zero(), _mm512_srli_epi64::<6>(upper), self.ratio58);
            _mm512_and_si512(sub(upper, low(zero(), quotient, c.q)), self.mask)
        } else {
            upper
        };
        let m = low(zero(), lower, c.inv52);
        let sum = add(upper, _mm512_srli_epi64::<52>(lower));
        let divided = sub(sum, high(c.neg_q, m, c.q)); // below 3q + 2^10 + q
        sub_min(c.mul_lazy(divided, self.shift), c.q)
    }
}

/// `out = sum of a[k] * b[k]`, added to the old `out` if `ADD`. The caller has checked the lengths.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn dot<const ADD: bool>(q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
    let bound = (a.len() as u128 + 1) << (2 * q.bits());
    let reduction = Reduction::new(q, bound);
    let len = out.len();
    let mut i = 0;
    // Accumulators of four columns hide the latency of the multiply-add.
    while i + 32 <= len {
        // SAFETY: i + 32 <= len, the length of every slice.
        unsafe { columns::<4, ADD>(&reduction, out, a, b, i, 0xff) };
        i += 32;
    }
    while i < len {
        let mask = if len - i >= 8 {
            0xff
        } else {
            (1u8 << (len - i)) - 1
        };
        // SAFETY: the mask keeps accesses below len, the length of every slice.
        unsafe { columns::<1, ADD>(&reduction, out, a, b, i, mask) };
        i += 8;
    }
}

/// Computes `K` vectors of the sum, from word `i` on. `mask` selects the same lanes in all of them.
///
/// # Safety
/// The selected lanes lie within every slice.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
unsafe fn columns<const K: usize, const ADD: bool>(
    reduction: &Reduction,
    out: &mut [u64],
    a: &[&[u64]],
    b: &[&[u64]],
    i: usize,
    mask: u8,
) {
    let read = |p: *const u64, k: usize| {
        // SAFETY: by the promise of the caller of `columns`.
        unsafe { _mm512_maskz_loadu_epi64(mask, p.add(i + 8 * k).cast()) }
    };
    let mut lower = [zero(); K];
    let mut upper = [zero(); K];
    if ADD {
        lower = array!(k => read(out.as_ptr(), k));
    }
    for (x, y) in a.iter().zip(b) {
        for k in 0..K {
            let (u, v) = (read(x.as_ptr(), k), read(y.as_ptr(), k));
            lower[k] = low(lower[k], u, v);
            upper[k] = high(upper[k], u, v);
        }
    }
    for k in 0..K {
        let r = reduction.run(lower[k], upper[k]);
        // SAFETY: by the promise of the caller of `columns`.
        unsafe { _mm512_mask_storeu_epi64(out.as_mut_ptr().add(i + 8 * k).cast(), mask, r) };
    }
}
