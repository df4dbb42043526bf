//! Inverse negacyclic NTT: the stages of [`super::forward`] undone in the opposite order.
//!
//! A butterfly takes `(x, y)` to `(x + y, (x - y) w)`. The product is below `2q` for any input, but
//! sums double. After a pass of three stages the eight vectors are below 16q, 8q, 4q, 4q, 2q, 2q,
//! 2q, 2q, and the first four are reduced below `2q` again. All classes but [`FREE`] also reduce
//! sums within a pass: differences must stay below 2^52, and from [`ODD`] on below 2^51 for the
//! shorter product, see [`super::forward`].
//!
//! For wide moduli, sums are reduced below `4q` in every stage, and products are below `4q`.
//!
//! # Source
//! As for the forward transform.

use std::arch::x86_64::*;

use super::context::*;
use super::vector::*;
use crate::NttTable;
use crate::array::array;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn intt(table: &NttTable, a: &mut [u64]) {
    match table.modulus().bits() {
        51.. => transform::<WIDE>(table, a),
        50 => transform::<TIGHT>(table, a),
        49 => transform::<MIDDLE>(table, a),
        46..=48 => transform::<ODD>(table, a),
        _ => transform::<FREE>(table, a),
    }
}

/// All stages. Input below q, output below q.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn transform<const CLASS: u8>(table: &NttTable, a: &mut [u64]) {
    let t = &Context::new(table, table.inverse(), &table.shoup().inverse);
    let last = if CLASS == WIDE {
        let ([f0, f1], [s0, s1]) = (table.last(), table.shoup().last);
        [Factor::shoup(f0, s0), Factor::shoup(f1, s1)]
    } else {
        table.last().map(|w| t.c.factor(splat(w)))
    };
    let upper = a.len().trailing_zeros() - 3;
    let blocks = 1usize << (upper % 3);
    let len = a.len() / blocks;
    if len < 64 {
        lanes::<CLASS>(t, a, a.len() / 8);
    } else {
        for (i, block) in a.chunks_exact_mut(len).enumerate() {
            ascend::<CLASS>(t, block, blocks + i, &last);
        }
    }
    match upper % 3 {
        1 => radix2::<CLASS>(t, a, &last),
        2 => radix4::<CLASS>(t, a, &last),
        _ => {}
    }
}

/// All stages up to and including `node`. Node 1 is the root of the transform.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn ascend<const CLASS: u8>(t: &Context, block: &mut [u64], node: usize, last: &[Factor; 2]) {
    if block.len() > L1_WORDS {
        for (i, part) in block.chunks_exact_mut(block.len() / 8).enumerate() {
            ascend::<CLASS>(t, part, 8 * node + i, last);
        }
    } else {
        let mut parts = block.len() / 8;
        lanes::<CLASS>(t, block, node * parts);
        while parts > 8 {
            parts /= 8;
            for (i, part) in block.chunks_exact_mut(block.len() / parts).enumerate() {
                radix8::<CLASS, false>(t, part, node * parts + i, last);
            }
        }
    }
    if node == 1 {
        radix8::<CLASS, true>(t, block, 1, last);
    } else {
        radix8::<CLASS, false>(t, block, node, last);
    }
}

/// One butterfly on `x` and `y` below `bound`, a multiple of q. `2 * bound` is at most 2^52, or
/// 2^51 from [`ODD`] on. In [`WIDE`] the bound is 4q and the argument is not used.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn butterfly<const CLASS: u8>(t: &Context, x: &mut V, y: &mut V, f: Factor, bound: V) {
    let bound = if CLASS == WIDE { t.q4 } else { bound };
    let difference = sub(add(*x, bound), *y);
    let sum = add(*x, *y);
    *x = match CLASS {
        WIDE => sub_min(sum, t.q4),
        TIGHT => sub_min(sum, t.c.q2),
        _ => sum,
    };
    *y = t.mul::<CLASS>(difference, f);
}

