//! Eight doubles in two vectors of four: AVX2 or NEON.
#![cfg_attr(
    target_arch = "aarch64",
    expect(unused_unsafe, reason = "operations of NEON are safe")
)]

use super::vector::Vector;
use crate::array::array;
use crate::lanes::*;

/// Two vectors.
#[derive(Clone, Copy)]
pub(super) struct Fours([F; 2]);

impl Fours {
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
/// The CPU has the operations of `lanes`.
#[inline(always)]
unsafe fn transpose_4([a, b, c, d]: [F; 4]) -> [F; 4] {
    // SAFETY: by the caller.
    unsafe {
        let (ab0, ab1) = (unpack_low(a, b), unpack_high(a, b));
        let (cd0, cd1) = (unpack_low(c, d), unpack_high(c, d));
        [
            low_halves(ab0, cd0),
            low_halves(ab1, cd1),
            high_halves(ab0, cd0),
            high_halves(ab1, cd1),
        ]
    }
}

// In the functions below the CPU has the operations of `lanes`: either a value exists, or the
// caller vouches for it.
impl Vector for Fours {
    #[inline(always)]
    unsafe fn splat(x: f64) -> Self {
        // SAFETY: by the caller.
        Self([unsafe { splat(x) }; 2])
    }

    #[inline(always)]
    unsafe fn load(p: *const f64) -> Self {
        // SAFETY: by the caller.
        unsafe { Self([load_floats(p), load_floats(p.add(4))]) }
    }

    #[inline(always)]
    unsafe fn load_i32(p: *const i32) -> Self {
        // SAFETY: by the caller.
        unsafe { Self([floats_of_i32(p), floats_of_i32(p.add(4))]) }
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f64) {
        // SAFETY: by the caller.
        unsafe {
            store_floats(p, self.0[0]);
            store_floats(p.add(4), self.0[1]);
        }
    }

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(array!(i => unsafe { add(self.0[i], b.0[i]) }))
    }

    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(array!(i => unsafe { sub(self.0[i], b.0[i]) }))
    }

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(array!(i => unsafe { mul(self.0[i], b.0[i]) }))
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(array!(i => unsafe { fmadd(self.0[i], b.0[i], c.0[i]) }))
    }

    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: `self` is a value.
        Self(array!(i => unsafe { fnmadd(self.0[i], b.0[i], c.0[i]) }))
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
