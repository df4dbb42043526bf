//! Forward negacyclic NTT.
//!
//! A butterfly takes `(x, y)` to `(x + w y, x - w y)`. The Montgomery product is split, so that the
//! multiplier itself adds its halves to `x`. Up to 48 bits this takes five instructions:
//!
//! ```text
//! m  = low(-y w / q),  x' = (x + 1) + high(y w) + high(m q) = x + t,    t in [1, 2q)
//!                      y' = (2x + 2q) - x' = x + 2q - t
//! ```
//!
//! The low halves of `y w` and `m q` sum to 2^52 exactly unless both are zero: hence the 1. They
//! are never zero, because `w` is odd and `y` stays in `1..=2^51`. (Inputs that may be zero are
//! moved up by `q`.) The 1 costs nothing either. A vector that is `x` in the next `k` stages gets a
//! surplus of 1 for each of them, most often where it is reduced. `y'` leaves a stage with the same
//! surplus as `x'`.
//!
//! Above 48 bits the root is below `q` and the halves are subtracted, in six instructions:
//!
//! ```text
//! m  = low(y w / q),  u = x + high(y w),  x' = u - (high(m q) - q)   in (x, x + 2q)
//!                     s = 2x + 2q,        y' = s - x'                in (x, x + 2q)
//! ```
//!
//! Wide moduli take 64-bit words and the product of [`Consts::mul_wide`]. There `t` is below `4q`,
//! and so is `x` once it is reduced. `x + t` and `x + 4q - t` are below `8q`.
//!
//! In all narrow classes only the bound of `x` grows, by `2q` per stage. How often `x` must be
//! reduced depends on the bits of `q`: see [`TIGHT`] and the other classes.
//!
//! Passes of radix 8 keep eight vectors in registers for three stages. Blocks of the transform are
//! finished one after the other once they fit the L1 cache. The last three stages exchange lanes.
//!
//! # Source
//! Harvey 2014, <https://arxiv.org/abs/1205.2926>, for lazy ranges; Boemer et al., "Intel HEXL",
//! <https://ia.cr/2021/420>, for IFMA and the lane exchanges; Seiler, <https://ia.cr/2018/039>,
//! for the signed Montgomery product whose low halves cancel.

use std::arch::x86_64::*;

use super::context::*;
use super::vector::*;
use crate::NttTable;
use crate::array::array;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn ntt(table: &NttTable, a: &mut [u64]) {
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
    let t = &Context::new(table, table.forward(), &table.shoup().forward);
    let upper = a.len().trailing_zeros() - 3; // the stages before the lane exchanges
    let blocks = match upper % 3 {
        1 => radix2::<CLASS>(t, a),
        2 => radix4::<CLASS>(t, a),
        _ => radix8::<CLASS, true>(t, a, 1),
    };
    let len = a.len() / blocks;
    if len < 64 {
        return lanes::<CLASS>(t, a, a.len() / 8);
    }
    for (i, block) in a.chunks_exact_mut(len).enumerate() {
        descend::<CLASS>(t, block, blocks + i);
    }
}

/// All remaining stages of the block under `node`. The block's length is 8 times a power of 8.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn descend<const CLASS: u8>(t: &Context, block: &mut [u64], node: usize) {
    if block.len() > L1_WORDS {
        radix8::<CLASS, false>(t, block, node);
        for (i, part) in block.chunks_exact_mut(block.len() / 8).enumerate() {
            descend::<CLASS>(t, part, 8 * node + i);
        }
        return;
    }
    let mut parts = 1;
    while block.len() / parts > 8 {
        for (i, part) in block.chunks_exact_mut(block.len() / parts).enumerate() {
            radix8::<CLASS, false>(t, part, node * parts + i);
        }
        parts *= 8;
    }
    lanes::<CLASS>(t, block, node * parts);
}