/// The butterfly of the last stage, with the factor `1/N` in both products. Output below q.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn last_butterfly<const CLASS: u8>(
    t: &Context,
    x: &mut V,
    y: &mut V,
    last: &[Factor; 2],
    bound: V,
) {
    let c = &t.c;
    if CLASS == WIDE {
        let (sum, difference) = (add(*x, *y), sub(add(*x, t.q4), *y));
        *x = c.reduce8(c.mul_wide(sum, last[0]));
        *y = c.reduce8(c.mul_wide(difference, last[1]));
        return;
    }
    let difference = sub(add(*x, bound), *y);
    *x = sub_min(c.mul_lazy(add(*x, *y), last[0]), c.q);
    *y = sub_min(c.mul_lazy(difference, last[1]), c.q);
}

/// Last stage of the transform. Input below 2q, or below 4q in [`WIDE`], as for all passes here.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn radix2<const CLASS: u8>(t: &Context, a: &mut [u64], last: &[Factor; 2]) {
    let c = &t.c;
    let half = a.len() / 2;
    let p = a.as_mut_ptr();
    for i in (0..half).step_by(8) {
        // SAFETY: half is a multiple of 8, so both accesses end within `a`.
        unsafe {
            let (mut x, mut y) = (load(p.add(i)), load(p.add(i + half)));
            last_butterfly::<CLASS>(t, &mut x, &mut y, last, c.q2);
            store(p.add(i), x);
            store(p.add(i + half), y);
        }
    }
}

/// Last two stages of the transform. Input below 2q.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn radix4<const CLASS: u8>(t: &Context, a: &mut [u64], last: &[Factor; 2]) {
    let c = &t.c;
    let (f2, f3) = (t.root::<CLASS>(2), t.root::<CLASS>(3));
    let q4 = if CLASS <= TIGHT {
        c.q2
    } else {
        add(c.q2, c.q2)
    };
    let s = a.len() / 4;
    let p = a.as_mut_ptr();
    for i in (0..s).step_by(8) {
        // SAFETY: s is a multiple of 8, so all accesses end within `a`.
        unsafe {
            let mut v = array!(k => load(p.add(i + k * s)));
            let [v0, v1, v2, v3] = &mut v;
            butterfly::<CLASS>(t, v0, v1, f2, c.q2);
            butterfly::<CLASS>(t, v2, v3, f3, c.q2);
            last_butterfly::<CLASS>(t, v0, v2, last, q4);
            last_butterfly::<CLASS>(t, v1, v3, last, c.q2);
            for (k, x) in v.into_iter().enumerate() {
                store(p.add(i + k * s), x);
            }
        }
    }
}

