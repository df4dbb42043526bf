//! Operations word by word. The callers in `mod.rs` have checked that all slices have one length.

use std::arch::x86_64::*;

use super::vector::*;
use crate::array::array;
use crate::lanes::end_stream;
use crate::modulus::MASK52;
use crate::{Modulus, Store};

/// `out[i] = f(ins[0][i], ..)` for `i` in `0..len`. The last, partial vector is masked.
///
/// # Safety
/// Every pointer reaches `len` words, `out` writable; `out` may equal one of `ins`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn map<const K: usize>(
    out: *mut u64,
    ins: [*const u64; K],
    len: usize,
    f: impl Fn([V; K]) -> V,
) {
    let full = len / 8 * 8;
    for i in (0..full).step_by(8) {
        // SAFETY: i + 8 <= len, within every slice.
        unsafe { store(out.add(i), f(array!(k => load(ins[k].add(i))))) };
    }
    if full < len {
        let mask = (1u8 << (len - full)) - 1;
        // SAFETY: the mask keeps the accesses below len.
        unsafe {
            let xs = array!(k => _mm512_maskz_loadu_epi64(mask, ins[k].add(full).cast()));
            _mm512_mask_storeu_epi64(out.add(full).cast(), mask, f(xs));
        }
    }
}

/// As [`map`], with stores that pass the caches by.
///
/// # Safety
/// As for [`map`].
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn map_streamed<const K: usize>(
    out: *mut u64,
    ins: [*const u64; K],
    len: usize,
    f: impl Fn([V; K]) -> V,
) {
    // Such stores take whole lines.
    let head = out.align_offset(64).min(len);
    let end = head + (len - head) / 8 * 8;
    // SAFETY: all ranges are within `0..len`. In the loop `out + i` is a multiple of 64 bytes.
    unsafe {
        map(out, ins, head, &f);
        for i in (head..end).step_by(8) {
            let x = f(array!(k => load(ins[k].add(i))));
            _mm512_stream_si512(out.add(i).cast(), x);
        }
        map(out.add(end), array!(k => ins[k].add(end)), len - end, &f);
    }
    end_stream(); // before another thread may read the words
}

/// Constants of [`Product::lazy`].
///
/// `a` is shifted left to 52 bits and `b` by `s` bits, so `h = floor(a b / 2^(bits - s))`. Then
/// `floor(h * floor(2^(52 + bits - s) / q) / 2^52)` is the quotient of `a b` by `q`, with an error
/// below `1 + 2^(1 - s) + 2^(bits + s - 52)`. With `s = 2` the remainder is below `2q` up to 49
/// bits. At 50 bits `s = 1` makes it below `2.5q`.
#[derive(Clone, Copy)]
struct Product {
    shift_a: __m128i,
    shift_b: __m128i,
    mu: V,
    minus_q: V,
    mask: V,
    tight: bool,
}

impl Product {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(q: &Modulus) -> Self {
        let tight = q.bits() == 50;
        let s = if tight { 1 } else { 2 };
        Self {
            shift_a: _mm_cvtsi64_si128(i64::from(52 - q.bits())),
            shift_b: _mm_cvtsi64_si128(i64::from(s)),
            mu: splat(((1u128 << (52 + q.bits() - s)) / u128::from(q.value())) as u64),
            minus_q: splat(MASK52 + 1 - q.value()),
            mask: splat(MASK52),
            tight,
        }
    }

    /// `a * b` below 2q, or below 2.5q at 50 bits, for `a` and `b` below q.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn lazy(&self, a: V, b: V) -> V {
        let top = high(
            zero(),
            _mm512_sll_epi64(a, self.shift_a),
            _mm512_sll_epi64(b, self.shift_b),
        );
        let quotient = high(zero(), top, self.mu);
        // The remainder is below 2^52, so its low 52 bits are all of it.
        let r = low(low(zero(), a, b), quotient, self.minus_q);
        _mm512_and_si512(r, self.mask)
    }
}

macro_rules! kernel {
    ($name:ident ( $first:ident $(, $slice:ident)* ; $($scalar:ident)? ) from [$($input:ident),*],
     |$q:ident, $c:ident| { $($setup:tt)* } $f:expr) => {
        #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
        pub(super) fn $name(
            $q: &Modulus, $first: &mut [u64] $(, $slice: &[u64])* $(, $scalar: u64)?
        ) {
            let $c = Consts::new($q);
            $($setup)*
            let len = $first.len();
            let out = $first.as_mut_ptr();
            // SAFETY: all slices have `len` words (checked by the caller in `mod.rs`).
            unsafe { map(out, [$($input.as_ptr()),*], len, $f) }
        }
    };
}
pub(super) use kernel;

/// A kernel for a sum or a difference into a third slice.
macro_rules! kernel_into {
    ($name:ident, |$c:ident| $f:expr) => {
        #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
        pub(super) fn $name(q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64], store: Store) {
            let $c = Consts::new(q);
            let (to, from) = (out.as_mut_ptr(), [a.as_ptr(), b.as_ptr()]);
            match store {
                // SAFETY: all slices have one length (checked by the caller in `mod.rs`).
                Store::Cached => unsafe { map(to, from, out.len(), $f) },
                // SAFETY: as above.
                Store::Streamed => unsafe { map_streamed(to, from, out.len(), $f) },
            }
        }
    };
}

kernel!(add_assign(a, b;) from [a, b], |q, c| {} |[x, y]| sub_min(add(x, y), c.q));
kernel!(sub_assign(a, b;) from [a, b], |q, c| {} |[x, y]| c.difference(x, y));
kernel_into!(add_into, |c| |[x, y]| sub_min(add(x, y), c.q));
kernel_into!(sub_into, |c| |[x, y]| c.difference(x, y));
kernel!(neg_assign(a;) from [a], |q, c| {} |[x]| sub_min(sub(c.q, x), c.q));
kernel!(mul_into(out, a, b;) from [a, b], |q, c| { let p = Product::new(q); } |[x, y]| {
    let r = p.lazy(x, y);
    sub_min(if p.tight { sub_min(r, c.q2) } else { r }, c.q)
});
kernel!(mul_assign(a, b;) from [a, b], |q, c| { let p = Product::new(q); } |[x, y]| {
    let r = p.lazy(x, y);
    sub_min(if p.tight { sub_min(r, c.q2) } else { r }, c.q)
});
kernel!(mul_add_assign(acc, a, b;) from [acc, a, b], |q, c| { let p = Product::new(q); }
    |[z, x, y]| sub_min(sub_min(add(z, p.lazy(x, y)), c.q2), c.q));
kernel!(scalar_mul_assign(a; s) from [a], |q, c| { let f = c.factor(splat(q.montgomery(s))); }
    |[x]| sub_min(c.mul_lazy(x, f), c.q));
kernel!(scalar_mul_add_assign(acc, a; s) from [acc, a], |q, c| {
    let f = c.factor(splat(q.montgomery(s)));
} |[z, x]| sub_min(sub_min(add(z, c.mul_lazy(x, f)), c.q2), c.q));
kernel!(sub_scalar_mul_assign(a, b; s) from [a, b], |q, c| {
    let f = c.factor(splat(q.montgomery(s)));
} |[x, y]| sub_min(c.mul_lazy(sub(add(x, c.q), y), f), c.q));
kernel!(reduce_into(out, a;) from [a], |q, c| {} |[x]| sub_min(c.barrett(x), c.q));