impl Context<'_> {
    /// Prepares `x` at the start of a pass: reduces it if the class asks for that, and adds its
    /// surplus.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn enter<const CLASS: u8>(&self, x: V, surplus: V) -> V {
        let c = &self.c;
        match CLASS {
            WIDE | TIGHT => x, // reduced in every butterfly
            MIDDLE => c.barrett(x),
            ODD => {
                let quotient = high(zero(), x, c.ratio);
                sub(x, low(sub(zero(), surplus), quotient, c.q))
            }
            _ => add(x, surplus),
        }
    }

    /// One butterfly; `STAGE` counts from 0 since the last reduction.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn butterfly<const CLASS: u8, const STAGE: u8>(&self, x: &mut V, y: &mut V, f: Factor) {
        let c = &self.c;
        if CLASS == WIDE {
            let x0 = sub_min(*x, self.q4);
            let t = c.mul_wide(*y, f);
            (*x, *y) = (add(x0, t), sub(add(x0, self.q4), t));
            return;
        }
        let x0 = if CLASS == TIGHT {
            sub_min(*x, c.q2)
        } else {
            *x
        };
        let m = low(zero(), *y, f.w_inv);
        let u = high(x0, *y, f.w);
        if CLASS >= ODD {
            *x = high(u, m, c.q);
            *y = sub(low(self.double, x0, c.two), *x);
            return;
        }
        let sum = match (CLASS, STAGE) {
            // 6q exceeds the 51 bits that low() can double
            (MIDDLE, 2) => add(x0, add(x0, c.q2)),
            _ => low(c.q2, x0, c.two),
        };
        *x = sub(u, high(c.neg_q, m, c.q));
        *y = sub(sum, *x);
    }
}

/// First stage of the transform, when the number of stages leaves one alone. Input below q. Returns
/// the number of blocks that it leaves, as the other passes do.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn radix2<const CLASS: u8>(t: &Context, a: &mut [u64]) -> usize {
    let f = t.root::<CLASS>(1);
    let one = splat(1);
    let half = a.len() / 2;
    let p = a.as_mut_ptr();
    for i in (0..half).step_by(8) {
        // SAFETY: half is a multiple of 8, so both accesses end within `a`.
        unsafe {
            let (mut x, mut y) = (load(p.add(i)), load(p.add(i + half)));
            if CLASS >= ODD {
                (x, y) = (add(x, one), add(y, t.c.q));
            }
            t.butterfly::<CLASS, 0>(&mut x, &mut y, f);
            store(p.add(i), x);
            store(p.add(i + half), y);
        }
    }
    2
}

/// First two stages of the transform. Input below q.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn radix4<const CLASS: u8>(t: &Context, a: &mut [u64]) -> usize {
    let [f1, f2, f3] = array!(k => t.root::<CLASS>(k + 1));
    let (one, two) = (splat(1), splat(2));
    let s = a.len() / 4;
    let p = a.as_mut_ptr();
    for i in (0..s).step_by(8) {
        // SAFETY: s is a multiple of 8, so all accesses end within `a`.
        unsafe {
            let mut v = array!(k => load(p.add(i + k * s)));
            let [v0, v1, v2, v3] = &mut v;
            if CLASS >= ODD {
                (*v0, *v1) = (add(*v0, two), add(*v1, one));
                (*v2, *v3) = (add(*v2, t.c.q), add(*v3, t.c.q));
            }
            t.butterfly::<CLASS, 0>(v0, v2, f1);
            t.butterfly::<CLASS, 0>(v1, v3, f1);
            t.butterfly::<CLASS, 1>(v0, v1, f2);
            t.butterfly::<CLASS, 1>(v2, v3, f3);
            for (k, x) in v.into_iter().enumerate() {
                store(p.add(i + k * s), x);
            }
        }
    }
    4
}

