//! Negacyclic NTT in `f64`: floats take the place of the words during the transform.
//!
//! A product is below `7/8 q` in size, so `x + w y` and `x - w y` grow by that much per stage.
//! They are reduced (to `q/2` and a little) in every stage from 49 bits on, in every fourth up to
//! 48 bits and not at all up to 44 bits, where 17 stages stay below `16q < 2^48`.

use std::arch::x86_64::*;

use super::float::*;
use crate::NttTable;

/// Words of a block that stays in the L1 cache.
const L1_WORDS: usize = 2048;

/// Tables of one direction and how often to reduce.
struct Context<'a> {
    c: Consts,
    roots: &'a [f64],
    /// Sums are reduced in stages whose depth divides by this.
    period: u32,
}

impl<'a> Context<'a> {
    #[target_feature(enable = "avx2,fma")]
    fn new(table: &NttTable, roots: &'a [f64]) -> Self {
        let period = match table.modulus().bits() {
            49.. => 1,
            45..=48 => 4,
            _ => u32::MAX,
        };
        Self {
            c: Consts::new(table.modulus()),
            roots,
            period,
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn forward(&self, x: &mut F, y: &mut F, w: F, reduce: bool) {
        let x0 = if reduce { self.c.reduce(*x) } else { *x };
        let t = self.c.mul(*y, w);
        (*x, *y) = (_mm256_add_pd(x0, t), _mm256_sub_pd(x0, t));
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn inverse(&self, x: &mut F, y: &mut F, w: F) {
        let (sum, difference) = (_mm256_add_pd(*x, *y), _mm256_sub_pd(*x, *y));
        (*x, *y) = (self.c.reduce(sum), self.c.mul(difference, w));
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn ntt(table: &NttTable, a: &mut [u64]) {
    let floats = table.floats();
    let t = Context::new(table, &floats.forward);
    for x in a.as_chunks_mut::<4>().0 {
        // SAFETY: a chunk has 4 words.
        unsafe { store_float(x.as_mut_ptr(), t.c.float(load(x.as_ptr()))) };
    }
    descend(&t, a, 1);
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn intt(table: &NttTable, a: &mut [u64]) {
    let floats = table.floats();
    let t = Context::new(table, &floats.inverse);
    ascend(&t, a, 1);
    let n_inverse = _mm256_set1_pd(floats.n_inverse);
    for x in a.as_chunks_mut::<4>().0 {
        // SAFETY: a chunk has 4 words.
        unsafe {
            let product = t.c.mul(load_float(x.as_ptr()), n_inverse);
            store(x.as_mut_ptr(), t.c.finish(product));
        }
    }
}

/// All stages of the block under `node`, down to words.
#[target_feature(enable = "avx2,fma")]
fn descend(t: &Context, block: &mut [u64], node: usize) {
    if block.len() > L1_WORDS {
        stage_down(t, block, node);
        let (low, high) = block.split_at_mut(block.len() / 2);
        descend(t, low, 2 * node);
        descend(t, high, 2 * node + 1);
        return;
    }
    let mut parts = 1;
    while block.len() / parts > 4 {
        for (i, part) in block.chunks_exact_mut(block.len() / parts).enumerate() {
            stage_down(t, part, node * parts + i);
        }
        parts *= 2;
    }
    lanes_down(t, block, node * parts);
}

/// All stages of the block under `node`, up from words.
#[target_feature(enable = "avx2,fma")]
fn ascend(t: &Context, block: &mut [u64], node: usize) {
    if block.len() > L1_WORDS {
        let (low, high) = block.split_at_mut(block.len() / 2);
        ascend(t, low, 2 * node);
        ascend(t, high, 2 * node + 1);
        stage_up(t, block, node);
        return;
    }
    let mut parts = block.len() / 4;
    lanes_up(t, block, node * parts);
    while parts > 1 {
        parts /= 2;
        for (i, part) in block.chunks_exact_mut(block.len() / parts).enumerate() {
            stage_up(t, part, node * parts + i);
        }
    }
}

#[target_feature(enable = "avx2,fma")]
fn stage_down(t: &Context, block: &mut [u64], node: usize) {
    let w = _mm256_set1_pd(t.roots[node]);
    let reduce = node.ilog2().is_multiple_of(t.period);
    let half = block.len() / 2;
    let (low, high) = block.split_at_mut(half);
    let (low, high) = (low.as_chunks_mut::<4>().0, high.as_chunks_mut::<4>().0);
    for (a, b) in low.iter_mut().zip(high) {
        // SAFETY: chunks have 4 words.
        unsafe {
            let (mut x, mut y) = (load_float(a.as_ptr()), load_float(b.as_ptr()));
            t.forward(&mut x, &mut y, w, reduce);
            store_float(a.as_mut_ptr(), x);
            store_float(b.as_mut_ptr(), y);
        }
    }
}

#[target_feature(enable = "avx2,fma")]
fn stage_up(t: &Context, block: &mut [u64], node: usize) {
    let w = _mm256_set1_pd(t.roots[node]);
    let half = block.len() / 2;
    let (low, high) = block.split_at_mut(half);
    let (low, high) = (low.as_chunks_mut::<4>().0, high.as_chunks_mut::<4>().0);
    for (a, b) in low.iter_mut().zip(high) {
        // SAFETY: chunks have 4 words.
        unsafe {
            let (mut x, mut y) = (load_float(a.as_ptr()), load_float(b.as_ptr()));
            t.inverse(&mut x, &mut y, w);
            store_float(a.as_mut_ptr(), x);
            store_float(b.as_mut_ptr(), y);
        }
    }
}

/// The last two stages of groups of 4 words, two groups at a time; output words below q.
#[target_feature(enable = "avx2,fma")]
fn lanes_down(t: &Context, block: &mut [u64], node: usize) {
    let pairs = block.as_chunks_mut::<8>().0;
    let by_two = t.roots[node..].as_chunks::<2>().0;
    let by_one = t.roots[2 * node..].as_chunks::<4>().0;
    for ((pair, w2), w1) in pairs.iter_mut().zip(by_two).zip(by_one) {
        let p = pair.as_mut_ptr();
        // SAFETY: `pair` has 8 words, `w1` 4.
        unsafe {
            let (a, b) = (load_float(p), load_float(p.add(4)));
            let mut x = _mm256_permute2f128_pd::<0x20>(a, b);
            let mut y = _mm256_permute2f128_pd::<0x31>(a, b);
            let w2 = _mm256_setr_pd(w2[0], w2[0], w2[1], w2[1]);
            t.forward(&mut x, &mut y, w2, true);
            let mut x1 = _mm256_unpacklo_pd(x, y);
            let mut y1 = _mm256_unpackhi_pd(x, y);
            t.forward(&mut x1, &mut y1, _mm256_loadu_pd(w1.as_ptr()), true);
            let (x1, y1) = (t.c.reduce(x1), t.c.reduce(y1));
            let (x, y) = (_mm256_unpacklo_pd(x1, y1), _mm256_unpackhi_pd(x1, y1));
            store(p, t.c.finish(_mm256_permute2f128_pd::<0x20>(x, y)));
            store(p.add(4), t.c.finish(_mm256_permute2f128_pd::<0x31>(x, y)));
        }
    }
}

/// The first two stages of the inverse, from words to floats.
#[target_feature(enable = "avx2,fma")]
fn lanes_up(t: &Context, block: &mut [u64], node: usize) {
    let pairs = block.as_chunks_mut::<8>().0;
    let by_two = t.roots[node..].as_chunks::<2>().0;
    let by_one = t.roots[2 * node..].as_chunks::<4>().0;
    for ((pair, w2), w1) in pairs.iter_mut().zip(by_two).zip(by_one) {
        let p = pair.as_mut_ptr();
        // SAFETY: `pair` has 8 words, `w1` 4.
        unsafe {
            let (a, b) = (t.c.float(load(p)), t.c.float(load(p.add(4))));
            let (x, y) = (
                _mm256_permute2f128_pd::<0x20>(a, b),
                _mm256_permute2f128_pd::<0x31>(a, b),
            );
            let (mut x1, mut y1) = (_mm256_unpacklo_pd(x, y), _mm256_unpackhi_pd(x, y));
            t.inverse(&mut x1, &mut y1, _mm256_loadu_pd(w1.as_ptr()));
            let mut x = _mm256_unpacklo_pd(x1, y1);
            let mut y = _mm256_unpackhi_pd(x1, y1);
            let w2 = _mm256_setr_pd(w2[0], w2[0], w2[1], w2[1]);
            t.inverse(&mut x, &mut y, w2);
            store_float(p, _mm256_permute2f128_pd::<0x20>(x, y));
            store_float(p.add(4), _mm256_permute2f128_pd::<0x31>(x, y));
        }
    }
}

/// Reads 4 floats that [`store_float`] wrote.
///
/// # Safety
/// 32 bytes at `p` are readable.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn load_float(p: *const u64) -> F {
    // SAFETY: the caller's promise.
    unsafe { _mm256_castsi256_pd(load(p)) }
}

/// Writes 4 floats in the place of words.
///
/// # Safety
/// 32 bytes at `p` are writable.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn store_float(p: *mut u64, x: F) {
    // SAFETY: the caller's promise.
    unsafe { store(p, _mm256_castpd_si256(x)) }
}
