//! Dot products. Each term reads two limbs, each once.

use super::sums::{Sums, limits};
use crate::array::array;
use crate::lanes::*;
use crate::{Modulus, PackedWords};

/// Sums of products in vectors of eight words, `out` in all. `$read` gives the words of a term of
/// `b` from some place on. It is no closure: see [`array!`].
macro_rules! sums {
    ($ADD:expr, $q:expr, $out:expr, $a:expr, $b:expr, |$y:ident, $at:ident| $read:expr) => {{
        let limits = limits($a.len(), 2 * $q.bits());
        let (terms, sums) = (limits.0, Sums::new($q, limits));
        // Two vectors at a time, so that additions to one sum need not wait for each other.
        let (vectors, _) = $out.as_chunks_mut::<8>();
        for (i, out) in vectors.iter_mut().enumerate() {
            let ($at, mut first, mut second) = (8 * i, zero(), zero());
            if $ADD {
                // SAFETY: `out` has 8 words.
                let [low, high] = unsafe { array!(k => load(out.as_ptr().add(4 * k))) };
                (first, second) = (sums.c.centre(low), sums.c.centre(high));
            }
            for (a, b) in $a.chunks(terms).zip($b.chunks(terms)) {
                let (mut s, mut t) = (sums.zero(), sums.zero());
                for (x, $y) in a.iter().zip(b) {
                    // SAFETY: `at + 8` is at most the length of every slice.
                    let [x0, x1] = unsafe { array!(k => load(x.as_ptr().add($at + 4 * k))) };
                    let [y0, y1] = $read;
                    s = sums.add(s, sums.c.float(x0), sums.c.float(y0));
                    t = sums.add(t, sums.c.float(x1), sums.c.float(y1));
                }
                (first, second) = (sums.settle(s, first), sums.settle(t, second));
            }
            // SAFETY: `out` has 8 words.
            unsafe {
                store(out.as_mut_ptr(), sums.c.finish(first));
                store(out.as_mut_ptr().add(4), sums.c.finish(second));
            }
        }
    }};
}

/// `out = sum of a[k] * b[k]`, added to the old `out` if `ADD`. The caller has checked the lengths.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
pub(super) fn dot<const ADD: bool>(q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
    let vectors = out.len() / 8;
    sums!(ADD, q, &mut out[..8 * vectors], a, b, |y, at| {
        // SAFETY: `at + 8` is at most the length of every slice.
        unsafe {
            let y = y.as_ptr().add(at);
            [load(y), load(y.add(4))]
        }
    });
    rest::<ADD>(q, 8 * vectors, out, a, |k, i| b[k][i]);
}

/// `out = sum of a[k] * b[k]`. The caller has checked the lengths, and that words have one width.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
pub(super) fn dot_packed(q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[PackedWords]) {
    let Some((bytes, width)) = b.first().map(PackedWords::parts) else {
        return out.fill(0);
    };
    let places = places(width);
    // Each load takes 16 bytes. The last one for a vector starts with its seventh word.
    let last = bytes.len().checked_sub(6 * width + 16);
    let vectors = last.map_or(0, |last| last / (8 * width) + 1);
    sums!(false, q, &mut out[..8 * vectors], a, b, |y, at| {
        let (bytes, _) = y.parts();
        // SAFETY: `(at + 6) width + 16` bytes are there.
        unsafe {
            let y = bytes.as_ptr().add(at * width);
            let next = y.add(4 * width);
            [
                unpack_words(y, 2 * width, places),
                unpack_words(next, 2 * width, places),
            ]
        }
    });
    rest::<false>(q, 8 * vectors, out, a, |k, i| b[k].word(i));
}

/// Sums of products from word `start` on, one by one.
fn rest<const ADD: bool>(
    q: &Modulus,
    start: usize,
    out: &mut [u64],
    a: &[&[u64]],
    b: impl Fn(usize, usize) -> u64,
) {
    for (i, o) in out.iter_mut().enumerate().skip(start) {
        let terms = a.iter().enumerate();
        let terms = terms.map(|(k, x)| u128::from(x[i]) * u128::from(b(k, i)));
        let old = if ADD { u128::from(*o) } else { 0 };
        *o = q.reduce_u128(terms.sum::<u128>() + old);
    }
}
