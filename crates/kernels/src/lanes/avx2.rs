//! AVX2 with FMA: a vector in a register. Most operations are instructions.

use std::arch::x86_64::*;

pub(crate) use std::arch::x86_64::{
    __m256d as F, __m256i as I, _mm256_add_epi64 as add_words, _mm256_add_pd as add,
    _mm256_and_si256 as and, _mm256_castpd_si256 as to_bits, _mm256_castsi256_pd as from_bits,
    _mm256_fmadd_pd as begin_rounding, _mm256_fmadd_pd as fmadd, _mm256_fmsub_pd as fmsub,
    _mm256_fnmadd_pd as fnmadd, _mm256_loadu_pd as load_floats, _mm256_mul_pd as mul,
    _mm256_or_si256 as or, _mm256_set1_epi64x as splat_word, _mm256_set1_pd as splat,
    _mm256_setzero_pd as zero, _mm256_storeu_pd as store_floats, _mm256_sub_epi64 as sub_words,
    _mm256_sub_pd as end_rounding, _mm256_sub_pd as sub, _mm256_unpackhi_pd as unpack_high,
    _mm256_unpacklo_pd as unpack_low, _mm256_xor_si256 as xor,
};

pub(crate) const NAME: &str = "avx2";
pub(crate) const GROUPS: usize = 2;

pub(crate) fn available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) fn round(x: F) -> F {
    _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) fn add_rest(sum: F, x: F, y: F, z: F) -> F {
    _mm256_add_pd(sum, _mm256_fmsub_pd(x, y, z))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) fn add_to_negative(x: F, y: F) -> F {
    _mm256_blendv_pd(x, _mm256_add_pd(x, y), x)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) fn add_words_to_negative(x: I, y: I) -> I {
    let (x, sum) = (from_bits(x), from_bits(_mm256_add_epi64(x, y)));
    to_bits(_mm256_blendv_pd(x, sum, x))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) fn subtract_once(x: I, y: I) -> I {
    let difference = from_bits(_mm256_sub_epi64(x, y));
    to_bits(_mm256_blendv_pd(difference, from_bits(x), difference))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) fn shift_right(x: I, bits: u32) -> I {
    _mm256_srl_epi64(x, _mm_cvtsi32_si128(bits as i32))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) fn low_halves(x: F, y: F) -> F {
    _mm256_permute2f128_pd::<0x20>(x, y)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) fn high_halves(x: F, y: F) -> F {
    _mm256_permute2f128_pd::<0x31>(x, y)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) fn swap_middle(x: F) -> F {
    _mm256_permute4x64_pd::<0b11_01_10_00>(x)
}

/// # Safety
/// 32 bytes at `p` are readable.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) unsafe fn load(p: *const u64) -> I {
    // SAFETY: the caller's promise; loadu needs no alignment.
    unsafe { _mm256_loadu_si256(p.cast()) }
}

/// For a shuffle of two words of `width` bytes in each half. No byte goes to where the sign bit is.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) fn places(width: usize) -> I {
    let mut from = [0x80u8; 32];
    for word in 0..4 {
        for byte in 0..width {
            from[8 * word + byte] = (word % 2 * width + byte) as u8;
        }
    }
    // SAFETY: 32 bytes are one vector.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

/// # Safety
/// 16 bytes at `p` and at `p + second` are readable.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) unsafe fn unpack_words(p: *const u8, second: usize, places: I) -> I {
    // SAFETY: the caller's promise; loadu needs no alignment.
    let (low, high) = unsafe {
        (
            _mm_loadu_si128(p.cast()),
            _mm_loadu_si128(p.add(second).cast()),
        )
    };
    _mm256_shuffle_epi8(_mm256_set_m128i(high, low), places)
}

/// # Safety
/// 32 bytes at `p` are writable.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) unsafe fn store(p: *mut u64, x: I) {
    // SAFETY: the caller's promise; storeu needs no alignment.
    unsafe { _mm256_storeu_si256(p.cast(), x) }
}

/// # Safety
/// 16 bytes at `p` are readable.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) unsafe fn floats_of_i32(p: *const i32) -> F {
    // SAFETY: the caller's promise; loadu needs no alignment.
    _mm256_cvtepi32_pd(unsafe { _mm_loadu_si128(p.cast()) })
}

/// # Safety
/// 32 bytes at `p`, a multiple of 32, are writable.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(crate) unsafe fn stream(p: *mut u64, x: I) {
    // SAFETY: the caller's promise.
    unsafe { _mm256_stream_si256(p.cast(), x) }
}

#[inline]
#[target_feature(enable = "sse")]
#[allow(unused_unsafe, reason = "unsafe in Rust 1.89, safe in later ones")]
pub(crate) fn end_stream() {
    // SAFETY: a fence reads and writes nothing.
    unsafe { _mm_sfence() };
}
