//! Inverse negacyclic NTT: the stages of [`super::forward`] undone in the opposite order.
//!
//! A butterfly takes `(x, y)` to `(x + y, (x - y) w)`. The product is below `2q` for any input, but
//! sums double: after a pass of three stages on words below `b`, the eight vectors are below 8b,
//! 8q, 4q, 4q, 2q, 2q, 2q, 2q. Sums and differences, which have a bound of `y` added, must stay
//! below 2^52, or they are reduced within the pass. So `b` is `8q` up to 45 bits, where one vector
//! of eight is reduced, `4q` up to 48 and `2q` above. Up to 49 bits, words and products are those
//! modulo 2^52 of [`super::forward`].
//!
//! For wide moduli, sums are reduced below `4q` in every stage, and products are below `4q`.
//!
//! # Source
//! As for the forward transform.

use std::arch::x86_64::*;

use super::context::*;
use super::roots::arrange;
use super::vector::*;
use crate::NttTable;
use crate::array::array;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn intt(table: &NttTable, a: &mut [u64]) {
    match table.modulus().bits() {
        51.. => transform::<WIDE>(table, a),
        50 => transform::<TIGHT>(table, a),
        49 => transform::<MIDDLE>(table, a),
        46..=48 => transform::<LIFTED>(table, a),
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
    let upper = a.len().trailing_zeros() - 6;
    let blocks = 1usize << (upper % 3);
    let len = a.len() / blocks;
    for (i, block) in a.chunks_exact_mut(len).enumerate() {
        ascend::<CLASS>(t, block, blocks + i, &last);
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
        let mut parts = block.len() / 64;
        first_six::<CLASS>(t, block, node * parts);
        while parts > 8 {
            parts /= 8;
            for (i, part) in block.chunks_exact_mut(block.len() / parts).enumerate() {
                radix8::<CLASS, false>(t, part, node * parts + i, last);
            }
        }
        if parts == 1 {
            return; // one block of 64 words, which is done
        }
    }
    if node == 1 {
        radix8::<CLASS, true>(t, block, 1, last);
    } else {
        radix8::<CLASS, false>(t, block, node, last);
    }
}

/// One butterfly on `x` and `y` below `bound`, a multiple of q. `2 * bound` is at most 2^52. In
/// [`WIDE`] the bound is 4q and the argument is not used.
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

/// Last stage of the transform. Input in the range of the class, as for all passes here.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn radix2<const CLASS: u8>(t: &Context, a: &mut [u64], last: &[Factor; 2]) {
    let bound = t.bound::<CLASS>();
    let half = a.len() / 2;
    let p = a.as_mut_ptr();
    for i in (0..half).step_by(8) {
        // SAFETY: half is a multiple of 8, so both accesses end within `a`.
        unsafe {
            let (mut x, mut y) = (load(p.add(i)), load(p.add(i + half)));
            last_butterfly::<CLASS>(t, &mut x, &mut y, last, bound);
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
    let bound = t.bound::<CLASS>();
    let sum = if CLASS <= TIGHT {
        bound
    } else {
        add(bound, bound)
    };
    let s = a.len() / 4;
    let p = a.as_mut_ptr();
    for i in (0..s).step_by(8) {
        // SAFETY: s is a multiple of 8, so all accesses end within `a`.
        unsafe {
            let mut v = array!(k => load(p.add(i + k * s)));
            let [v0, v1, v2, v3] = &mut v;
            butterfly::<CLASS>(t, v0, v1, f2, bound);
            butterfly::<CLASS>(t, v2, v3, f3, bound);
            last_butterfly::<CLASS>(t, v0, v2, last, sum);
            last_butterfly::<CLASS>(t, v1, v3, last, c.q2);
            for (k, x) in v.into_iter().enumerate() {
                store(p.add(i + k * s), x);
            }
        }
    }
}

/// Three stages of the block under `node`. Input in the range of the class (4q, 2q, 2q, 4q, 8q);
/// so is the output, or below q if `LAST`.
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
    let f = t.tree::<CLASS>(node);
    let p = block.as_mut_ptr();
    for i in (0..s).step_by(8) {
        // SAFETY: s is a multiple of 8, so all accesses end within `block`.
        unsafe {
            let mut v = array!(k => load(p.add(i + k * s)));
            let [sum4, sum2] = t.two_stages::<CLASS>(&mut v, &f);
            if LAST {
                let [v0, v1, v2, v3, v4, v5, v6, v7] = &mut v;
                last_butterfly::<CLASS>(t, v0, v4, last, sum4);
                last_butterfly::<CLASS>(t, v1, v5, last, sum2);
                last_butterfly::<CLASS>(t, v2, v6, last, c.q2);
                last_butterfly::<CLASS>(t, v3, v7, last, c.q2);
            } else {
                t.third_stage::<CLASS>(&mut v, f[0], [sum4, sum2]);
            }
            for (k, x) in v.into_iter().enumerate() {
                store(p.add(i + k * s), x);
            }
        }
    }
}

impl Context<'_> {
    /// A bound of the words between passes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn bound<const CLASS: u8>(&self) -> V {
        match CLASS {
            WIDE | LIFTED => self.q4,
            TIGHT | MIDDLE => self.c.q2,
            _ => add(self.q4, self.q4),
        }
    }

    /// Two of three stages of eight vectors. Returns bounds of `v[0]`, `v[4]`, and of `v[1]`,
    /// `v[5]`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn two_stages<const CLASS: u8>(&self, v: &mut [V; 8], f: &[Factor; 7]) -> [V; 2] {
        let c = &self.c;
        let [v0, v1, v2, v3, v4, v5, v6, v7] = v;
        let bound = self.bound::<CLASS>();
        butterfly::<CLASS>(self, v0, v1, f[3], bound);
        butterfly::<CLASS>(self, v2, v3, f[4], bound);
        butterfly::<CLASS>(self, v4, v5, f[5], bound);
        butterfly::<CLASS>(self, v6, v7, f[6], bound);
        let sum = if CLASS <= TIGHT {
            bound
        } else {
            add(bound, bound)
        };
        butterfly::<CLASS>(self, v0, v2, f[1], sum);
        butterfly::<CLASS>(self, v1, v3, f[1], c.q2);
        butterfly::<CLASS>(self, v4, v6, f[2], sum);
        butterfly::<CLASS>(self, v5, v7, f[2], c.q2);
        match CLASS {
            WIDE | TIGHT => [c.q2; 2],
            MIDDLE | LIFTED => {
                (*v0, *v4) = (self.reduce(*v0), self.reduce(*v4));
                [c.q2, self.q4]
            }
            _ => [add(sum, sum), self.q4],
        }
    }

    /// The third stage, and reductions to the range of the class.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn third_stage<const CLASS: u8>(&self, v: &mut [V; 8], f: Factor, [sum4, sum2]: [V; 2]) {
        let c = &self.c;
        let [v0, v1, v2, v3, v4, v5, v6, v7] = v;
        butterfly::<CLASS>(self, v0, v4, f, sum4);
        butterfly::<CLASS>(self, v1, v5, f, sum2);
        butterfly::<CLASS>(self, v2, v6, f, c.q2);
        butterfly::<CLASS>(self, v3, v7, f, c.q2);
        match CLASS {
            WIDE | TIGHT => {}
            MIDDLE => *v = array!(k => if k < 4 { self.reduce(v[k]) } else { v[k] }),
            LIFTED => *v1 = self.reduce(*v1),
            _ => *v0 = self.reduce(*v0),
        }
    }
}

