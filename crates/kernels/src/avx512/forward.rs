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
        32..=45 => transform::<FREE>(table, a),
        _ => transform::<NARROW>(table, a),
    }
}

/// All stages of at least 64 words. Input below q, output below q.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn transform<const CLASS: u8>(table: &NttTable, a: &mut [u64]) {
    let t = &Context::new(table, table.forward(), &table.shoup().forward);
    let upper = a.len().trailing_zeros() - 6; // the stages before the last six
    let blocks = match upper {
        0 => 1,
        _ if upper % 3 == 1 => radix2::<CLASS>(t, a),
        _ if upper % 3 == 2 => radix4::<CLASS>(t, a),
        _ => radix8::<CLASS, true>(t, a, 1),
    };
    for (i, block) in a.chunks_exact_mut(a.len() / blocks).enumerate() {
        descend::<CLASS>(t, block, blocks + i);
    }
}

/// All remaining stages of the block under `node`. The block's length is 64 times a power of 8.
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
    while block.len() / parts > 64 {
        for (i, part) in block.chunks_exact_mut(block.len() / parts).enumerate() {
            radix8::<CLASS, false>(t, part, node * parts + i);
        }
        parts *= 8;
    }
    last_six::<CLASS>(t, block, node * parts);
}

impl Context<'_> {
    /// Prepares `x` at the start of a pass: reduces it if the class asks for that, and lifts it.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn enter<const CLASS: u8>(&self, x: V, lift: V) -> V {
        match CLASS {
            WIDE | TIGHT => x, // reduced in every butterfly
            MIDDLE => self.c.barrett(x),
            ODD => low(add(x, lift), high(zero(), x, self.c.ratio), self.minus_q),
            _ => x, // lifted in the first pass for all stages
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
        if CLASS >= ODD {
            let quotient = high(zero(), *y, f.w_inv);
            let twice = add(*x, *x);
            *x = low(low(*x, *y, f.w), quotient, self.minus_q);
            *y = sub(twice, *x);
            return;
        }
        let x0 = if CLASS == TIGHT {
            sub_min(*x, c.q2)
        } else {
            *x
        };
        let m = low(zero(), *y, f.w_inv);
        let u = high(x0, *y, f.w);
        let sum = match (CLASS, STAGE) {
            // 6q exceeds the 51 bits that low() can double
            (MIDDLE, 2) => add(x0, add(x0, c.q2)),
            _ => low(c.q2, x0, c.two),
        };
        *x = sub(u, high(c.neg_q, m, c.q));
        *y = sub(sum, *x);
    }

    /// Three stages of eight vectors: `f[0]`, then `f[1..3]`, then `f[3..7]`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn three_stages<const CLASS: u8>(&self, v: &mut [V; 8], f: &[Factor; 7]) {
        let [v0, v1, v2, v3, v4, v5, v6, v7] = v;
        self.butterfly::<CLASS, 0>(v0, v4, f[0]);
        self.butterfly::<CLASS, 0>(v1, v5, f[0]);
        self.butterfly::<CLASS, 0>(v2, v6, f[0]);
        self.butterfly::<CLASS, 0>(v3, v7, f[0]);
        self.butterfly::<CLASS, 1>(v0, v2, f[1]);
        self.butterfly::<CLASS, 1>(v1, v3, f[1]);
        self.butterfly::<CLASS, 1>(v4, v6, f[2]);
        self.butterfly::<CLASS, 1>(v5, v7, f[2]);
        self.butterfly::<CLASS, 2>(v0, v1, f[3]);
        self.butterfly::<CLASS, 2>(v2, v3, f[4]);
        self.butterfly::<CLASS, 2>(v4, v5, f[5]);
        self.butterfly::<CLASS, 2>(v6, v7, f[6]);
    }
}

