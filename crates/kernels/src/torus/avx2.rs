//! Eight doubles in two registers.

use std::arch::x86_64::*;

use super::vector::Vector;
use crate::array::array;

/// Two registers of AVX2.
#[derive(Clone, Copy)]
pub(super) struct Ymms([__m256d; 2]);

impl Ymms {
    #[inline(always)]
    fn numbers(self) -> [f64; 8] {
        let mut out = [0.0; 8];
        // SAFETY: eight numbers are writable.
        unsafe { self.store(out.as_mut_ptr()) };
        out
    }
}

/// Transposes a matrix of four by four numbers.
///
/// # Safety
/// The CPU has AVX.
#[inline(always)]
unsafe fn transpose_4([a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
    // SAFETY: by the caller.
    unsafe {
        let (ab0, ab1) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
        let (cd0, cd1) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
        [
            _mm256_permute2f128_pd::<0x20>(ab0, cd0),
            _mm256_permute2f128_pd::<0x20>(ab1, cd1),
            _mm256_permute2f128_pd::<0x31>(ab0, cd0),
            _mm256_permute2f128_pd::<0x31>(ab1, cd1),
        ]
    }
}

// In the functions below the CPU has AVX2 and FMA: either a value exists, or the caller vouches for
// it.
impl Vector for Ymms {
    #[inline(always)]
    unsafe fn splat(x: f64) -> Self {
        // SAFETY: by the caller.
        Self([unsafe { _mm256_set1_pd(x) }; 2])
    }

    #[inline(always)]
    unsafe fn load(p: *const f64) -> Self {
        // SAFETY: by the caller.
        unsafe { Self([_mm256_loadu_pd(p), _mm256_loadu_pd(p.add(4))]) }
    }

    #[inline(always)]
    unsafe fn load_i32(p: *const i32) -> Self {
        // SAFETY: by the caller.
        unsafe {
            Self([
                _mm256_cvtepi32_pd(_mm_loadu_si128(p.cast())),
                _mm256_cvtepi32_pd(_mm_loadu_si128(p.add(4).cast())),
            ])
        }
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f64) {
        // SAFETY: by the caller.
        unsafe {
            _mm256_storeu_pd(p, self.0[0]);
            _mm256_storeu_pd(p.add(4), self.0[1]);
        }
    }

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(array!(i => unsafe { _mm256_add_pd(self.0[i], b.0[i]) }))
    }

    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(array!(i => unsafe { _mm256_sub_pd(self.0[i], b.0[i]) }))
    }

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(array!(i => unsafe { _mm256_mul_pd(self.0[i], b.0[i]) }))
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(array!(i => unsafe { _mm256_fmadd_pd(self.0[i], b.0[i], c.0[i]) }))
    }

    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(array!(i => unsafe { _mm256_fnmadd_pd(self.0[i], b.0[i], c.0[i]) }))
    }

    #[inline(always)]
    fn transpose(rows: [Self; 8]) -> [Self; 8] {
        // SAFETY: the rows are values.
        let [upper_left, lower_left, upper_right, lower_right] = unsafe {
            [
                transpose_4(array!(i => rows[i].0[0])),
                transpose_4(array!(i => rows[4 + i].0[0])),
                transpose_4(array!(i => rows[i].0[1])),
                transpose_4(array!(i => rows[4 + i].0[1])),
            ]
        };
        array!(j => if j < 4 {
            Self([upper_left[j], lower_left[j]])
        } else {
            Self([upper_right[j - 4], lower_right[j - 4]])
        })
    }

    // AVX2 has no conversion to 64-bit integers.
    #[inline(always)]
    unsafe fn add_fraction_64(self, p: *mut u64) {
        // SAFETY: by the caller.
        unsafe { self.numbers().add_fraction_64(p) }
    }

    #[inline(always)]
    unsafe fn add_fraction_32(self, p: *mut u32) {
        // SAFETY: by the caller.
        unsafe { self.numbers().add_fraction_32(p) }
    }
}
