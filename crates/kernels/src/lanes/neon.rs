//! NEON: a vector in two registers. It is there on all AArch64 CPUs, so no attribute asks for it.

use std::arch::aarch64::*;

/// Four floats, the first two and the last two.
#[derive(Clone, Copy)]
pub(crate) struct F(float64x2_t, float64x2_t);

/// Four words.
#[derive(Clone, Copy)]
pub(crate) struct I(uint64x2_t, uint64x2_t);

pub(crate) const NAME: &str = "neon";

/// The halves of vectors are apart already, and registers would not suffice for two groups: 5.5 and
/// 2.1 cycles a butterfly in place of 4.2 and 1.9 on Neoverse N1 and V1, as `llvm-mca` predicts.
/// For `apple-m1` it predicts 2.7 in place of 4.3, by the long latencies of an older core.
pub(crate) const GROUPS: usize = 1;

pub(crate) fn available() -> bool {
    true
}

/// Defines operations on the halves of vectors.
macro_rules! by_halves {
    ($($name:ident ( $($arg:ident : $type:ty),* ) -> $result:ident = $operation:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name($($arg: $type),*) -> $result {
            // SAFETY: AArch64 has NEON.
            unsafe {
                let low = { $(let $arg = $arg.0;)* $operation };
                let high = { $(let $arg = $arg.1;)* $operation };
                $result(low, high)
            }
        }
    )*};
}

by_halves! {
    add(x: F, y: F) -> F = vaddq_f64(x, y);
    sub(x: F, y: F) -> F = vsubq_f64(x, y);
    mul(x: F, y: F) -> F = vmulq_f64(x, y);
    fmadd(x: F, y: F, z: F) -> F = vfmaq_f64(z, x, y);
    // There is no `x y - z`.
    fmsub(x: F, y: F, z: F) -> F = vfmaq_f64(vnegq_f64(z), x, y);
    fnmadd(x: F, y: F, z: F) -> F = vfmsq_f64(z, x, y);
    round(x: F) -> F = vrndnq_f64(x);
    begin_rounding(x: F, y: F, _round: F) -> F = vmulq_f64(x, y);
    end_rounding(x: F, _round: F) -> F = vrndnq_f64(x);
    // Exact in this order too, and -0 only if `sum` is.
    add_rest(sum: F, x: F, y: F, z: F) -> F = vsubq_f64(sum, vfmsq_f64(z, x, y));
    add_words(x: I, y: I) -> I = vaddq_u64(x, y);
    sub_words(x: I, y: I) -> I = vsubq_u64(x, y);
    and(x: I, y: I) -> I = vandq_u64(x, y);
    or(x: I, y: I) -> I = vorrq_u64(x, y);
    xor(x: I, y: I) -> I = veorq_u64(x, y);
    to_bits(x: F) -> I = vreinterpretq_u64_f64(x);
    from_bits(x: I) -> F = vreinterpretq_f64_u64(x);
    // A selection between `x` and a sum with it would become five instructions.
    add_to_negative(x: F, y: F) -> F = {
        let negative = vcltzq_s64(vreinterpretq_s64_f64(x));
        vaddq_f64(x, vreinterpretq_f64_u64(vandq_u64(negative, vreinterpretq_u64_f64(y))))
    };
    add_words_to_negative(x: I, y: I) -> I = {
        vaddq_u64(x, vandq_u64(vcltzq_s64(vreinterpretq_s64_u64(x)), y))
    };
    // A difference that is negative is larger than `x`, as a word.
    subtract_once(x: I, y: I) -> I = {
        let difference = vsubq_u64(x, y);
        vbslq_u64(vcgtq_u64(x, difference), difference, x)
    };
}

#[inline(always)]
pub(crate) fn zero() -> F {
    splat(0.0)
}

#[inline(always)]
pub(crate) fn splat(x: f64) -> F {
    // SAFETY: AArch64 has NEON.
    let half = unsafe { vdupq_n_f64(x) };
    F(half, half)
}

#[inline(always)]
pub(crate) fn splat_word(x: i64) -> I {
    // SAFETY: AArch64 has NEON.
    let half = unsafe { vdupq_n_u64(x as u64) };
    I(half, half)
}

