//! Dot products. Each term reads two limbs, each once.

use super::sums::{Sums, limits};
use crate::Modulus;
use crate::array::array;
use crate::lanes::*;

/// `out = sum of a[k] * b[k]`, added to the old `out` if `ADD`. The caller has checked the lengths.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
pub(super) fn dot<const ADD: bool>(q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
    let limits = limits(a.len(), 2 * q.bits());
    let (terms, sums) = (limits.0, Sums::new(q, limits));
    // Two vectors at a time, so that additions to one sum need not wait for each other.
    let (vectors, tail) = out.as_chunks_mut::<8>();
    let done = 8 * vectors.len();
    for (i, out) in vectors.iter_mut().enumerate() {
        let (mut first, mut second) = (zero(), zero());
        if ADD {
            // SAFETY: `out` has 8 words.
            let [low, high] = unsafe { array!(k => load(out.as_ptr().add(4 * k))) };
            (first, second) = (sums.c.centre(low), sums.c.centre(high));
        }
        for (a, b) in a.chunks(terms).zip(b.chunks(terms)) {
            let (mut s, mut t) = (sums.zero(), sums.zero());
            for (x, y) in a.iter().zip(b) {
                // SAFETY: 8 i + 8 <= the length of every slice.
                let [x0, x1, y0, y1] = unsafe {
                    let (x, y) = (x.as_ptr().add(8 * i), y.as_ptr().add(8 * i));
                    [load(x), load(x.add(4)), load(y), load(y.add(4))]
                };
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
    for (i, o) in tail.iter_mut().enumerate() {
        let terms = a
            .iter()
            .zip(b)
            .map(|(x, y)| u128::from(x[done + i]) * u128::from(y[done + i]));
        let start = if ADD { u128::from(*o) } else { 0 };
        *o = q.reduce_u128(terms.sum::<u128>() + start);
    }
}
