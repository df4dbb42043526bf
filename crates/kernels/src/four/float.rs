//! Four residues as `f64`: exact integers, multiplied modulo `q` with fused multiply-add.
//!
//! The product `a b` is the sum of its rounding `h` and the exact error `l = fma(a, b, -h)`. Let
//! `t` be the integer next to `a b / q`. Then `h - t q` (one fused operation) and its sum with `l`
//! are both integers below 2^53, so nothing is rounded. Beyond the rounding, `t` is off by at most
//! `3 |a b / q| / 2^53`: `1/q`, `b/q` and, on some CPUs, its product with `a` are rounded. For
//! `|a b| <= 2^50 q` and `q < 2^50` that is at most 3/8, so the result is below `7/8 q` in size.
//!
//! # Source
//! Van der Hoeven, Lecerf, Quintin, "Modular SIMD arithmetic in Mathemagix",
//! <https://arxiv.org/abs/1407.3383>, section 3.

use crate::Modulus;
use crate::lanes::*;

/// `1.5 * 2^52`: adding and subtracting it rounds to an integer.
pub(super) const ROUND: f64 = 6_755_399_441_055_744.0;

/// `2^52`, whose lowest mantissa bits count units.
const BASE: f64 = 4_503_599_627_370_496.0;

/// Converts words below 2^52 to floats.
#[inline]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
pub(super) fn float_of_word(x: I) -> F {
    let base = splat(BASE);
    let bits = or(x, to_bits(base));
    sub(from_bits(bits), base)
}

/// Constants of one modulus, in every lane.
#[derive(Clone, Copy)]
pub(super) struct Consts {
    pub(super) q: F,
    pub(super) q_inverse: F,
    /// `q` as an integer.
    pub(super) q_int: I,
    /// [`ROUND`].
    pub(super) round: F,
    /// [`BASE`].
    base: F,
    /// `1/(2q) - 1/2`: added before rounding, it turns rounding to nearest into rounding down.
    lower: F,
}

impl Consts {
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    pub(super) fn new(q: &Modulus) -> Self {
        let value = q.value() as f64;
        Self {
            q: splat(value),
            q_inverse: splat(1.0 / value),
            q_int: splat_word(q.value() as i64),
            round: splat(ROUND),
            base: splat(BASE),
            lower: splat(0.5 / value - 0.5),
        }
    }

    /// Converts words below 2^52 to floats.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    pub(super) fn float(&self, x: I) -> F {
        float_of_word(x)
    }

    /// Centres words below q: gives floats of size at most q/2, or a little more.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    pub(super) fn centre(&self, x: I) -> F {
        self.reduce(self.float(x))
    }

    /// Converts integers in `[0, 2^52)` to words.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    pub(super) fn word(&self, x: F) -> I {
        let sum = to_bits(add(x, self.base));
        xor(sum, to_bits(self.base))
    }

    /// The integer next to `x * y`.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    fn nearest(&self, x: F, y: F) -> F {
        end_rounding(begin_rounding(x, y, self.round), self.round)
    }

    /// `a * b` modulo q, in size below 7/8 q, for `|a b| <= 2^50 q`. This holds for `|a| <= 2q` and
    /// `|b| <= q/2`, and for `|a| <= 2^51` and `|b| <= q/2`.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    pub(super) fn mul(&self, a: F, b: F) -> F {
        self.mul_by(a, b, mul(b, self.q_inverse))
    }

    /// As [`mul`](Self::mul), where the rounded quotient `b / q` is known.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    pub(super) fn mul_by(&self, a: F, b: F, b_over_q: F) -> F {
        let quotient = self.nearest(a, b_over_q);
        let h = mul(a, b);
        let l = fmsub(a, b, h);
        add(fnmadd(quotient, self.q, h), l)
    }

    /// `x` modulo q, in size at most a little over q/2, for `|x| < 2^52`.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    pub(super) fn reduce(&self, x: F) -> F {
        fnmadd(self.nearest(x, self.q_inverse), self.q, x)
    }

    /// `x` modulo q in `[0, q)`, as words, for `|x| <= 16 q` and `q < 2^47`.
    ///
    /// `(x + 1/2) / q - 1/2` is at least `1/(2q)` away from a half, and is computed with an error
    /// of at most `2^-48`. The nearest integer is therefore the quotient rounded down.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    pub(super) fn floor(&self, x: F) -> I {
        let quotient = fmadd(x, self.q_inverse, self.lower);
        let quotient = round(quotient);
        let sum = fnmadd(quotient, self.q, add(x, self.base));
        let bits = to_bits(sum);
        xor(bits, to_bits(self.base))
    }

    /// Moves values from `(-q, q)` to `[0, q)`, as words.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    pub(super) fn finish(&self, x: F) -> I {
        // The sign bit counts. Zero is +0 here: a sum of floats is -0 only if both terms are, and
        // the two terms of a product are never both -0.
        self.word(add_to_negative(x, self.q))
    }

    /// Reduces words from `[0, 2q)` to `[0, q)`.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    pub(super) fn subtract_once(&self, x: I) -> I {
        subtract_once(x, self.q_int)
    }
}
