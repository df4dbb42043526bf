//! Forward negacyclic NTT.
//!
//! A butterfly takes `(x, y)` to `(x + w y, x - w y)`. Narrow moduli up to 49 bits have words
//! modulo 2^52, which is what the multiplier reads and adds. With Shoup's constant
//! `w' = floor(2^52 w / q)` this takes five instructions, three of them products:
//!
//! ```text
//! h  = high(y w'),  x' = x + low(y w) + low(h (2^52 - q)) = x + t   mod 2^52,   t in [0, 2q)
//!                   y' = 2x - x'                          = x - t   mod 2^52
//! ```
//!
//! `y'` must not be negative, so `x` is at least `2q`: it is *lifted* by a multiple of q. A vector
//! that is `x` in the next stages needs `2q` for each stage in which it or its result is one. All
//! results of a pass are the first vector plus and minus products. So if that one is lifted by `2q`
//! for every stage of the transform at the start, no later pass has to lift ([`FREE`]). Larger
//! moduli have less room, so each pass reduces and lifts. At 49 bits there is no room, and
//! `y' = 2x + 2q - x'`.
//!
//! At 50 bits words are exact and the factor is in Montgomery form, in eight instructions:
//!
//! ```text
//! m  = low(y w / q),  u = x + high(y w),  x' = u - (high(m q) - q)   in (x, x + 2q)
//!                     s = 2x + 2q,        y' = s - x'                in (x, x + 2q)
//! ```
//!
//! Wide moduli take 64-bit words and the product of [`Consts::mul_wide`]. There `t` is below `4q`,
//! and so is `x` once it is reduced. `x + t` and `x + 4q - t` are below `8q`.
//!
//! Passes of radix 8 keep eight vectors in registers for three stages. Blocks of the transform are
//! finished one after the other once they fit the L1 cache. The last pass has six stages.
//!
//! # Source
//! Harvey 2014, <https://arxiv.org/abs/1205.2926>, for lazy ranges and Shoup's product; Boemer et
//! al., "Intel HEXL", <https://ia.cr/2021/420>, for IFMA and the lane exchanges.

use std::arch::x86_64::*;

use super::context::*;
use super::roots::arrange;
use super::vector::*;
use crate::NttTable;
use crate::array::array;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn ntt(table: &NttTable, a: &mut [u64]) {
    match table.modulus().bits() {
        51.. => transform::<WIDE>(table, a),
        50 => transform::<TIGHT>(table, a),
        49 => transform::<MIDDLE>(table, a),
        46..=48 => transform::<LIFTED>(table, a),
        32..=45 => transform::<FREE>(table, a),
        _ => transform::<SHORT>(table, a),
    }
}

