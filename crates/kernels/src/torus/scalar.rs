//! Eight doubles one by one: the reference, on any CPU.

use super::vector::{TWO_32, TWO_64, Vector};

impl Vector for [f64; 8] {
    #[inline(always)]
    unsafe fn splat(x: f64) -> Self {
        [x; 8]
    }

    #[inline(always)]
    unsafe fn load(p: *const f64) -> Self {
        // SAFETY: by the caller.
        unsafe { p.cast::<Self>().read() }
    }

    #[inline(always)]
    unsafe fn load_i32(p: *const i32) -> Self {
        // SAFETY: by the caller.
        unsafe { p.cast::<[i32; 8]>().read() }.map(f64::from)
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f64) {
        // SAFETY: by the caller.
        unsafe { p.cast::<Self>().write(self) }
    }

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        std::array::from_fn(|i| self[i] + b[i])
    }

    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        std::array::from_fn(|i| self[i] - b[i])
    }

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        std::array::from_fn(|i| self[i] * b[i])
    }

    // Rounded twice: a fused operation is a function call on a CPU without it.
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        std::array::from_fn(|i| self[i] * b[i] + c[i])
    }

    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        std::array::from_fn(|i| c[i] - self[i] * b[i])
    }

    #[inline(always)]
    fn transpose(rows: [Self; 8]) -> [Self; 8] {
        std::array::from_fn(|i| rows.map(|row| row[i]))
    }

    #[inline(always)]
    unsafe fn add_fraction_64(self, p: *mut u64) {
        for (i, x) in self.into_iter().enumerate() {
            let fraction = (x - x.round_ties_even()) * TWO_64;
            // SAFETY: by the caller.
            unsafe {
                *p.add(i) = (*p.add(i)).wrapping_add(fraction.round_ties_even() as i64 as u64)
            };
        }
    }

    #[inline(always)]
    unsafe fn add_fraction_32(self, p: *mut u32) {
        for (i, x) in self.into_iter().enumerate() {
            let fraction = (x - x.round_ties_even()) * TWO_32;
            // SAFETY: by the caller.
            unsafe {
                *p.add(i) = (*p.add(i)).wrapping_add(fraction.round_ties_even() as i64 as u32)
            };
        }
    }
}
