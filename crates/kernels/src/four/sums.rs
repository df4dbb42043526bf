//! Exact sums of products beyond 53 bits, in two `f64`.
//!
//! The *high* sum begins at `1.5 * 2^(52 + s)`, where doubles are the multiples of `2^s`. Hence
//! `high + x y` is rounded to such a multiple. Both the growth of the high sum and the rest of
//! `x y` are known exactly, and the rest goes to the *low* sum. A term of any size costs four
//! operations:
//!
//! ```text
//! next = fma(x, y, high)      rounded to a multiple of 2^s
//! part = next - high          exact: both are such multiples, of one binade
//! low += fma(x, y, -part)     exact: an integer of at most 2^(s - 1)
//! ```
//!
//! With `2^e` terms of at most `2^bits`, high sums stay in their binade if `bits + e <= 51 + s`,
//! and low sums are exact if `e + s - 1 <= 53`.

use super::float::*;
use crate::Modulus;
use crate::lanes::*;

/// Bits of the smallest modulus of these sums. Quotients by smaller moduli would not fit a double.
pub(super) const MIN_BITS: u32 = 12;

/// A sum of products: the high sum and the low sum.
pub(super) type Sum = [F; 2];

/// The number of terms that one sum takes, and the exponent `s`. `terms` terms are wanted, each at
/// most `2^bits`, with `bits <= 100`.
pub(super) fn limits(terms: usize, bits: u32) -> (usize, u32) {
    let wanted = terms.next_power_of_two().ilog2();
    let log_terms = ((105 - bits) / 2).min(wanted);
    (1 << log_terms, (bits + log_terms).saturating_sub(51))
}

/// Constants of sums modulo one modulus.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    pub(super) c: Consts,
    /// `1.5 * 2^(52 + s)`.
    start: F,
    /// Let `r` be `2^s` modulo q, nearest to zero: `r / 2^s`, and that divided by q.
    shift: F,
    shift_over_q: F,
    /// True if low sums are so large that they are reduced before anything is added to them.
    large: bool,
}

impl Sums {
    /// Constants for sums of `terms` terms with the exponent `s`, both as [`limits`] gives them.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    pub(super) fn new(q: &Modulus, (terms, s): (usize, u32)) -> Self {
        let power = (1u64 << s) as f64;
        let shift = q.center(q.reduce_u128(1 << s)) as f64 / power;
        let low = terms as f64 * power / 2.0;
        Self {
            c: Consts::new(q),
            start: splat(ROUND * power),
            shift: splat(shift),
            shift_over_q: splat(shift / q.value() as f64),
            large: low + 2.0 * q.value() as f64 > (1u64 << 51) as f64,
        }
    }

    /// The empty sum.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    pub(super) fn zero(&self) -> Sum {
        [self.start, zero()]
    }

    /// `sum + x * y`.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    pub(super) fn add(&self, [high, low]: Sum, x: F, y: F) -> Sum {
        let next = fmadd(x, y, high);
        let part = sub(next, high);
        [next, add_rest(low, x, y, part)]
    }

    /// `total + sum` modulo q, in size at most a little over q/2, for `|total| < q`.
    ///
    /// The high sum is a multiple of `2^s` below `2^(51 + s)`, so its product with the shift is
    /// below `7/8 q`.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
    pub(super) fn settle(&self, [high, low]: Sum, total: F) -> F {
        let high = sub(high, self.start);
        let high = self.c.mul_by(high, self.shift, self.shift_over_q);
        let low = if self.large { self.c.reduce(low) } else { low };
        let low = add(low, total);
        self.c.reduce(add(high, low))
    }
}