/// First stage of the transform, when the number of stages leaves one alone. Input below q. Returns
/// the number of blocks that it leaves, as the other passes do.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn radix2<const CLASS: u8>(t: &Context, a: &mut [u64]) -> usize {
    let f = t.root::<CLASS>(1);
    let half = a.len() / 2;
    let p = a.as_mut_ptr();
    for i in (0..half).step_by(8) {
        // SAFETY: half is a multiple of 8, so both accesses end within `a`.
        unsafe {
            let (mut x, mut y) = (load(p.add(i)), load(p.add(i + half)));
            if CLASS >= ODD {
                x = add(x, t.lift);
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
    let s = a.len() / 4;
    let p = a.as_mut_ptr();
    for i in (0..s).step_by(8) {
        // SAFETY: s is a multiple of 8, so all accesses end within `a`.
        unsafe {
            let mut v = array!(k => load(p.add(i + k * s)));
            let [v0, v1, v2, v3] = &mut v;
            if CLASS >= ODD {
                (*v0, *v1) = (add(*v0, t.lift), add(*v1, t.c.q2));
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
/// and always the output, is in the range of the class (8q, 4q, 8q, 14q, 69q).
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn radix8<const CLASS: u8, const FIRST: bool>(
    t: &Context,
    block: &mut [u64],
    node: usize,
) -> usize {
    assert!(block.len().is_multiple_of(64));
    let s = block.len() / 8;
    let f = t.tree::<CLASS>(node);
    let p = block.as_mut_ptr();
    for i in (0..s).step_by(8) {
        // SAFETY: s is a multiple of 8, so all accesses end within `block`.
        unsafe {
            let mut v = array!(k => load(p.add(i + k * s)));
            let lifts = [if FIRST { t.lift } else { t.q6 }, t.q4, t.c.q2, t.c.q2];
            for (k, lift) in lifts.into_iter().enumerate() {
                if !FIRST {
                    v[k] = t.enter::<CLASS>(v[k], lift);
                } else if CLASS >= ODD {
                    v[k] = add(v[k], lift);
                }
            }
            t.three_stages::<CLASS>(&mut v, &f);
            for (k, x) in v.into_iter().enumerate() {
                store(p.add(i + k * s), x);
            }
        }
    }
    8
}

/// The last six stages and the reduction below q. `node` belongs to the first 64 words.
///
/// Eight vectors stay in registers. After three stages, words of one vector meet: two of four, which
/// a transposition of pairs of words brings to equal lanes of two vectors, then one of two.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn last_six<const CLASS: u8>(t: &Context, block: &mut [u64], node: usize) {
    let (parts, rest) = block.as_chunks_mut::<64>();
    assert!(rest.is_empty() && 32 * (node + parts.len()) <= t.roots.len());
    let low_lanes = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    let high_lanes = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    let first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    let second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    let lifts = _mm512_setr_epi64(6, 4, 2, 2, 6, 4, 2, 2); // of each `x`, as in radix8
    let lifts = low(zero(), lifts, t.c.q);
    for (i, eight) in parts.chunks_mut(8).enumerate() {
        let node = node + 8 * i;
        // SAFETY: the roots read end at 4 (node + 8), at most t.roots.len() by the assertion above.
        let trees = unsafe { t.trees::<CLASS>(node) };
        for (j, part) in eight.iter_mut().enumerate() {
            let k = node + j;
            let p = part.as_mut_ptr();
            // SAFETY: `part` has 64 words; the roots read end at 32 (k + 1) <= t.roots.len(), by
            // the assertion above.
            unsafe {
                let mut v = array!(j => load(p.add(8 * j)));
                for (j, lift) in [t.q6, t.q4, t.c.q2, t.c.q2].into_iter().enumerate() {
                    v[j] = t.enter::<CLASS>(v[j], lift);
                }
                t.three_stages::<CLASS>(&mut v, &trees.tree(j));
                let f4 = t.eight::<CLASS>(8 * k).by_four();
                let f2: [_; 2] = array!(h => t.eight::<CLASS>(16 * k + 8 * h).by_two());
                let f1: [_; 4] = array!(h => t.eight::<CLASS>(32 * k + 8 * h));
                let mut x: [_; 4] = array!(j => _mm512_inserti64x4::<1>(
                    v[2 * j],
                    _mm512_castsi512_si256(v[2 * j + 1]),
                ));
                let mut y: [_; 4] =
                    array!(j => _mm512_shuffle_i64x2::<0xee>(v[2 * j], v[2 * j + 1]));
                for j in 0..4 {
                    x[j] = t.enter::<CLASS>(x[j], lifts);
                    t.butterfly::<CLASS, 0>(&mut x[j], &mut y[j], f4[j]);
                }
                let mut x2: [_; 4] = array!(j => _mm512_permutex2var_epi64(x[j], low_lanes, y[j]));
                let mut y2: [_; 4] = array!(j => _mm512_permutex2var_epi64(x[j], high_lanes, y[j]));
                for j in 0..4 {
                    t.butterfly::<CLASS, 1>(&mut x2[j], &mut y2[j], f2[j / 2][j % 2]);
                }
                let mut x1: [_; 4] = array!(j => _mm512_unpacklo_epi64(x2[j], y2[j]));
                let mut y1: [_; 4] = array!(j => _mm512_unpackhi_epi64(x2[j], y2[j]));
                for j in 0..4 {
                    t.butterfly::<CLASS, 2>(&mut x1[j], &mut y1[j], f1[j]);
                }
                let [x1, y1] = t.finish_all::<CLASS>([x1, y1]);
                for j in 0..4 {
                    let (x, y) = (x1[j], y1[j]);
                    store(p.add(16 * j), _mm512_permutex2var_epi64(x, first, y));
                    store(p.add(16 * j + 8), _mm512_permutex2var_epi64(x, second, y));
                }
            }
        }
    }
}

/// Transposes a matrix of 4 x 4 pairs of words.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose([p, q, r, s]: [V; 4]) -> [V; 4] {
    let even = [
        _mm512_shuffle_i64x2::<0x88>(p, q),
        _mm512_shuffle_i64x2::<0x88>(r, s),
    ];
    let odd = [
        _mm512_shuffle_i64x2::<0xdd>(p, q),
        _mm512_shuffle_i64x2::<0xdd>(r, s),
    ];
    [
        _mm512_shuffle_i64x2::<0x88>(even[0], even[1]),
        _mm512_shuffle_i64x2::<0x88>(odd[0], odd[1]),
        _mm512_shuffle_i64x2::<0xdd>(even[0], even[1]),
        _mm512_shuffle_i64x2::<0xdd>(odd[0], odd[1]),
    ]
}

impl Context<'_> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn finish_all<const CLASS: u8>(&self, m: [[V; 4]; 2]) -> [[V; 4]; 2] {
        if CLASS < ODD {
            return array!(h => array!(j => self.finish::<CLASS>(m[h][j])));
        }
        let c = &self.c;
        let h: [[V; 4]; 2] = array!(h => array!(j => high(zero(), m[h][j], c.ratio)));
        let r: [[V; 4]; 2] = array!(k => array!(j => low(m[k][j], h[k][j], self.minus_q)));
        if CLASS == NARROW {
            return array!(k => array!(j => _mm512_maskz_min_epu32(0x5555, r[k][j], _mm512_sub_epi32(r[k][j], c.q))));
        }
        array!(k => array!(j => sub_min(_mm512_and_si512(r[k][j], self.mask), c.q)))
    }

    /// Reduces from the range of the class to below q.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn finish<const CLASS: u8>(&self, x: V) -> V {
        let c = &self.c;
        let x = match CLASS {
            WIDE => return c.reduce8(x),
            TIGHT => sub_min(x, c.q2),
            MIDDLE => c.barrett(x),
            NARROW => {
                let r = low(x, high(zero(), x, c.ratio), self.minus_q);
                return _mm512_maskz_min_epu32(0x5555, r, _mm512_sub_epi32(r, c.q));
            }
            _ => {
                let quotient = high(zero(), x, c.ratio);
                _mm512_and_si512(low(x, quotient, self.minus_q), self.mask)
            }
        };
        sub_min(x, c.q)
    }
}