/// The first six stages. `node` belongs to the first 64 words. Input below q, output in the range
/// of the class.
///
/// Eight vectors stay in registers. In the first three stages, words of one vector meet. Those of
/// two vectors `p`, `q` are brought to equal lanes, three times:
/// `p0 q0 p2 q2 p4 q4 p6 q6 | p1 q1 p3 q3 ..`, `p0 q0 p4 q4 p1 q1 p5 q5 | p2 q2 p6 q6 ..`, and
/// `p0 q0 p1 q1 p2 q2 p3 q3 | p4 q4 ..`.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn first_six<const CLASS: u8>(t: &Context, block: &mut [u64], node: usize) {
    let c = &t.c;
    let (parts, rest) = block.as_chunks_mut::<64>();
    assert!(rest.is_empty() && 32 * (node + parts.len()) <= t.roots.len());
    let in_turn = [
        _mm512_setr_epi64(0, 1, 0, 1, 0, 1, 0, 1),
        _mm512_setr_epi64(2, 3, 2, 3, 2, 3, 2, 3),
        _mm512_setr_epi64(4, 5, 4, 5, 4, 5, 4, 5),
        _mm512_setr_epi64(6, 7, 6, 7, 6, 7, 6, 7),
    ];
    let crossed = [
        _mm512_setr_epi64(0, 2, 1, 3, 0, 2, 1, 3),
        _mm512_setr_epi64(4, 6, 5, 7, 4, 6, 5, 7),
    ];
    let shuffled = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    let sum4 = if CLASS <= TIGHT { c.q2 } else { t.q4 };
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
                let f4 = arrange(t.eight::<CLASS>(8 * k), in_turn);
                let f2: [_; 2] = array!(h => arrange(t.eight::<CLASS>(16 * k + 8 * h), crossed));
                let f1: [_; 4] = array!(h => t.eight_arranged::<CLASS>(32 * k + 8 * h, shuffled));
                let v: [_; 8] = array!(j => load(p.add(8 * j)));
                let mut x: [_; 4] = array!(j => _mm512_unpacklo_epi64(v[2 * j], v[2 * j + 1]));
                let mut y: [_; 4] = array!(j => _mm512_unpackhi_epi64(v[2 * j], v[2 * j + 1]));
                for j in 0..4 {
                    butterfly::<CLASS>(t, &mut x[j], &mut y[j], f1[j], c.q);
                }
                let mut x2: [_; 4] = array!(j => _mm512_shuffle_i64x2::<0x88>(x[j], y[j]));
                let mut y2: [_; 4] = array!(j => _mm512_shuffle_i64x2::<0xdd>(x[j], y[j]));
                for j in 0..4 {
                    butterfly::<CLASS>(t, &mut x2[j], &mut y2[j], f2[j / 2][j % 2], c.q2);
                }
                let mut x4: [_; 4] = array!(j => _mm512_shuffle_i64x2::<0x88>(x2[j], y2[j]));
                let mut y4: [_; 4] = array!(j => _mm512_shuffle_i64x2::<0xdd>(x2[j], y2[j]));
                for j in 0..4 {
                    butterfly::<CLASS>(t, &mut x4[j], &mut y4[j], f4[j], sum4);
                    if CLASS == MIDDLE || CLASS == LIFTED {
                        x4[j] = t.reduce(x4[j]);
                    }
                }
                let mut v = [zero(); 8];
                for j in 0..4 {
                    v[2 * j] = _mm512_permutex2var_epi64(x4[j], even, y4[j]);
                    v[2 * j + 1] = _mm512_permutex2var_epi64(x4[j], odd, y4[j]);
                }
                let f = trees.tree(j);
                let bounds = t.two_stages::<CLASS>(&mut v, &f);
                t.third_stage::<CLASS>(&mut v, f[0], bounds);
                for (j, x) in v.into_iter().enumerate() {
                    store(p.add(8 * j), x);
                }
            }
        }
    }
}
