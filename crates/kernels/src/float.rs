//! Products by quotients in floating point, for machines without the upper half of a product of
//! words, as WebAssembly is.
//!
//! The integer `t` next to `a b / q` is computed as `f64`, and `a b - t q` in words that wrap: the
//! result is small, so its low word is all of it. Before rounding, `t` is off by at most
//! `3 |a b / q| / 2^53`. For `|a b| <= 2^50 q` that is 3/8, so the result is below `7/8 q` in size.
//!
//! # Source
//! Van der Hoeven, Lecerf, Quintin, "Modular SIMD arithmetic in Mathemagix",
//! <https://arxiv.org/abs/1407.3383>, section 3.

use crate::backend::{check_lengths, check_ntt};
use crate::{Kernels, Modulus, NttTable, Scalar};

/// Portable backend for narrow moduli, with the words of [`Scalar`], to which it leaves the rest.
///
/// On WebAssembly a forward transform takes about a quarter of the time of [`Scalar`], where each
/// product of two words is a call: node 20 on an AMD EPYC with AVX2, N = 2^15.
#[derive(Clone, Copy, Debug)]
pub struct Float;

/// `1.5 * 2^52`: its sum with a number below 2^51 in size is rounded to an integer.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// The integer next to `x`, for `|x| <= 2^51`.
#[inline]
fn nearest(x: f64) -> i64 {
    (x + ROUND).to_bits().wrapping_sub(ROUND.to_bits()) as i64
}

/// A factor below `q/2` in size, and its quotient by `q`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factor {
    value: i64,
    over_q: f64,
}

impl Factor {
    /// The factor `value` of a narrow modulus.
    pub(crate) fn new(q: &Modulus, value: u64) -> Self {
        let value = q.center(value);
        Self {
            value,
            over_q: value as f64 / q.value() as f64,
        }
    }
}

/// A narrow modulus, for products.
#[derive(Clone, Copy)]
struct Reducer {
    q: i64,
    inverse: f64,
}

impl Reducer {
    /// `None` for a wide modulus.
    fn new(q: &Modulus) -> Option<Self> {
        let value = q.value();
        (!q.is_wide()).then(|| Self {
            q: value as i64,
            inverse: 1.0 / value as f64,
        })
    }

    /// `a b` modulo q, below q in size, for `|a b| <= 2^51 q`.
    #[inline]
    fn mul(self, a: i64, b: i64) -> i64 {
        self.remainder(a.wrapping_mul(b), a as f64 * b as f64 * self.inverse)
    }

    /// `a w` modulo q, below q in size, for `|a| <= 2^52`.
    #[inline]
    fn mul_factor(self, a: i64, w: Factor) -> i64 {
        self.remainder(a.wrapping_mul(w.value), a as f64 * w.over_q)
    }

    /// `a` modulo q, at most a little over `q/2` in size, for `|a| <= 2^52`.
    #[inline]
    fn reduce(self, a: i64) -> i64 {
        self.remainder(a, a as f64 * self.inverse)
    }

    /// The low word of a product less the multiple of q at `quotient`.
    #[inline]
    fn remainder(self, low: i64, quotient: f64) -> i64 {
        low.wrapping_sub(nearest(quotient).wrapping_mul(self.q))
    }

    /// The residue in `[0, q)`, for `|a| < q`.
    #[inline]
    fn word(self, a: i64) -> u64 {
        (a + (self.q & (a >> 63))) as u64
    }
}

/// Levels of a transform after which values are reduced, if the modulus has more than
/// [`FREE_BITS`] bits: they grow from `q` to below `4 q`, and a product needs them below 2^52.
const LEVELS: u32 = 3;
/// With moduli of so many bits values grow to at most `11 q` in all levels, which is below 2^51.
const FREE_BITS: u32 = 47;

/// One level of a transform on blocks of twice `half` words.
#[inline]
fn level<const REDUCE: bool>(q: Reducer, a: &mut [i64], half: usize, roots: &[Factor]) {
    for (block, &root) in a.chunks_exact_mut(2 * half).zip(roots) {
        let (low, high) = block.split_at_mut(half);
        for (x, y) in low.iter_mut().zip(high) {
            let t = q.mul_factor(*y, root);
            let x0 = if REDUCE { q.reduce(*x) } else { *x };
            (*x, *y) = (x0 + t, x0 - t);
        }
    }
}