#[inline(always)]
pub(crate) fn shift_right(x: I, bits: u32) -> I {
    // SAFETY: AArch64 has NEON. It shifts to the right by negative numbers.
    unsafe {
        let by = vdupq_n_s64(-i64::from(bits));
        I(vshlq_u64(x.0, by), vshlq_u64(x.1, by))
    }
}

by_halves! {
    unpack_low(x: F, y: F) -> F = vzip1q_f64(x, y);
    unpack_high(x: F, y: F) -> F = vzip2q_f64(x, y);
}

#[inline(always)]
pub(crate) fn low_halves(x: F, y: F) -> F {
    F(x.0, y.0)
}

#[inline(always)]
pub(crate) fn high_halves(x: F, y: F) -> F {
    F(x.1, y.1)
}

#[inline(always)]
pub(crate) fn swap_middle(x: F) -> F {
    // SAFETY: AArch64 has NEON.
    unsafe { F(vzip1q_f64(x.0, x.1), vzip2q_f64(x.0, x.1)) }
}

/// # Safety
/// 32 bytes at `p` are readable.
#[inline(always)]
pub(crate) unsafe fn load(p: *const u64) -> I {
    // SAFETY: the caller's promise, and AArch64 has NEON; ld1 needs no alignment.
    unsafe { I(vld1q_u64(p), vld1q_u64(p.add(2))) }
}

/// For a look-up of two words of `width` bytes. Bytes of a place beyond the last are zero.
#[inline(always)]
pub(crate) fn places(width: usize) -> I {
    let mut from = [0xffu8; 16];
    for word in 0..2 {
        for byte in 0..width {
            from[8 * word + byte] = (word * width + byte) as u8;
        }
    }
    // SAFETY: AArch64 has NEON, and 16 bytes are one vector.
    let half = unsafe { vreinterpretq_u64_u8(vld1q_u8(from.as_ptr())) };
    I(half, half)
}

/// # Safety
/// 16 bytes at `p` and at `p + second` are readable.
#[inline(always)]
pub(crate) unsafe fn unpack_words(p: *const u8, second: usize, places: I) -> I {
    // SAFETY: the caller's promise, and AArch64 has NEON; ld1 needs no alignment.
    let half = |p: *const u8, places: uint64x2_t| unsafe {
        vreinterpretq_u64_u8(vqtbl1q_u8(vld1q_u8(p), vreinterpretq_u8_u64(places)))
    };
    // SAFETY: as above.
    I(half(p, places.0), half(unsafe { p.add(second) }, places.1))
}

/// # Safety
/// 32 bytes at `p` are writable.
#[inline(always)]
pub(crate) unsafe fn store(p: *mut u64, x: I) {
    // SAFETY: as for `load`.
    unsafe {
        vst1q_u64(p, x.0);
        vst1q_u64(p.add(2), x.1);
    }
}

/// # Safety
/// 32 bytes at `p` are readable.
#[inline(always)]
pub(crate) unsafe fn load_floats(p: *const f64) -> F {
    // SAFETY: as for `load`.
    unsafe { F(vld1q_f64(p), vld1q_f64(p.add(2))) }
}

/// # Safety
/// 32 bytes at `p` are writable.
#[inline(always)]
pub(crate) unsafe fn store_floats(p: *mut f64, x: F) {
    // SAFETY: as for `load`.
    unsafe {
        vst1q_f64(p, x.0);
        vst1q_f64(p.add(2), x.1);
    }
}

/// # Safety
/// 16 bytes at `p` are readable.
#[inline(always)]
pub(crate) unsafe fn floats_of_i32(p: *const i32) -> F {
    // SAFETY: as for `load`.
    unsafe {
        let x = vld1q_s32(p);
        let (low, high) = (vmovl_s32(vget_low_s32(x)), vmovl_high_s32(x));
        F(vcvtq_f64_s64(low), vcvtq_f64_s64(high))
    }
}

/// # Safety
/// 32 bytes at `p` are writable.
#[inline(always)]
pub(crate) unsafe fn stream(p: *mut u64, x: I) {
    // SAFETY: the caller's promise. Rust has no store past the caches for this CPU.
    unsafe { store(p, x) }
}

#[inline(always)]
pub(crate) fn end_stream() {}
