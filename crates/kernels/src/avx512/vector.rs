//! Eight residues: constants of a modulus, products and reductions.
//!
//! Notation of the ranges: a vector "below 4q" has every lane in `[0, 4q)`. The multiplier reads
//! the low 52 bits of its factors, so factors stay below 2^52.

use std::arch::x86_64::*;

use crate::Modulus;
use crate::modulus::MASK52;

pub(super) type V = __m512i;

/// Constants of one modulus, in every lane.
#[derive(Clone, Copy)]
pub(super) struct Consts {
    pub(super) q: V,
    pub(super) q2: V,
    /// `-q` modulo 2^64. An accumulator that adds `m (-q)` subtracts `m q`.
    pub(super) neg_q: V,
    /// `q^-1 mod 2^52`.
    pub(super) inv52: V,
    /// `floor(2^52 / q)`, for [`Consts::barrett`].
    pub(super) ratio: V,
    pub(super) two: V,
}

/// A fixed factor: its Montgomery form `w` and `w * q^-1 mod 2^52`. For a wide modulus: the factor
/// `w` itself and its Shoup constant.
#[derive(Clone, Copy)]
pub(super) struct Factor {
    pub(super) w: V,
    pub(super) w_inv: V,
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn splat(x: u64) -> V {
    _mm512_set1_epi64(x as i64)
}

/// `acc + low 52 bits of a * b`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn low(acc: V, a: V, b: V) -> V {
    _mm512_madd52lo_epu64(acc, a, b)
}

/// `acc + (a * b) >> 52`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn high(acc: V, a: V, b: V) -> V {
    _mm512_madd52hi_epu64(acc, a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn zero() -> V {
    _mm512_setzero_si512()
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn add(a: V, b: V) -> V {
    _mm512_add_epi64(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn sub(a: V, b: V) -> V {
    _mm512_sub_epi64(a, b)
}

/// `x` mod `kq` for `x` below `2kq`. The difference wraps to a huge value when `x < kq`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn sub_min(x: V, kq: V) -> V {
    _mm512_min_epu64(x, _mm512_sub_epi64(x, kq))
}

/// Low 64 bits of `a * b`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn low64(a: V, b: V) -> V {
    _mm512_mullo_epi64(a, b)
}

/// `floor(a * b / 2^64)` or up to 2 less, for any words.
///
/// With `a = a1 2^52 + a0` and `b = b1 2^12 + b0`, it is the sum of `a1 b1` and the floors of
/// `a0 b1 / 2^52` and `a1 b0 / 2^12`. `a0 b0 < 2^64` is left out. The multiplier reads 52 bits, so
/// `a` may stand for `a0`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn high64(a: V, b: V) -> V {
    let (a1, b1) = (_mm512_srli_epi64::<52>(a), _mm512_srli_epi64::<12>(b));
    let b0 = _mm512_slli_epi64::<40>(b);
    high(high(low64(a1, b1), a, b1), a1, b0)
}

impl Consts {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(m: &Modulus) -> Self {
        let q = m.value();
        Self {
            q: splat(q),
            q2: splat(2 * q),
            neg_q: splat(q.wrapping_neg()),
            inv52: splat(m.inv52()),
            ratio: splat((MASK52 + 1) / q),
            two: splat(2),
        }
    }

    /// The factor whose Montgomery form is `w`, below q.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn factor(&self, w: V) -> Factor {
        Factor {
            w,
            w_inv: low(zero(), w, self.inv52),
        }
    }

    /// `x - y` modulo q, for both below q.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn difference(&self, x: V, y: V) -> V {
        let d = sub(x, y);
        _mm512_min_epu64(d, add(d, self.q)) // a negative difference is huge
    }

    /// `x * f`, in `(0, 2q)`, for `x` below 2^52.
    ///
    /// `x * w` and `m * q` agree modulo 2^52, so the difference of their upper halves is exact and
    /// lies in `(-q, q)`. The accumulator starts at `-q`, which moves the result up by `q`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn mul_lazy(&self, x: V, f: Factor) -> V {
        let m = low(zero(), x, f.w_inv);
        sub(high(zero(), x, f.w), high(self.neg_q, m, self.q))
    }

    /// `x * f` below 4q, for any word `x` and a factor of a wide modulus.
    ///
    /// The quotient is too small by at most `x / 2^64` for the Shoup constant, and by less than 3
    /// for its rounding and [`high64`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn mul_wide(&self, x: V, f: Factor) -> V {
        let quotient = high64(x, f.w_inv);
        sub(low64(x, f.w), low64(quotient, self.q))
    }

    /// Reduces from below 8q to below q.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn reduce8(&self, x: V) -> V {
        sub_min(sub_min(sub_min(x, add(self.q2, self.q2)), self.q2), self.q)
    }

    /// Reduces `x` below 2^52 to the same residue below 2q.
    ///
    /// The quotient `floor(x * floor(2^52 / q) / 2^52)` is at most one too small.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn barrett(&self, x: V) -> V {
        let quotient = high(zero(), x, self.ratio);
        sub(x, low(zero(), quotient, self.q))
    }
}

impl Factor {
    /// The factor `w` of a wide modulus with its Shoup constant.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn shoup(w: u64, constant: u64) -> Self {
        let (w, w_inv) = (splat(w), splat(constant));
        Self { w, w_inv }
    }
}

/// Reads 8 words at `p`.
///
/// # Safety
/// 64 bytes at `p` are readable.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn load(p: *const u64) -> V {
    // SAFETY: the caller's promise; loadu needs no alignment.
    unsafe { _mm512_loadu_si512(p.cast()) }
}

/// Writes 8 words at `p`.
///
/// # Safety
/// 64 bytes at `p` are writable.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn store(p: *mut u64, x: V) {
    // SAFETY: the caller's promise; storeu needs no alignment.
    unsafe { _mm512_storeu_si512(p.cast(), x) }
}