/// Three stages of the block under `node`. The input is below q if `FIRST`. Otherwise the input,
/// and always the output, is in the range of the class (8q, 4q, 8q, 8q, 36q; at least 1 in the last
/// two).
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn radix8<const CLASS: u8, const FIRST: bool>(
    t: &Context,
    block: &mut [u64],
    node: usize,
) -> usize {
    assert!(block.len().is_multiple_of(64));
    let s = block.len() / 8;
    let f1 = t.root::<CLASS>(node);
    let f2: [_; 2] = array!(k => t.root::<CLASS>(2 * node + k));
    let f4: [_; 4] = array!(k => t.root::<CLASS>(4 * node + k));
    let [one, two, three] = array!(k => splat(k as u64 + 1));
    let p = block.as_mut_ptr();
    for i in (0..s).step_by(8) {
        // SAFETY: s is a multiple of 8, so all accesses end within `block`.
        unsafe {
            let mut v = array!(k => load(p.add(i + k * s)));
            let [v0, v1, v2, v3, v4, v5, v6, v7] = &mut v;
            if !FIRST || CLASS >= ODD {
                *v0 = t.enter::<CLASS>(*v0, three);
                *v1 = t.enter::<CLASS>(*v1, two);
                *v2 = t.enter::<CLASS>(*v2, one);
                *v3 = t.enter::<CLASS>(*v3, one);
            }
            if FIRST && CLASS >= ODD {
                for y in [&mut *v4, &mut *v5, &mut *v6, &mut *v7] {
                    *y = add(*y, t.c.q);
                }
            }
            t.butterfly::<CLASS, 0>(v0, v4, f1);
            t.butterfly::<CLASS, 0>(v1, v5, f1);
            t.butterfly::<CLASS, 0>(v2, v6, f1);
            t.butterfly::<CLASS, 0>(v3, v7, f1);
            t.butterfly::<CLASS, 1>(v0, v2, f2[0]);
            t.butterfly::<CLASS, 1>(v1, v3, f2[0]);
            t.butterfly::<CLASS, 1>(v4, v6, f2[1]);
            t.butterfly::<CLASS, 1>(v5, v7, f2[1]);
            t.butterfly::<CLASS, 2>(v0, v1, f4[0]);
            t.butterfly::<CLASS, 2>(v2, v3, f4[1]);
            t.butterfly::<CLASS, 2>(v4, v5, f4[2]);
            t.butterfly::<CLASS, 2>(v6, v7, f4[3]);
            for (k, x) in v.into_iter().enumerate() {
                store(p.add(i + k * s), x);
            }
        }
    }
    8
}

/// The last three stages and the reduction below q. `node` belongs to the first 8 words.
///
/// Two groups `p`, `q` of 8 words at a time. Words that meet in a butterfly are brought to equal
/// lanes of two vectors: `p0..p3 q0..q3 | p4..p7 q4..q7`, then `p0 p1 p4 p5 .. | p2 p3 p6 p7 ..`,
/// then even and odd words.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn lanes<const CLASS: u8>(t: &Context, block: &mut [u64], node: usize) {
    let (pairs, rest) = block.as_chunks_mut::<16>();
    assert!(rest.is_empty() && 4 * (node + 2 * pairs.len()) <= t.roots.len());
    let by_four = _mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1);
    let by_two = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);
    let low_lanes = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    let high_lanes = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    let first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    let second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    let surplus = _mm512_setr_epi64(3, 2, 1, 1, 3, 2, 1, 1); // stages as `x` of each, as in radix8
    for (i, pair) in pairs.iter_mut().enumerate() {
        let k = node + 2 * i;
        let p = pair.as_mut_ptr();
        // SAFETY: `pair` has 16 words; the roots read end at 4k + 8 <= t.roots.len(), by the
        // assertion above.
        unsafe {
            let f4 = t.lanes::<CLASS>(k, |w| _mm512_permutexvar_epi64(by_four, w));
            let f2 = t.lanes::<CLASS>(2 * k, |w| _mm512_permutexvar_epi64(by_two, w));
            let f1 = t.lanes::<CLASS>(4 * k, |w| w);
            let halves = |at: usize| {
                let low = _mm512_castsi256_si512(_mm256_loadu_si256(p.add(at).cast()));
                _mm512_inserti64x4::<1>(low, _mm256_loadu_si256(p.add(at + 8).cast()))
            };
            let (mut x, mut y) = (halves(0), halves(4));
            x = t.enter::<CLASS>(x, surplus);
            t.butterfly::<CLASS, 0>(&mut x, &mut y, f4);
            let mut x2 = _mm512_permutex2var_epi64(x, low_lanes, y);
            let mut y2 = _mm512_permutex2var_epi64(x, high_lanes, y);
            t.butterfly::<CLASS, 1>(&mut x2, &mut y2, f2);
            let mut x1 = _mm512_unpacklo_epi64(x2, y2);
            let mut y1 = _mm512_unpackhi_epi64(x2, y2);
            t.butterfly::<CLASS, 2>(&mut x1, &mut y1, f1);
            let (x, y) = (finish::<CLASS>(&t.c, x1), finish::<CLASS>(&t.c, y1));
            store(p, _mm512_permutex2var_epi64(x, first, y));
            store(p.add(8), _mm512_permutex2var_epi64(x, second, y));
        }
    }
}

/// Reduces from the range of the class to below q.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn finish<const CLASS: u8>(c: &Consts, x: V) -> V {
    let x = match CLASS {
        WIDE => return c.reduce8(x),
        TIGHT => sub_min(x, c.q2),
        _ => c.barrett(x),
    };
    sub_min(x, c.q)
}
