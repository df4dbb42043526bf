//! The forward transform, from coefficients to values. A butterfly takes one product.

use super::super::float::*;
use super::*;
use crate::NttTable;
use crate::lanes::*;

/// Bits of the largest moduli whose values are reduced only at the end: 17 stages leave values
/// below `(1 + 17 * 7/8) q < 16 q <= 2^51`.
const LAZY_BITS: u32 = 47;

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
pub(in super::super) fn ntt(table: &NttTable, a: &mut [u64]) {
    let bits = table.modulus().bits();
    // A reduction leaves at most a little over q/2, and each stage adds up to 7/8 q.
    let period = match bits {
        50.. => 1,
        49 => 4,
        _ => 8,
    };
    let (c, roots) = (Consts::new(table.modulus()), &*table.floats().forward);
    if bits <= LAZY_BITS {
        descend::<true, true>(&Context { c, roots, period }, a, 1);
    } else {
        descend::<false, true>(&Context { c, roots, period }, a, 1);
    }
}

/// All stages of the block under `node`. With `WORDS` the block holds words, otherwise floats.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn descend<const LAZY: bool, const WORDS: bool>(t: &Context<LAZY>, block: &mut [u64], node: usize) {
    if block.len() > L1_WORDS {
        two_stages::<LAZY, WORDS>(t, block, node);
        let quarter = block.len() / 4;
        for (i, part) in block.chunks_exact_mut(quarter).enumerate() {
            descend::<LAZY, false>(t, part, 4 * node + i);
        }
        return;
    }
    if block.len() == REGISTER_WORDS {
        return in_registers::<LAZY, WORDS>(t, block, node);
    }
    let mut parts = if (block.len() / REGISTER_WORDS).ilog2() % 2 == 1 {
        one_stage::<LAZY, WORDS>(t, block, node);
        2
    } else {
        two_stages::<LAZY, WORDS>(t, block, node);
        4
    };
    while block.len() / parts > REGISTER_WORDS {
        for (i, part) in block.chunks_exact_mut(block.len() / parts).enumerate() {
            two_stages::<LAZY, false>(t, part, node * parts + i);
        }
        parts *= 4;
    }
    in_registers::<LAZY, false>(t, block, node * parts);
}

impl<const LAZY: bool> Context<'_, LAZY> {
    /// Returns true if the stage of `node` reduces its values.
    #[inline]
    fn reduces(&self, node: usize) -> bool {
        !LAZY && node.ilog2().is_multiple_of(self.period)
    }

    /// `x + w y` and `x - w y`.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    fn forward(&self, [x, y]: [F; 2], w: Root, reduce: bool) -> [F; 2] {
        let x = if reduce { self.c.reduce(x) } else { x };
        let t = self.mul(y, w);
        [add(x, t), sub(x, t)]
    }

    /// As [`forward`](Self::forward), for several butterflies at once.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    fn forwards<const K: usize>(
        &self,
        x: &mut [F; K],
        y: &mut [F; K],
        w: &[Root; K],
        reduce: bool,
    ) {
        let t = self.muls(y, w);
        if reduce {
            for x in x.iter_mut() {
                *x = self.c.reduce(*x);
            }
        }
        for k in 0..K {
            y[k] = sub(x[k], t[k]);
            x[k] = add(x[k], t[k]);
        }
    }

    /// Converts floats to words below q. Values of a lazy transform are below `16 q`, with
    /// `q < 2^47`.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    fn finish(&self, x: F) -> I {
        if LAZY {
            self.c.floor(x)
        } else {
            self.c.finish(self.c.reduce(x))
        }
    }
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn one_stage<const LAZY: bool, const WORDS: bool>(
    t: &Context<LAZY>,
    block: &mut [u64],
    node: usize,
) {
    let (w, reduce) = (t.node(node), t.reduces(node));
    let (low, high) = halves(block);
    for (a, b) in low.iter_mut().zip(high) {
        let pair = [take::<WORDS>(&t.c, a), take::<WORDS>(&t.c, b)];
        let [x, y] = t.forward(pair, w, reduce);
        put(a, x);
        put(b, y);
    }
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn two_stages<const LAZY: bool, const WORDS: bool>(
    t: &Context<LAZY>,
    block: &mut [u64],
    node: usize,
) {
    let (outer, inner) = (t.node(node), [t.node(2 * node), t.node(2 * node + 1)]);
    let (first, second) = (t.reduces(node), t.reduces(2 * node));
    let [a, b, c, d] = quarters(block);
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        let load = |from: &[u64; 4]| take::<WORDS>(&t.c, from);
        let [x0, x2] = t.forward([load(a), load(c)], outer, first);
        let [x1, x3] = t.forward([load(b), load(d)], outer, first);
        let [x0, x1] = t.forward([x0, x1], inner[0], second);
        let [x2, x3] = t.forward([x2, x3], inner[1], second);
        put(a, x0);
        put(b, x1);
        put(c, x2);
        put(d, x3);
    }
}

/// The last four stages of groups of 16 words, the first group under `node`. The results are words
/// below q. [`GROUPS`] at a time.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn in_registers<const LAZY: bool, const WORDS: bool>(
    t: &Context<LAZY>,
    block: &mut [u64],
    node: usize,
) {
    let (sets, rest) = block.as_chunks_mut::<{ GROUPS * REGISTER_WORDS }>();
    for (i, set) in sets.iter_mut().enumerate() {
        groups::<GROUPS, LAZY, WORDS>(t, set, node + GROUPS * i);
    }
    if !rest.is_empty() {
        groups::<1, LAZY, WORDS>(t, rest, node);
    }
}

#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn groups<const G: usize, const LAZY: bool, const WORDS: bool>(
    t: &Context<LAZY>,
    words: &mut [u64],
    node: usize,
) {
    let (words, _) = words.as_chunks_mut::<4>();
    let reduce = [1, 2, 4, 8].map(|k| t.reduces(k * node));
    let mut x = [[zero(); G]; 4];
    for g in 0..G {
        for j in 0..4 {
            x[j][g] = take::<WORDS>(&t.c, &words[4 * g + j]);
        }
    }
    let [mut a, mut b, mut c, mut d] = x;
    let mut w = [t.node(node); G];
    for (g, w) in w.iter_mut().enumerate() {
        *w = t.node(node + g);
    }
    t.forwards(&mut a, &mut c, &w, reduce[0]);
    t.forwards(&mut b, &mut d, &w, reduce[0]);
    let mut v = w;
    for g in 0..G {
        [w[g], v[g]] = [t.node(2 * (node + g)), t.node(2 * (node + g) + 1)];
    }
    t.forwards(&mut a, &mut b, &w, reduce[1]);
    t.forwards(&mut c, &mut d, &v, reduce[1]);
    for g in 0..G {
        [a[g], b[g], c[g], d[g]] = transpose([a[g], b[g], c[g], d[g]]);
        w[g] = t.halves(node + g);
    }
    t.forwards(&mut a, &mut c, &w, reduce[2]);
    t.forwards(&mut b, &mut d, &w, reduce[2]);
    for g in 0..G {
        [w[g], v[g]] = t.pairs(node + g);
    }
    t.forwards(&mut a, &mut b, &w, reduce[3]);
    t.forwards(&mut c, &mut d, &v, reduce[3]);
    for g in 0..G {
        for (j, x) in transpose_back([a[g], b[g], c[g], d[g]])
            .into_iter()
            .enumerate()
        {
            put_words(&mut words[4 * g + j], t.finish(x));
        }
    }
}
