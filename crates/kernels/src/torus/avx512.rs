//! Eight doubles in one register.

use std::arch::x86_64::*;

use super::vector::{TWO_32, TWO_64, Vector};
use crate::array::array;

/// A register of AVX-512.
#[derive(Clone, Copy)]
pub(super) struct Zmm(__m512d);

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// The columns `q`, `q + 2`, `q + 4` and `q + 6` of eight rows, which come in pairs: one number of
/// each row of a pair for each of these columns.
///
/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
unsafe fn columns([p0, p1, p2, p3]: [__m512d; 4]) -> [Zmm; 4] {
    // SAFETY: by the caller.
    unsafe {
        let low = [
            _mm512_shuffle_f64x2::<0x88>(p0, p1), // columns q, q + 4 of rows 0 1, then of rows 2 3
            _mm512_shuffle_f64x2::<0x88>(p2, p3),
        ];
        let high = [
            _mm512_shuffle_f64x2::<0xdd>(p0, p1), // columns q + 2, q + 6
            _mm512_shuffle_f64x2::<0xdd>(p2, p3),
        ];
        [
            Zmm(_mm512_shuffle_f64x2::<0x88>(low[0], low[1])),
            Zmm(_mm512_shuffle_f64x2::<0x88>(high[0], high[1])),
            Zmm(_mm512_shuffle_f64x2::<0xdd>(low[0], low[1])),
            Zmm(_mm512_shuffle_f64x2::<0xdd>(high[0], high[1])),
        ]
    }
}

// In the functions below the CPU has AVX-512 F and DQ: either a value exists, or the caller vouches
// for it.
impl Vector for Zmm {
    #[inline(always)]
    unsafe fn splat(x: f64) -> Self {
        // SAFETY: by the caller.
        Self(unsafe { _mm512_set1_pd(x) })
    }

    #[inline(always)]
    unsafe fn load(p: *const f64) -> Self {
        // SAFETY: by the caller.
        Self(unsafe { _mm512_loadu_pd(p) })
    }

    #[inline(always)]
    unsafe fn load_i32(p: *const i32) -> Self {
        // SAFETY: by the caller.
        Self(unsafe { _mm512_cvtepi32_pd(_mm256_loadu_si256(p.cast())) })
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f64) {
        // SAFETY: by the caller.
        unsafe { _mm512_storeu_pd(p, self.0) }
    }

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(unsafe { _mm512_add_pd(self.0, b.0) })
    }

    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(unsafe { _mm512_sub_pd(self.0, b.0) })
    }

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(unsafe { _mm512_mul_pd(self.0, b.0) })
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(unsafe { _mm512_fmadd_pd(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(unsafe { _mm512_fnmadd_pd(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn transpose(rows: [Self; 8]) -> [Self; 8] {
        // SAFETY: the rows are values.
        unsafe {
            // Columns q, q + 2, q + 4, q + 6 of rows 2p and 2p + 1, for q = 0 and for q = 1.
            let even = array!(p => _mm512_unpacklo_pd(rows[2 * p].0, rows[2 * p + 1].0));
            let odd = array!(p => _mm512_unpackhi_pd(rows[2 * p].0, rows[2 * p + 1].0));
            let ([c0, c2, c4, c6], [c1, c3, c5, c7]) = (columns(even), columns(odd));
            [c0, c1, c2, c3, c4, c5, c6, c7]
        }
    }

    #[inline(always)]
    unsafe fn add_fraction_64(self, p: *mut u64) {
        // SAFETY: by the caller. Plus or minus one half both become the smallest integer, which
        // means the same.
        unsafe {
            let fraction = _mm512_sub_pd(self.0, _mm512_roundscale_pd::<NEAREST>(self.0));
            let words = _mm512_cvtpd_epi64(_mm512_mul_pd(fraction, _mm512_set1_pd(TWO_64)));
            let sum = _mm512_add_epi64(words, _mm512_loadu_si512(p.cast()));
            _mm512_storeu_si512(p.cast(), sum);
        }
    }

    #[inline(always)]
    unsafe fn add_fraction_32(self, p: *mut u32) {
        // SAFETY: as above.
        unsafe {
            let fraction = _mm512_sub_pd(self.0, _mm512_roundscale_pd::<NEAREST>(self.0));
            let words = _mm512_cvtpd_epi32(_mm512_mul_pd(fraction, _mm512_set1_pd(TWO_32)));
            let sum = _mm256_add_epi32(words, _mm256_loadu_si256(p.cast()));
            _mm256_storeu_si256(p.cast(), sum);
        }
    }
}
