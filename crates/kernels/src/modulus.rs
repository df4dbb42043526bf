//! One modulus: arithmetic of single words, and the constants the kernels need.

/// An odd modulus `2 < q < 2^60`: *narrow* below 2^50, else *wide*. It need not be prime: functions
/// that need a prime check that, as [`crate::NttTable::new`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus {
    q: u64,
    bits: u32,
    /// `floor(2^128 / q)`, for the reduction of any `u128`.
    ratio: u128,
    /// `floor(2^(2 bits + 3) / q)`, below `2^(bits + 4)`, for the reduction of products of two
    /// residues.
    mu: u64,
    /// `q^-1 mod 2^52`, for Montgomery products with the radix of the 52-bit multiplier. Narrow
    /// moduli only.
    inv52: u64,
}

/// Mask of the low 52 bits: the width of the IFMA multiplier, and so of the Montgomery constants.
pub(crate) const MASK52: u64 = (1 << 52) - 1;

impl Modulus {
    /// Moduli below `2^FAST_BITS` are narrow: 52-bit multipliers and doubles hold their residues.
    ///
    /// Times of the forward and the inverse transform at N = 2^16, in microseconds, modulo 49 bits
    /// and modulo 60 bits. AVX-512 IFMA: 125 and 114, 185 and 175. AVX2: 223 and 206, and for 60
    /// bits the times of scalar. Scalar: 1440 and 1590, 1100 and 900. Best of several runs of
    /// `examples/throughput`, one thread of a shared AMD EPYC.
    pub const FAST_BITS: u32 = 50;
    /// Every modulus is below `2^MAX_BITS`: 64-bit words hold `16 q`.
    pub const MAX_BITS: u32 = 60;

