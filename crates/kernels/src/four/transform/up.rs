//! The inverse transform, from values to coefficients. The last stage multiplies by `1/N` too.

use super::super::float::*;
use super::*;
use crate::NttTable;
use crate::lanes::*;

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
pub(in super::super) fn intt(table: &NttTable, a: &mut [u64]) {
    let floats = table.floats();
    // Each stage doubles sums. They begin below q, or below 7/8 q after a reduction.
    let period = LARGEST - table.modulus().bits();
    let (c, roots) = (Consts::new(table.modulus()), &*floats.inverse);
    if period >= table.n().ilog2() {
        finish(&Context::<true> { c, roots, period }, a, floats.last);
    } else {
        finish(&Context::<false> { c, roots, period }, a, floats.last);
    }
}

/// All stages. The last one has its own factors, `last`, for sums and for differences.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn finish<const LAZY: bool>(t: &Context<LAZY>, a: &mut [u64], last: [f64; 2]) {
    let low = a.len() / 2;
    let (left, right) = a.split_at_mut(low);
    if low < REGISTER_WORDS {
        in_registers::<LAZY, true>(t, a, 1);
    } else {
        ascend(t, left, 2);
        ascend(t, right, 3);
    }
    let [sum, difference] = array!(k => t.root(splat(last[k])));
    let (low, high) = halves(a);
    for (a, b) in low.iter_mut().zip(high) {
        let (x, y) = (take::<false>(&t.c, a), take::<false>(&t.c, b));
        put_words(a, t.c.finish(t.mul(add(x, y), sum)));
        put_words(b, t.c.finish(t.mul(sub(x, y), difference)));
    }
}

/// All stages of the block under `node`, from words to floats.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn ascend<const LAZY: bool>(t: &Context<LAZY>, block: &mut [u64], node: usize) {
    if block.len() > L1_WORDS {
        let quarter = block.len() / 4;
        for (i, part) in block.chunks_exact_mut(quarter).enumerate() {
            ascend(t, part, 4 * node + i);
        }
        return two_stages(t, block, node);
    }
    let mut parts = block.len() / REGISTER_WORDS;
    in_registers::<LAZY, false>(t, block, node * parts);
    while parts >= 4 {
        parts /= 4;
        for (i, part) in block.chunks_exact_mut(block.len() / parts).enumerate() {
            two_stages(t, part, node * parts + i);
        }
    }
    if parts == 2 {
        one_stage(t, block, node);
    }
}

impl<const LAZY: bool> Context<'_, LAZY> {
    /// Returns true if the stage that makes blocks of `words` words reduces its sums.
    #[inline]
    fn reduces_sums(&self, words: usize) -> bool {
        !LAZY && words.ilog2().is_multiple_of(self.period)
    }

    /// `x + y` and `(x - y) w`.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    fn inverse(&self, [x, y]: [F; 2], w: Root, reduce: bool) -> [F; 2] {
        let sum = add(x, y);
        let sum = if reduce { self.c.reduce(sum) } else { sum };
        [sum, self.mul(sub(x, y), w)]
    }

    /// As [`inverse`](Self::inverse), for several butterflies at once.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    fn inverses<const K: usize>(
        &self,
        x: &mut [F; K],
        y: &mut [F; K],
        w: &[Root; K],
        reduce: bool,
    ) {
        let mut difference = *x;
        for k in 0..K {
            difference[k] = sub(x[k], y[k]);
            x[k] = add(x[k], y[k]);
        }
        if reduce {
            for x in x.iter_mut() {
                *x = self.c.reduce(*x);
            }
        }
        *y = self.muls(&difference, w);
    }
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn one_stage<const LAZY: bool>(t: &Context<LAZY>, block: &mut [u64], node: usize) {
    let (w, reduce) = (t.node(node), t.reduces_sums(block.len()));
    let (low, high) = halves(block);
    for (a, b) in low.iter_mut().zip(high) {
        let pair = [take::<false>(&t.c, a), take::<false>(&t.c, b)];
        let [x, y] = t.inverse(pair, w, reduce);
        put(a, x);
        put(b, y);
    }
}

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn two_stages<const LAZY: bool>(t: &Context<LAZY>, block: &mut [u64], node: usize) {
    let (outer, inner) = (t.node(node), [t.node(2 * node), t.node(2 * node + 1)]);
    let second = t.reduces_sums(block.len());
    let first = t.reduces_sums(block.len() / 2);
    let [a, b, c, d] = quarters(block);
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        let load = |from: &[u64; 4]| take::<false>(&t.c, from);
        let [x0, x1] = t.inverse([load(a), load(b)], inner[0], first);
        let [x2, x3] = t.inverse([load(c), load(d)], inner[1], first);
        let [x0, x2] = t.inverse([x0, x2], outer, second);
        let [x1, x3] = t.inverse([x1, x3], outer, second);
        put(a, x0);
        put(b, x1);
        put(c, x2);
        put(d, x3);
    }
}

