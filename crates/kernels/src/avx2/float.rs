//! Four residues as `f64`: exact integers, multiplied modulo `q` with fused multiply-add.
//!
//! The product `a b` is the sum of its rounding `h` and the exact error `l = fma(a, b, -h)`. Let
//! `t` be the integer next to `a b / q`. Then `h - t q` (one fused operation) and its sum with `l`
//! are both integers below 2^53, so nothing is rounded. Beyond the rounding, `t` is off by at most
//! `3 |a b / q| / 2^53`. For `|a b| <= 2^50 q` and `q < 2^50` that is at most 3/8, so the result is
//! below `7/8 q` in size.
//!
//! # Source
//! Van der Hoeven, Lecerf, Quintin, "Modular SIMD arithmetic in Mathemagix",
//! <https://arxiv.org/abs/1407.3383>, section 3.

use std::arch::x86_64::*;

use crate::Modulus;
use crate::array::array;

pub(super) type F = __m256d;
pub(super) type I = __m256i;

/// `1.5 * 2^52`: adding and subtracting it rounds to an integer.
pub(super) const ROUND: f64 = 6_755_399_441_055_744.0;

/// `2^52`, whose lowest mantissa bits count units.
const BASE: f64 = 4_503_599_627_370_496.0;

/// Converts words below 2^52 to floats.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn float_of_word(x: I) -> F {
    let base = _mm256_set1_pd(BASE);
    let bits = _mm256_or_si256(x, _mm256_castpd_si256(base));
    _mm256_sub_pd(_mm256_castsi256_pd(bits), base)
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
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn new(q: &Modulus) -> Self {
        let value = q.value() as f64;
        Self {
            q: _mm256_set1_pd(value),
            q_inverse: _mm256_set1_pd(1.0 / value),
            q_int: _mm256_set1_epi64x(q.value() as i64),
            round: _mm256_set1_pd(ROUND),
            base: _mm256_set1_pd(BASE),
            lower: _mm256_set1_pd(0.5 / value - 0.5),
        }
    }

    /// Converts words below 2^52 to floats.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn float(&self, x: I) -> F {
        float_of_word(x)
    }

    /// Centres words below q: gives floats of size at most q/2, or a little more.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn centre(&self, x: I) -> F {
        self.reduce(self.float(x))
    }

    /// Converts integers in `[0, 2^52)` to words.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn word(&self, x: F) -> I {
        let sum = _mm256_castpd_si256(_mm256_add_pd(x, self.base));
        _mm256_xor_si256(sum, _mm256_castpd_si256(self.base))
    }

    /// The integer next to `x * y`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn nearest(&self, x: F, y: F) -> F {
        _mm256_sub_pd(_mm256_fmadd_pd(x, y, self.round), self.round)
    }

    /// `a * b` modulo q, in size below 7/8 q, for `|a b| <= 2^50 q`. This holds for `|a| <= 2q` and
    /// `|b| <= q/2`, and for `|a| <= 2^51` and `|b| <= q/2`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn mul(&self, a: F, b: F) -> F {
        self.mul_by(a, b, _mm256_mul_pd(b, self.q_inverse))
    }

    /// As [`mul`](Self::mul), where the rounded quotient `b / q` is known.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn mul_by(&self, a: F, b: F, b_over_q: F) -> F {
        let quotient = self.nearest(a, b_over_q);
        let h = _mm256_mul_pd(a, b);
        let l = _mm256_fmsub_pd(a, b, h);
        _mm256_add_pd(_mm256_fnmadd_pd(quotient, self.q, h), l)
    }

    /// `x` modulo q, in size at most a little over q/2, for `|x| < 2^52`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn reduce(&self, x: F) -> F {
        _mm256_fnmadd_pd(self.nearest(x, self.q_inverse), self.q, x)
    }

    /// `x` modulo q in `[0, q)`, as words, for `|x| <= 16 q` and `q < 2^47`.
    ///
    /// `(x + 1/2) / q - 1/2` is at least `1/(2q)` away from a half, and is computed with an error
    /// of at most `2^-48`. The nearest integer is therefore the quotient rounded down.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn floor(&self, x: F) -> I {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        let quotient = _mm256_fmadd_pd(x, self.q_inverse, self.lower);
        let quotient = _mm256_round_pd::<NEAREST>(quotient);
        let sum = _mm256_fnmadd_pd(quotient, self.q, _mm256_add_pd(x, self.base));
        let bits = _mm256_castpd_si256(sum);
        _mm256_xor_si256(bits, _mm256_castpd_si256(self.base))
    }

    /// Moves values from `(-q, q)` to `[0, q)`, as words.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn finish(&self, x: F) -> I {
        // blendv selects by the sign bit. Zero is +0 here: a sum of floats is -0 only if both terms
        // are, and the two terms of a product are never both -0.
        self.word(_mm256_blendv_pd(x, _mm256_add_pd(x, self.q), x))
    }

    /// Reduces words from `[0, 2q)` to `[0, q)`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn subtract_once(&self, x: I) -> I {
        let d = _mm256_sub_epi64(x, self.q_int);
        select_negative(d, x, d)
    }
}

/// Selects `negative` where `x` is negative, else `other`.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn select_negative(x: I, negative: I, other: I) -> I {
    let floats = [x, negative, other];
    let [x, negative, other] = array!(k => _mm256_castsi256_pd(floats[k]));
    _mm256_castpd_si256(_mm256_blendv_pd(other, negative, x))
}

/// Reads 4 words at `p`.
///
/// # Safety
/// 32 bytes at `p` are readable.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn load(p: *const u64) -> I {
    // SAFETY: the caller's promise; loadu needs no alignment.
    unsafe { _mm256_loadu_si256(p.cast()) }
}

/// Writes 4 words at `p`.
///
/// # Safety
/// 32 bytes at `p` are writable.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn store(p: *mut u64, x: I) {
    // SAFETY: the caller's promise; storeu needs no alignment.
    unsafe { _mm256_storeu_si256(p.cast(), x) }
}