/// All stages of at least 128 words. Input below q, output below q.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn transform<const CLASS: u8>(table: &NttTable, a: &mut [u64]) {
    let t = &Context::new(table, table.forward(), &table.shoup().forward);
    let upper = a.len().trailing_zeros() - 6; // the stages before the last six
    let blocks = match upper % 3 {
        1 => radix2::<CLASS>(t, a),
        2 => radix4::<CLASS>(t, a),
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
    /// Prepares `x` at the start of a pass, as the class asks for.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn enter<const CLASS: u8>(&self, x: V, lift: V) -> V {
        match CLASS {
            MIDDLE => self.reduce(x),
            LIFTED => self.reduce_and_lift(x, lift),
            _ => x, // reduced in every butterfly, or not at all
        }
    }

    /// The lift of the first vector in the first pass, if three stages need `6q`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn first_lift<const CLASS: u8>(&self) -> V {
        if CLASS >= FREE {
            self.all_stages
        } else {
            self.q6
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn butterfly<const CLASS: u8>(&self, x: &mut V, y: &mut V, f: Factor) {
        let c = &self.c;
        match CLASS {
            WIDE => {
                let x0 = sub_min(*x, self.q4);
                let t = c.mul_wide(*y, f);
                (*x, *y) = (add(x0, t), sub(add(x0, self.q4), t));
            }
            TIGHT => {
                let x0 = sub_min(*x, c.q2);
                let m = low(zero(), *y, f.w_inv);
                let u = high(x0, *y, f.w);
                *x = sub(u, high(c.neg_q, m, c.q));
                *y = sub(low(c.q2, x0, c.two), *x);
            }
            _ => {
                let mut twice = add(*x, *x);
                if CLASS == MIDDLE {
                    twice = add(twice, c.q2);
                }
                *x = self.mul_add(*x, *y, f);
                *y = sub(twice, *x);
            }
        }
    }

    /// Three stages of eight vectors, with the factors of a node, its children, and their children.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn three_stages<const CLASS: u8>(&self, v: &mut [V; 8], f: &[Factor; 7]) {
        let [v0, v1, v2, v3, v4, v5, v6, v7] = v;
        self.butterfly::<CLASS>(v0, v4, f[0]);
        self.butterfly::<CLASS>(v1, v5, f[0]);
        self.butterfly::<CLASS>(v2, v6, f[0]);
        self.butterfly::<CLASS>(v3, v7, f[0]);
        self.butterfly::<CLASS>(v0, v2, f[1]);
        self.butterfly::<CLASS>(v1, v3, f[1]);
        self.butterfly::<CLASS>(v4, v6, f[2]);
        self.butterfly::<CLASS>(v5, v7, f[2]);
        self.butterfly::<CLASS>(v0, v1, f[3]);
        self.butterfly::<CLASS>(v2, v3, f[4]);
        self.butterfly::<CLASS>(v4, v5, f[5]);
        self.butterfly::<CLASS>(v6, v7, f[6]);
    }

    /// Reduces from the range of the class to below q.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn finish<const CLASS: u8>(&self, x: V) -> V {
        let c = &self.c;
        match CLASS {
            WIDE => c.reduce8(x),
            TIGHT => sub_min(sub_min(x, c.q2), c.q),
            SHORT => {
                let r = self.reduce(x);
                _mm512_maskz_min_epu32(0x5555, r, _mm512_sub_epi32(r, c.q))
            }
            _ => sub_min(_mm512_and_si512(self.reduce(x), self.mask), c.q),
        }
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
            if CLASS >= LIFTED {
                x = add(x, t.first_lift::<CLASS>());
            }
            t.butterfly::<CLASS>(&mut x, &mut y, f);
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
            if CLASS >= LIFTED {
                (*v0, *v1) = (add(*v0, t.first_lift::<CLASS>()), add(*v1, t.c.q2));
            }
            t.butterfly::<CLASS>(v0, v2, f1);
            t.butterfly::<CLASS>(v1, v3, f1);
            t.butterfly::<CLASS>(v0, v1, f2);
            t.butterfly::<CLASS>(v2, v3, f3);
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
    let first = if FIRST { t.first_lift::<CLASS>() } else { t.q6 };
    let lifts = [first, t.q4, t.c.q2, t.c.q2];
    let p = block.as_mut_ptr();
    for i in (0..s).step_by(8) {
        // SAFETY: s is a multiple of 8, so all accesses end within `block`.
        unsafe {
            let mut v = array!(k => load(p.add(i + k * s)));
            for (x, lift) in v.iter_mut().zip(lifts) {
                if !FIRST {
                    *x = t.enter::<CLASS>(*x, lift);
                } else if CLASS >= LIFTED {
                    *x = add(*x, lift);
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
/// Eight vectors stay in registers. After three stages, words of one vector meet. Those of two
/// vectors `p`, `q` are brought to equal lanes: `p0..p3 q0..q3 | p4..p7 q4..q7`, then
/// `p0 p1 q0 q1 p4 p5 q4 q5 | p2 p3 ..`, then even and odd words. All four pairs do the same step
/// at a time: one after the other they take a tenth longer (Zen 4).
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn last_six<const CLASS: u8>(t: &Context, block: &mut [u64], node: usize) {
    let (parts, rest) = block.as_chunks_mut::<64>();
    assert!(rest.is_empty() && 32 * (node + parts.len()) <= t.roots.len());
    let by_four = [
        _mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1),
        _mm512_setr_epi64(2, 2, 2, 2, 3, 3, 3, 3),
        _mm512_setr_epi64(4, 4, 4, 4, 5, 5, 5, 5),
        _mm512_setr_epi64(6, 6, 6, 6, 7, 7, 7, 7),
    ];
    let by_two = [
        _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3),
        _mm512_setr_epi64(4, 4, 5, 5, 6, 6, 7, 7),
    ];
    let low_lanes = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    let high_lanes = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    let first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    let second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    let lifts = low(zero(), _mm512_setr_epi64(6, 4, 2, 2, 6, 4, 2, 2), t.c.q); // as in radix8
    for (i, eight) in parts.chunks_mut(8).enumerate() {
        let node = node + 8 * i;
        // SAFETY: the roots read end at 4 (node + 8) <= 32 (node + 1), and by the assertion above
        // that is at most t.roots.len().
        let trees = unsafe { t.trees::<CLASS>(node) };
        for (j, part) in eight.iter_mut().enumerate() {
            let k = node + j;
            let p = part.as_mut_ptr();
            // SAFETY: `part` has 64 words; the roots read end at 32 (k + 1) <= t.roots.len(), by
            // the assertion above.
            unsafe {
                let mut v: [_; 8] = array!(j => load(p.add(8 * j)));
                for (x, lift) in v.iter_mut().zip([t.q6, t.q4, t.c.q2, t.c.q2]) {
                    *x = t.enter::<CLASS>(*x, lift);
                }
                t.three_stages::<CLASS>(&mut v, &trees.tree(j));
                let f4 = arrange(t.eight::<CLASS>(8 * k), by_four);
                let f2: [_; 2] = array!(j => arrange(t.eight::<CLASS>(16 * k + 8 * j), by_two));
                let f1: [_; 4] = array!(j => t.eight::<CLASS>(32 * k + 8 * j));
                let mut x: [_; 4] = array!(j => {
                    _mm512_inserti64x4::<1>(v[2 * j], _mm512_castsi512_si256(v[2 * j + 1]))
                });
                let mut y: [_; 4] =
                    array!(j => _mm512_shuffle_i64x2::<0xee>(v[2 * j], v[2 * j + 1]));
                for j in 0..4 {
                    x[j] = t.enter::<CLASS>(x[j], lifts);
                    t.butterfly::<CLASS>(&mut x[j], &mut y[j], f4[j]);
                }
                (x, y) = (
                    array!(j => _mm512_permutex2var_epi64(x[j], low_lanes, y[j])),
                    array!(j => _mm512_permutex2var_epi64(x[j], high_lanes, y[j])),
                );
                for j in 0..4 {
                    t.butterfly::<CLASS>(&mut x[j], &mut y[j], f2[j / 2][j % 2]);
                }
                (x, y) = (
                    array!(j => _mm512_unpacklo_epi64(x[j], y[j])),
                    array!(j => _mm512_unpackhi_epi64(x[j], y[j])),
                );
                for j in 0..4 {
                    t.butterfly::<CLASS>(&mut x[j], &mut y[j], f1[j]);
                }
                for j in 0..4 {
                    (x[j], y[j]) = (t.finish::<CLASS>(x[j]), t.finish::<CLASS>(y[j]));
                    store(p.add(16 * j), _mm512_permutex2var_epi64(x[j], first, y[j]));
                    store(
                        p.add(16 * j + 8),
                        _mm512_permutex2var_epi64(x[j], second, y[j]),
                    );
                }
            }
        }
    }
}
