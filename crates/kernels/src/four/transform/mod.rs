//! Negacyclic NTT in `f64`: during the transform, floats stand in the place of the words.
//!
//! One pass over memory does two stages. The four stages of 16 neighbouring words are done in
//! registers. Blocks that fit the L1 cache are finished before the next one begins.
//!
//! *Growth.* A product is below `7/8 q` in size if its factor is at most `2^51`: see `float`.
//! Values may therefore grow to `2^51` before they are reduced, and for moduli of few bits they are
//! reduced only at the end. [`Context`] says in which stages values are reduced.

mod down;
mod up;

pub(super) use self::down::ntt;
pub(super) use self::up::intt;

use super::float::*;
use crate::array::array;
use crate::lanes::*;

/// Words of a block that stays in the L1 cache: half of one of 32 KiB.
const L1_WORDS: usize = 2048;

/// Words of the blocks whose stages are done in registers.
const REGISTER_WORDS: usize = 16;

/// log2 of the largest factor of a product.
const LARGEST: u32 = 51;

/// Tables of one direction, and how often to reduce. With `LAZY`, values are reduced only at the
/// end.
struct Context<'a, const LAZY: bool> {
    c: Consts,
    roots: &'a [f64],
    /// Values are reduced once in this many stages. At least 1.
    period: u32,
}

/// The same root in every lane or one root per lane, and its quotient by `q`.
#[derive(Clone, Copy)]
struct Root {
    w: F,
    over_q: F,
}

impl<const LAZY: bool> Context<'_, LAZY> {
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    fn root(&self, w: F) -> Root {
        let over_q = mul(w, self.c.q_inverse);
        Root { w, over_q }
    }

    /// The root of a node, in every lane.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    fn node(&self, node: usize) -> Root {
        self.root(splat(self.roots[node]))
    }

    /// `x * w` modulo q, in size below 7/8 q, for `|x| <= 2^51`.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    fn mul(&self, x: F, w: Root) -> F {
        self.c.mul_by(x, w.w, w.over_q)
    }

    /// As [`mul`](Self::mul), for several products. Instructions stand in the order in which their
    /// operands are ready.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    fn muls<const K: usize>(&self, x: &[F; K], w: &[Root; K]) -> [F; K] {
        let (mut quotient, mut high, mut low) = (*x, *x, *x);
        for k in 0..K {
            quotient[k] = begin_rounding(x[k], w[k].over_q, self.c.round);
            high[k] = mul(x[k], w[k].w);
        }
        for k in 0..K {
            quotient[k] = end_rounding(quotient[k], self.c.round);
            low[k] = fmsub(x[k], w[k].w, high[k]);
        }
        for k in 0..K {
            high[k] = fnmadd(quotient[k], self.c.q, high[k]);
        }
        for k in 0..K {
            high[k] = add(high[k], low[k]);
        }
        high
    }
}

/// Roots of the last two stages under `node`, which has 16 words: one root per lane. Lanes hold the
/// words of the four vectors in the order 0, 2, 1, 3, as [`transpose`] leaves them.
impl<const LAZY: bool> Context<'_, LAZY> {
    /// The roots of blocks of four words, one per lane.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    fn halves(&self, node: usize) -> Root {
        let roots = &self.roots[4 * node..][..4];
        // SAFETY: the slice has 4 floats.
        let roots = unsafe { load_floats(roots.as_ptr()) };
        self.root(swap_middle(roots))
    }

    /// The roots of blocks of two words: the first and the second of each block of four.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    fn pairs(&self, node: usize) -> [Root; 2] {
        let roots = &self.roots[8 * node..][..8];
        // SAFETY: the slice has 8 floats.
        let [low, high] = unsafe { array!(k => load_floats(roots.as_ptr().add(4 * k))) };
        [
            self.root(unpack_low(low, high)),
            self.root(unpack_high(low, high)),
        ]
    }
}

/// Gathers lane `l` of all four vectors in result `l`, with the vectors in the order 0, 2, 1, 3.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn transpose([a, b, c, d]: [F; 4]) -> [F; 4] {
    let (low, high) = (unpack_low(a, c), unpack_high(a, c));
    let (low2, high2) = (unpack_low(b, d), unpack_high(b, d));
    [
        low_halves(low, low2),
        low_halves(high, high2),
        high_halves(low, low2),
        high_halves(high, high2),
    ]
}

/// Inverse of [`transpose`].
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn transpose_back([a, b, c, d]: [F; 4]) -> [F; 4] {
    let (low, high) = (unpack_low(a, b), unpack_high(a, b));
    let (low2, high2) = (unpack_low(c, d), unpack_high(c, d));
    [
        low_halves(low, low2),
        high_halves(low, low2),
        low_halves(high, high2),
        high_halves(high, high2),
    ]
}

/// The quarters of a block, as arrays of vectors.
fn quarters(block: &mut [u64]) -> [&mut [[u64; 4]]; 4] {
    let (low, high) = halves(block);
    let half = low.len() / 2;
    let ((a, b), (c, d)) = (low.split_at_mut(half), high.split_at_mut(half));
    [a, b, c, d]
}

/// The halves of a block, as arrays of vectors.
fn halves(block: &mut [u64]) -> (&mut [[u64; 4]], &mut [[u64; 4]]) {
    let vectors = block.as_chunks_mut::<4>().0;
    vectors.split_at_mut(vectors.len() / 2)
}

/// Reads four words: as words if `WORDS`, else as floats that [`put`] wrote.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn take<const WORDS: bool>(c: &Consts, from: &[u64; 4]) -> F {
    // SAFETY: `from` has 4 words.
    let x = unsafe { load(from.as_ptr()) };
    if WORDS { c.float(x) } else { from_bits(x) }
}

/// Writes four floats in the place of four words.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn put(to: &mut [u64; 4], x: F) {
    put_words(to, to_bits(x));
}

/// Writes four words.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn put_words(to: &mut [u64; 4], x: I) {
    // SAFETY: `to` has 4 words.
    unsafe { store(to.as_mut_ptr(), x) }
}