    /// The modulus `q`, or `None` unless it is odd and `2 < q < 2^60`.
    pub fn new(q: u64) -> Option<Self> {
        if q <= 2 || q.is_multiple_of(2) || q >> Self::MAX_BITS != 0 {
            return None;
        }
        let bits = 64 - q.leading_zeros();
        // Newton: an odd q is its own inverse modulo 8, and each step doubles the bits.
        let inverse = (0..5).fold(q, |x, _| {
            x.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(x)))
        });
        Some(Self {
            q,
            bits,
            ratio: u128::MAX / u128::from(q), // q is odd, so it does not divide 2^128
            mu: ((1u128 << (2 * bits + 3)) / u128::from(q)) as u64,
            inv52: inverse & MASK52,
        })
    }

    /// The modulus itself.
    #[inline]
    pub fn value(&self) -> u64 {
        self.q
    }

    /// Bits of `q`: `2^(bits - 1) < q < 2^bits`.
    #[inline]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns true if `q` has more than [`Modulus::FAST_BITS`] bits.
    #[inline]
    pub fn is_wide(&self) -> bool {
        self.bits > Self::FAST_BITS
    }

    /// `a + b mod q`, for `a` and `b` in `[0, q)`.
    #[inline]
    pub fn add(&self, a: u64, b: u64) -> u64 {
        debug_assert!(a < self.q && b < self.q);
        let sum = a + b;
        sum.min(sum.wrapping_sub(self.q)) // the difference wraps to a huge value when sum < q
    }

    /// `a - b mod q`, for `a` and `b` in `[0, q)`.
    #[inline]
    pub fn sub(&self, a: u64, b: u64) -> u64 {
        debug_assert!(a < self.q && b < self.q);
        let r = a.wrapping_sub(b);
        r.wrapping_add(self.q & ((r as i64 >> 63) as u64)) // adds q if r is negative, no branch
    }

    /// `-a mod q`, for `a` in `[0, q)`.
    #[inline]
    pub fn neg(&self, a: u64) -> u64 {
        self.sub(0, a)
    }

    /// `a * b mod q`, for `a` and `b` in `[0, q)`.
    ///
    /// # Source
    /// Barrett's reduction with the constants of Dhem (1998). With `mu = floor(2^(2b+3) / q)`, the
    /// quotient `((z >> (b-2)) * mu) >> (b+5)` is at most one too small for `z < 2^(2b)`.
    #[inline]
    pub fn mul(&self, a: u64, b: u64) -> u64 {
        debug_assert!(a < self.q && b < self.q);
        let z = u128::from(a) * u128::from(b);
        let top = (z >> (self.bits - 2)) as u64;
        let quotient = ((u128::from(top) * u128::from(self.mu)) >> (self.bits + 5)) as u64;
        let r = (z as u64).wrapping_sub(quotient.wrapping_mul(self.q));
        if r >= self.q { r - self.q } else { r }
    }

    /// `base^exp mod q`, for `base` in `[0, q)`. Time depends on `exp`.
    pub fn pow(&self, base: u64, exp: u64) -> u64 {
        let (mut result, mut square, mut rest) = (1, base, exp);
        while rest != 0 {
            if rest & 1 == 1 {
                result = self.mul(result, square);
            }
            square = self.mul(square, square);
            rest >>= 1;
        }
        result
    }

    /// `a^-1 mod q`, or `None` when `a` and `q` have a common factor. Time depends on `a`.
    pub fn inv(&self, a: u64) -> Option<u64> {
        // Extended Euclid. The cofactors stay below q in size, so i64 holds them.
        let (mut r0, mut r1) = (self.q, self.reduce(a));
        let (mut t0, mut t1) = (0i64, 1i64);
        while r1 != 0 {
            let quotient = r0 / r1;
            (r0, r1) = (r1, r0 - quotient * r1);
            (t0, t1) = (t1, t0 - quotient as i64 * t1);
        }
        (r0 == 1).then(|| self.from_i64(t0))
    }

    /// `a mod q`, for any `a`.
    #[inline]
    pub fn reduce(&self, a: u64) -> u64 {
        let quotient = ((u128::from(a) * (self.ratio >> 64)) >> 64) as u64;
        let r = a - quotient * self.q;
        if r >= self.q { r - self.q } else { r }
    }

    /// `a mod q`, for any `a`.
    #[inline]
    pub fn reduce_u128(&self, a: u128) -> u64 {
        // The quotient is at most one too small. The remainder needs only its low word.
        let quotient = mul_high(a, self.ratio) as u64;
        let r = (a as u64).wrapping_sub(quotient.wrapping_mul(self.q));
        if r >= self.q { r - self.q } else { r }
    }

    /// `a mod q`, for any `a`.
    #[inline]
    pub fn from_i64(&self, a: i64) -> u64 {
        let r = self.reduce(a.unsigned_abs());
        if a < 0 { self.neg(r) } else { r }
    }

    /// The representative of `a` in `(-q/2, q/2]`, for `a` in `[0, q)`.
    #[inline]
    pub fn center(&self, a: u64) -> i64 {
        debug_assert!(a < self.q);
        if a > self.q / 2 {
            a as i64 - self.q as i64
        } else {
            a as i64
        }
    }

    /// The Shoup constant `floor(w * 2^64 / q)` of a fixed factor `w` in `[0, q)`.
    pub(crate) fn shoup(&self, w: u64) -> u64 {
        debug_assert!(w < self.q);
        ((u128::from(w) << 64) / u128::from(self.q)) as u64
    }

    /// `x * w` modulo q in `[0, 2q)`, for any `x` and the [`Modulus::shoup`] constant of `w`.
    ///
    /// Before it is rounded down the quotient is too small by at most `x / 2^64`, so afterwards by
    /// at most one.
    #[inline]
    pub(crate) fn mul_shoup_lazy(&self, x: u64, w: u64, shoup: u64) -> u64 {
        let quotient = ((u128::from(x) * u128::from(shoup)) >> 64) as u64;
        let r = x.wrapping_mul(w);
        r.wrapping_sub(quotient.wrapping_mul(self.q))
    }

    /// Reduces `x` from `[0, 2kq)` to `[0, kq)`.
    #[inline]
    pub(crate) fn subtract_once(&self, x: u64, k: u64) -> u64 {
        x.min(x.wrapping_sub(k * self.q)) // the difference wraps to a huge value when x < kq
    }

    /// `q^-1 mod 2^52`.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn inv52(&self) -> u64 {
        self.inv52
    }

    /// `w * 2^52 mod q`, for `w` in `[0, q)`: the Montgomery form of a fixed factor. Narrow moduli
    /// only.
    pub(crate) fn montgomery(&self, w: u64) -> u64 {
        self.reduce_u128(u128::from(w) << 52)
    }

    /// `x * w mod q`, where `w_mont` is the [`Modulus::montgomery`] form of `w`, or that plus `q`.
    ///
    /// `x * w_mont` and `m * q` agree modulo 2^52, so the difference of their upper parts is the
    /// exact quotient by 2^52; it lies in `(-q, q)` if `x * w_mont < 2^52 q`.
    #[inline]
    pub(crate) fn mul_montgomery(&self, x: u64, w_mont: u64) -> u64 {
        debug_assert!(u128::from(x) * u128::from(w_mont) < u128::from(self.q) << 52);
        let z = u128::from(x) * u128::from(w_mont);
        let m = (z as u64).wrapping_mul(self.inv52) & MASK52;
        let high = (z >> 52) as u64;
        let low = ((u128::from(m) * u128::from(self.q)) >> 52) as u64;
        // Without a branch, since the sign is as good as random.
        let r = high.wrapping_sub(low);
        r.wrapping_add(self.q & ((r as i64 >> 63) as u64))
    }
}