/// The first four stages of groups of 16 words, the last stage of the first group under `node`,
/// from words to floats. With `ALL_BUT_ONE`, the last of the four stages is left out.
/// [`GROUPS`] at a time.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn in_registers<const LAZY: bool, const ALL_BUT_ONE: bool>(
    t: &Context<LAZY>,
    block: &mut [u64],
    node: usize,
) {
    let (sets, rest) = block.as_chunks_mut::<{ GROUPS * REGISTER_WORDS }>();
    for (i, set) in sets.iter_mut().enumerate() {
        groups::<GROUPS, LAZY, ALL_BUT_ONE>(t, set, node + GROUPS * i);
    }
    if !rest.is_empty() {
        groups::<1, LAZY, ALL_BUT_ONE>(t, rest, node);
    }
}

#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
fn groups<const G: usize, const LAZY: bool, const ALL_BUT_ONE: bool>(
    t: &Context<LAZY>,
    words: &mut [u64],
    node: usize,
) {
    let (words, _) = words.as_chunks_mut::<4>();
    let reduce = [2, 4, 8, 16].map(|words| t.reduces_sums(words));
    let mut x = [[zero(); G]; 4];
    for g in 0..G {
        let words: [F; 4] = array!(j => take::<true>(&t.c, &words[4 * g + j]));
        [x[0][g], x[1][g], x[2][g], x[3][g]] = transpose(words);
    }
    let [mut a, mut b, mut c, mut d] = x;
    let (mut w, mut v) = ([t.node(node); G], [t.node(node); G]);
    for g in 0..G {
        [w[g], v[g]] = t.pairs(node + g);
    }
    t.inverses(&mut a, &mut b, &w, reduce[0]);
    t.inverses(&mut c, &mut d, &v, reduce[0]);
    for (g, w) in w.iter_mut().enumerate() {
        *w = t.halves(node + g);
    }
    t.inverses(&mut a, &mut c, &w, reduce[1]);
    t.inverses(&mut b, &mut d, &w, reduce[1]);
    for g in 0..G {
        [a[g], b[g], c[g], d[g]] = transpose_back([a[g], b[g], c[g], d[g]]);
        [w[g], v[g]] = [t.node(2 * (node + g)), t.node(2 * (node + g) + 1)];
    }
    t.inverses(&mut a, &mut b, &w, reduce[2]);
    t.inverses(&mut c, &mut d, &v, reduce[2]);
    if !ALL_BUT_ONE {
        for (g, w) in w.iter_mut().enumerate() {
            *w = t.node(node + g);
        }
        t.inverses(&mut a, &mut c, &w, reduce[3]);
        t.inverses(&mut b, &mut d, &w, reduce[3]);
    }
    for g in 0..G {
        for (j, x) in [a[g], b[g], c[g], d[g]].into_iter().enumerate() {
            put(&mut words[4 * g + j], x);
        }
    }
}
