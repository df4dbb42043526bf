//! Operations word by word. The callers in `mod.rs` have checked that all slices have one length.

use super::float::*;
use crate::array::array;
use crate::lanes::*;
use crate::{Modulus, Store};

/// `out[i] = f(ins[0][i], ..)` for `i` in `0..len`. The last, partial vector is copied to the
/// stack.
///
/// # Safety
/// Every pointer reaches `len` words, `out` writable; `out` may equal one of `ins`.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn map<const K: usize>(
    out: *mut u64,
    ins: [*const u64; K],
    len: usize,
    f: impl Fn([I; K]) -> I,
) {
    let full = len / 4 * 4;
    for i in (0..full).step_by(4) {
        // SAFETY: i + 4 <= len, within every slice.
        unsafe { store(out.add(i), f(array!(k => load(ins[k].add(i))))) };
    }
    if full < len {
        let mut buffers = [[0u64; 4]; K];
        let mut result = [0u64; 4];
        // SAFETY: len - full < 4 words are copied from and to the ends of the slices.
        unsafe {
            for (buffer, p) in buffers.iter_mut().zip(ins) {
                buffer.as_mut_ptr().copy_from(p.add(full), len - full);
            }
            store(
                result.as_mut_ptr(),
                f(array!(k => load(buffers[k].as_ptr()))),
            );
            out.add(full).copy_from(result.as_ptr(), len - full);
        }
    }
}

/// As [`map`], with stores that pass the caches by.
///
/// # Safety
/// As for [`map`].
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn map_streamed<const K: usize>(
    out: *mut u64,
    ins: [*const u64; K],
    len: usize,
    f: impl Fn([I; K]) -> I,
) {
    // Such stores take whole lines.
    let head = out.align_offset(64).min(len);
    let end = head + (len - head) / 8 * 8;
    // SAFETY: all ranges are within `0..len`. In the loop `out + i` is a multiple of 32 bytes.
    unsafe {
        map(out, ins, head, &f);
        for i in (head..end).step_by(4) {
            stream(out.add(i), f(array!(k => load(ins[k].add(i)))));
        }
        map(out.add(end), array!(k => ins[k].add(end)), len - end, &f);
        end_stream(); // before another thread may read the words
    }
}

/// A kernel for a sum or a difference into a third slice.
macro_rules! kernel_into {
    ($name:ident, |$c:ident| $f:expr) => {
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
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

macro_rules! kernel {
    ($name:ident ( $first:ident $(, $slice:ident)* ; $($scalar:ident)? ) from [$($input:ident),*],
     |$q:ident, $c:ident| { $($setup:tt)* } $f:expr) => {
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
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

kernel!(add_assign(a, b;) from [a, b], |q, c| {}
    |[x, y]| c.subtract_once(add_words(x, y)));
kernel!(sub_assign(a, b;) from [a, b], |q, c| {} |[x, y]| {
    add_words_to_negative(sub_words(x, y), c.q_int)
});
kernel_into!(add_into, |c| |[x, y]| c.subtract_once(add_words(x, y)));
kernel_into!(sub_into, |c| |[x, y]| {
    add_words_to_negative(sub_words(x, y), c.q_int)
});
kernel!(neg_assign(a;) from [a], |q, c| {}
    |[x]| c.subtract_once(sub_words(c.q_int, x)));
kernel!(mul_into(out, a, b;) from [a, b], |q, c| {}
    |[x, y]| c.finish(c.mul(c.float(x), c.float(y))));
kernel!(mul_assign(a, b;) from [a, b], |q, c| {}
    |[x, y]| c.finish(c.mul(c.float(x), c.float(y))));
kernel!(mul_add_assign(acc, a, b;) from [acc, a, b], |q, c| {} |[z, x, y]| {
    let product = c.finish(c.mul(c.float(x), c.float(y)));
    c.subtract_once(add_words(z, product))
});
kernel!(scalar_mul_assign(a; s) from [a], |q, c| { let s = splat(s as f64); }
    |[x]| c.finish(c.mul(c.float(x), s)));
kernel!(scalar_mul_add_assign(acc, a; s) from [acc, a], |q, c| {
    let s = splat(s as f64);
} |[z, x]| {
    let product = c.finish(c.mul(c.float(x), s));
    c.subtract_once(add_words(z, product))
});
kernel!(sub_scalar_mul_assign(a, b; s) from [a, b], |q, c| { let s = splat(s as f64); }
    |[x, y]| c.finish(c.mul(sub(c.float(x), c.float(y)), s)));
kernel!(reduce_into(out, a;) from [a], |q, c| {} |[x]| c.finish(c.reduce(c.float(x))));