/// Upper 128 bits of a 128 by 128 bit product.
#[inline]
fn mul_high(a: u128, b: u128) -> u128 {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let middle = a1 * b0 + ((a0 * b0) >> 64);
    let middle_low = a0 * b1 + (middle & LOW);
    a1 * b1 + (middle >> 64) + (middle_low >> 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_odd_words_between_2_and_2_to_60_are_moduli() {
        for bad in [0, 1, 2, 4, 1 << 49, (1 << 60) + 1, u64::MAX] {
            assert_eq!(Modulus::new(bad), None, "{bad}");
        }
        for (good, wide) in [
            (3, false),
            (65537, false),
            ((1 << 50) - 1, false),
            ((1 << 50) + 1, true),
            ((1 << 60) - 1, true),
        ] {
            let q = Modulus::new(good).unwrap();
            assert_eq!((q.value(), q.is_wide()), (good, wide));
        }
    }

    #[test]
    fn the_inverse_of_a_factor_of_the_modulus_does_not_exist() {
        let q = Modulus::new(15).unwrap();
        assert_eq!(q.inv(5), None);
        assert_eq!(q.inv(0), None);
        assert_eq!(q.inv(7), Some(13));
    }

    proptest! {
        // Any odd modulus: the bounds of Barrett's quotient must hold from 3 to 2^60.
        #[test]
        fn word_arithmetic_is_that_of_integers(
            raw in 1u64..1 << 59, shift in 0u32..58, x: u64, y: u64, wide: u128, signed: i64,
        ) {
            let q = (2 * (raw >> shift) + 1).max(3);
            let m = Modulus::new(q).unwrap();
            let (a, b) = (x % q, y % q);
            let wide_q = u128::from(q);
            prop_assert_eq!(u128::from(m.add(a, b)), (u128::from(a) + u128::from(b)) % wide_q);
            prop_assert_eq!(m.add(m.sub(a, b), b), a);
            prop_assert_eq!(m.add(m.neg(a), a), 0);
            prop_assert_eq!(u128::from(m.mul(a, b)), u128::from(a) * u128::from(b) % wide_q);
            prop_assert_eq!(m.mul(q - 1, q - 1), 1);
            prop_assert_eq!(m.reduce(x), x % q);
            prop_assert_eq!(u128::from(m.reduce_u128(wide)), wide % wide_q);
            prop_assert_eq!(u128::from(m.reduce_u128(u128::MAX)), u128::MAX % wide_q);
            prop_assert_eq!(i128::from(m.from_i64(signed)), i128::from(signed).rem_euclid(i128::from(q)));
            prop_assert_eq!(m.from_i64(m.center(a)), a);
            prop_assert!(2 * m.center(a) <= q as i64 && 2 * m.center(a) > -(q as i64));
            if !m.is_wide() {
                let x = x & MASK52;
                prop_assert_eq!(m.mul_montgomery(x, m.montgomery(b)), m.mul(m.reduce(x), b));
            }
            for x in [x, u64::MAX] {
                let lazy = m.mul_shoup_lazy(x, b, m.shoup(b));
                prop_assert_eq!(m.subtract_once(lazy, 1), m.mul(m.reduce(x), b));
            }
            if let Some(inverse) = m.inv(a) {
                prop_assert_eq!(m.mul(inverse, a), 1);
            }
        }
    }
}