impl Kernels for Float {
    fn name(&self) -> &'static str {
        "float"
    }

    fn ntt(&self, table: &NttTable, a: &mut [u64]) {
        let Some(q) = Reducer::new(table.modulus()) else {
            return Scalar.ntt(table, a);
        };
        check_ntt(table, a);
        let roots = table.factors();
        let free = table.modulus().bits() <= FREE_BITS;
        let a = signed(a);
        let (mut nodes, mut since) = (1, 0);
        while nodes < a.len() {
            let half = a.len() / (2 * nodes);
            let roots = &roots[nodes..2 * nodes];
            since += 1;
            if free || since < LEVELS {
                level::<false>(q, a, half, roots);
            } else {
                level::<true>(q, a, half, roots);
                since = 1; // the sum of a reduced value and a product is as large as after one level
            }
            nodes *= 2;
        }
        for x in a {
            *x = q.word(q.reduce(*x)) as i64;
        }
    }

    fn intt(&self, table: &NttTable, a: &mut [u64]) {
        Scalar.intt(table, a);
    }

    fn add_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        Scalar.add_assign(q, a, b);
    }

    fn sub_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        Scalar.sub_assign(q, a, b);
    }

    fn neg_assign(&self, q: &Modulus, a: &mut [u64]) {
        Scalar.neg_assign(q, a);
    }

    fn mul_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]) {
        let Some(own) = Reducer::new(q) else {
            return Scalar.mul_assign(q, a, b);
        };
        check_lengths(a, [b.len()]);
        for (x, &y) in a.iter_mut().zip(b) {
            *x = own.word(own.mul(*x as i64, y as i64));
        }
    }

    fn mul_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
        let Some(own) = Reducer::new(q) else {
            return Scalar.mul_into(q, out, a, b);
        };
        check_lengths(out, [a.len(), b.len()]);
        for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
            *o = own.word(own.mul(x as i64, y as i64));
        }
    }

    fn mul_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[u64], b: &[u64]) {
        let Some(own) = Reducer::new(q) else {
            return Scalar.mul_add_assign(q, acc, a, b);
        };
        check_lengths(acc, [a.len(), b.len()]);
        for ((o, &x), &y) in acc.iter_mut().zip(a).zip(b) {
            *o = q.add(*o, own.word(own.mul(x as i64, y as i64)));
        }
    }

    fn scalar_mul_assign(&self, q: &Modulus, a: &mut [u64], c: u64) {
        let Some(own) = Reducer::new(q) else {
            return Scalar.scalar_mul_assign(q, a, c);
        };
        let factor = Factor::new(q, c);
        for x in a {
            *x = own.word(own.mul_factor(*x as i64, factor));
        }
    }

    fn scalar_mul_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[u64], c: u64) {
        let Some(own) = Reducer::new(q) else {
            return Scalar.scalar_mul_add_assign(q, acc, a, c);
        };
        check_lengths(acc, [a.len()]);
        let factor = Factor::new(q, c);
        for (o, &x) in acc.iter_mut().zip(a) {
            *o = q.add(*o, own.word(own.mul_factor(x as i64, factor)));
        }
    }

    fn sub_scalar_mul_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64], c: u64) {
        Scalar.sub_scalar_mul_assign(q, a, b, c);
    }

    fn reduce_into(&self, q: &Modulus, out: &mut [u64], a: &[u64]) {
        Scalar.reduce_into(q, out, a);
    }

    fn dot_into(&self, q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
        Scalar.dot_into(q, out, a, b);
    }

    fn dot_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[&[u64]], b: &[&[u64]]) {
        Scalar.dot_add_assign(q, acc, a, b);
    }

    fn mat_mul_into(
        &self,
        moduli: &[Modulus],
        m: &[u64],
        x: (&[&[u64]], u32),
        out: &mut [&mut [u64]],
    ) {
        Scalar.mat_mul_into(moduli, m, x, out);
    }
}

/// Words as signed ones, which have the same form.
fn signed(words: &mut [u64]) -> &mut [i64] {
    let (start, length) = (words.as_mut_ptr().cast(), words.len());
    // SAFETY: u64 and i64 have the same size and alignment, every bit pattern is valid for both, and
    // the result borrows `words` exclusively for as long as it lives.
    unsafe { std::slice::from_raw_parts_mut(start, length) }
}
