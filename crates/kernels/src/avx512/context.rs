//! Code that both directions of the transform share: the classes of moduli, and products with
//! roots.

use super::vector::*;
use crate::NttTable;
use crate::modulus::MASK52;

/// Classes of moduli. The range left below 2^52 decides where `x` is reduced.
///
/// Wide moduli: 64-bit words, `16q <= 2^64`. Every `x` is reduced below `4q` in every stage.
pub(super) const WIDE: u8 = 0;
/// 50 bits: `4q <= 2^52`. Every `x` is reduced below `2q` in every stage.
pub(super) const TIGHT: u8 = 1;
/// 49 bits: `8q <= 2^52`. `x` is reduced once per three stages; `2x + 2q` does not fit in the
/// third.
pub(super) const MIDDLE: u8 = 2;
/// Up to 48 bits: `8q < 2^51`. Roots are odd, `x` is reduced once per three stages.
pub(super) const ODD: u8 = 3;
/// Up to 45 bits: `64q < 2^51`, and 17 stages grow to `36q`. `x` is reduced only at the end.
pub(super) const FREE: u8 = 4;

/// Words of a block that stays in the L1 cache (32 KiB of 48).
pub(super) const L1_WORDS: usize = 4096;

/// Constants of one transform in one direction.
pub(super) struct Context<'a> {
    pub(super) c: Consts,
    pub(super) roots: &'a [u64],
    /// Constants of Shoup, in the class [`WIDE`].
    shoup: &'a [u64],
    /// `-q^-1 mod 2^52`.
    minus_inv52: V,
    /// `2q - 2`.
    pub(super) double: V,
    one: V,
    /// `4q`.
    pub(super) q4: V,
}

impl<'a> Context<'a> {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn new(table: &NttTable, roots: &'a [u64], shoup: &'a [u64]) -> Self {
        let q = table.modulus();
        Self {
            c: Consts::new(q),
            roots,
            shoup,
            minus_inv52: splat(MASK52 + 1 - q.inv52()),
            double: splat(2 * q.value() - 2),
            one: splat(1),
            q4: splat(4 * q.value()),
        }
    }

    /// The factor with Montgomery form `w`, for narrow moduli. From [`ODD`] on, `w` is odd and the
    /// second constant is `-w / q`, so that the halves of the product are added, not subtracted.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn factor<const CLASS: u8>(&self, w: V) -> Factor {
        if CLASS < ODD {
            return self.c.factor(w);
        }
        let w_inv = low(zero(), w, self.minus_inv52);
        Factor { w, w_inv }
    }

    /// The factor of node `k` of the transform.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn root<const CLASS: u8>(&self, k: usize) -> Factor {
        if CLASS == WIDE {
            return Factor::shoup(self.roots[k], self.shoup[k]);
        }
        self.factor::<CLASS>(splat(self.roots[k]))
    }

    /// The factors of the eight nodes `k` to `k + 7`, with the lanes permuted by `arrange`.
    ///
    /// # Safety
    /// The nodes up to `k + 7` exist.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) unsafe fn lanes<const CLASS: u8>(
        &self,
        k: usize,
        arrange: impl Fn(V) -> V,
    ) -> Factor {
        // SAFETY: by the promise of the caller; there is a constant of Shoup per root of a wide
        // modulus.
        unsafe {
            let w = arrange(load(self.roots.as_ptr().add(k)));
            if CLASS == WIDE {
                let w_inv = arrange(load(self.shoup.as_ptr().add(k)));
                return Factor { w, w_inv };
            }
            self.factor::<CLASS>(w)
        }
    }

    /// `x * f` modulo q. Narrow moduli: the result is in `(0, 2q)`, for `x` below 2^52, and from
    /// [`ODD`] on for `x` in `1..=2^51`. In [`WIDE`]: the result is below 4q, for any `x`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn mul<const CLASS: u8>(&self, x: V, f: Factor) -> V {
        if CLASS == WIDE {
            return self.c.mul_wide(x, f);
        }
        if CLASS < ODD {
            return self.c.mul_lazy(x, f);
        }
        let m = low(zero(), x, f.w_inv);
        high(high(self.one, x, f.w), m, self.c.q)
    }
}