/// Three stages of the block under `node`. Input below 2q; output below 2q, or below q if `LAST`.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn radix8<const CLASS: u8, const LAST: bool>(
    t: &Context,
    block: &mut [u64],
    node: usize,
    last: &[Factor; 2],
) {
    assert!(block.len().is_multiple_of(64));
    let s = block.len() / 8;
    let c = &t.c;
    let f1 = t.root::<CLASS>(node);
    let f2: [_; 2] = array!(k => t.root::<CLASS>(2 * node + k));
    let f4: [_; 4] = array!(k => t.root::<CLASS>(4 * node + k));
    let q4 = add(c.q2, c.q2);
    // Bounds of sums of two and of four inputs.
    let [sum2, sum4] = match CLASS {
        WIDE | TIGHT => [c.q2; 2],
        MIDDLE | ODD => [q4; 2],
        _ => [q4, add(q4, q4)],
    };
    let p = block.as_mut_ptr();
    for i in (0..s).step_by(8) {
        // SAFETY: s is a multiple of 8, so all accesses end within `block`.
        unsafe {
            let mut v = array!(k => load(p.add(i + k * s)));
            let [v0, v1, v2, v3, v4, v5, v6, v7] = &mut v;
            butterfly::<CLASS>(t, v0, v1, f4[0], c.q2);
            butterfly::<CLASS>(t, v2, v3, f4[1], c.q2);
            butterfly::<CLASS>(t, v4, v5, f4[2], c.q2);
            butterfly::<CLASS>(t, v6, v7, f4[3], c.q2);
            butterfly::<CLASS>(t, v0, v2, f2[0], sum2);
            butterfly::<CLASS>(t, v1, v3, f2[0], c.q2);
            butterfly::<CLASS>(t, v4, v6, f2[1], sum2);
            butterfly::<CLASS>(t, v5, v7, f2[1], c.q2);
            if CLASS == MIDDLE || CLASS == ODD {
                *v0 = sub_min(*v0, q4);
                *v4 = sub_min(*v4, q4);
            }
            if LAST {
                last_butterfly::<CLASS>(t, v0, v4, last, sum4);
                last_butterfly::<CLASS>(t, v1, v5, last, sum2);
                last_butterfly::<CLASS>(t, v2, v6, last, c.q2);
                last_butterfly::<CLASS>(t, v3, v7, last, c.q2);
            } else {
                butterfly::<CLASS>(t, v0, v4, f1, sum4);
                butterfly::<CLASS>(t, v1, v5, f1, sum2);
                butterfly::<CLASS>(t, v2, v6, f1, c.q2);
                butterfly::<CLASS>(t, v3, v7, f1, c.q2);
                if CLASS > TIGHT {
                    *v0 = c.barrett(*v0);
                    *v1 = c.barrett(*v1);
                    *v2 = sub_min(*v2, c.q2);
                    *v3 = sub_min(*v3, c.q2);
                }
            }
            for (k, x) in v.into_iter().enumerate() {
                store(p.add(i + k * s), x);
            }
        }
    }
}

/// The first three stages. `node` belongs to the first 8 words. Input below q, output below 2q.
///
/// The lanes are exchanged as in the forward transform, in the opposite order.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn lanes<const CLASS: u8>(t: &Context, block: &mut [u64], node: usize) {
    let c = &t.c;
    let (pairs, rest) = block.as_chunks_mut::<16>();
    assert!(rest.is_empty() && 4 * (node + 2 * pairs.len()) <= t.roots.len());
    let by_four = _mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1);
    let by_two = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);
    let low_lanes = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    let high_lanes = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    let q4 = if CLASS <= TIGHT {
        c.q2
    } else {
        add(c.q2, c.q2)
    };
    for (i, pair) in pairs.iter_mut().enumerate() {
        let k = node + 2 * i;
        let p = pair.as_mut_ptr();
        // SAFETY: `pair` has 16 words; the roots read end at 4k + 8 <= t.roots.len(), by the
        // assertion above.
        unsafe {
            let f4 = t.lanes::<CLASS>(k, |w| _mm512_permutexvar_epi64(by_four, w));
            let f2 = t.lanes::<CLASS>(2 * k, |w| _mm512_permutexvar_epi64(by_two, w));
            let f1 = t.lanes::<CLASS>(4 * k, |w| w);
            let (a, b) = (load(p), load(p.add(8)));
            let mut x = _mm512_permutex2var_epi64(a, even, b);
            let mut y = _mm512_permutex2var_epi64(a, odd, b);
            butterfly::<CLASS>(t, &mut x, &mut y, f1, c.q);
            let mut x2 = _mm512_unpacklo_epi64(x, y);
            let mut y2 = _mm512_unpackhi_epi64(x, y);
            butterfly::<CLASS>(t, &mut x2, &mut y2, f2, c.q2);
            let mut x4 = _mm512_permutex2var_epi64(x2, low_lanes, y2);
            let mut y4 = _mm512_permutex2var_epi64(x2, high_lanes, y2);
            butterfly::<CLASS>(t, &mut x4, &mut y4, f4, q4);
            if CLASS > TIGHT {
                x4 = c.barrett(x4);
            }
            for (at, v) in [(0, x4), (4, y4)] {
                _mm256_storeu_si256(p.add(at).cast(), _mm512_castsi512_si256(v));
                let upper = _mm512_extracti64x4_epi64::<1>(v);
                _mm256_storeu_si256(p.add(at + 8).cast(), upper);
            }
        }
    }
}
