//! Code that both directions of the transform share: the classes of moduli, constants and products.

use super::vector::*;
use crate::NttTable;
use crate::modulus::MASK52;

/// Classes of moduli. The range left below 2^52 decides where `x` is reduced.
///
/// Wide moduli: 64-bit words, `16q <= 2^64`. Every `x` is reduced below `4q` in every stage.
pub(super) const WIDE: u8 = 0;
/// 50 bits: `4q <= 2^52`. Every `x` is reduced below `2q` in every stage.
pub(super) const TIGHT: u8 = 1;
/// 49 bits: `8q <= 2^52`. `x` is reduced once per three stages, and has no room to be lifted.
pub(super) const MIDDLE: u8 = 2;
/// Up to 48 bits: `16q <= 2^52`. `x` is reduced and lifted once per three stages.
pub(super) const LIFTED: u8 = 3;
/// Up to 45 bits: `128q <= 2^52`, and 17 stages grow to `69q`. `x` is lifted at the start and
/// reduced at the end.
pub(super) const FREE: u8 = 4;
/// Up to 31 bits: as [`FREE`], but the last step has words of 32 bits, whose minimum runs on twice
/// as many units of a Zen 4.
pub(super) const SHORT: u8 = 5;

/// Words of a block that stays in the L1 cache (32 KiB of 48).
pub(super) const L1_WORDS: usize = 4096;

/// Constants of one transform in one direction.
pub(super) struct Context<'a> {
    pub(super) c: Consts,
    pub(super) roots: &'a [u64],
    /// Constants of Shoup, in the class [`WIDE`].
    pub(super) shoup: &'a [u64],
    /// `-q^-1 mod 2^52`.
    minus_inv52: V,
    /// `2^52 - q`.
    pub(super) minus_q: V,
    /// `2^52 - 1`.
    pub(super) mask: V,
    one: V,
    pub(super) q4: V,
    pub(super) q6: V,
    /// `2q` for each stage.
    pub(super) all_stages: V,
}

impl<'a> Context<'a> {
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn new(table: &NttTable, roots: &'a [u64], shoup: &'a [u64]) -> Self {
        let q = table.modulus();
        let stages = u64::from(table.n().trailing_zeros());
        Self {
            c: Consts::new(q),
            roots,
            shoup,
            minus_inv52: splat(MASK52 + 1 - q.inv52()),
            minus_q: splat((MASK52 + 1).wrapping_sub(q.value())), // of narrow moduli only
            mask: splat(MASK52),
            one: splat(1),
            q4: splat(4 * q.value()),
            q6: splat(6 * q.value()),
            all_stages: splat((2 * stages).wrapping_mul(q.value())), // likewise
        }
    }

    /// The factor with Montgomery form `w 2^52 mod q`, for narrow moduli.
    ///
    /// From [`MIDDLE`] on, it is `w` itself with its Shoup constant. With the Montgomery form `v`,
    /// the word `m = -v / q mod 2^52` makes `v + m q` a multiple of 2^52, namely `2^52 w`. So
    /// `m = floor(2^52 w / q)` is that constant, and `w = floor(m q / 2^52) + 1`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn factor<const CLASS: u8>(&self, v: V) -> Factor {
        if CLASS < MIDDLE {
            return self.c.factor(v);
        }
        let w_inv = low(zero(), v, self.minus_inv52);
        let w = high(self.one, w_inv, self.c.q);
        Factor { w, w_inv }
    }

    /// `acc + x * f` modulo 2^52, with a product in `[0, 2q)`, for `x` below 2^52. The bits above
    /// the 52nd are of no meaning. From [`MIDDLE`] on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn mul_add(&self, acc: V, x: V, f: Factor) -> V {
        let quotient = high(zero(), x, f.w_inv);
        low(low(acc, x, f.w), quotient, self.minus_q)
    }

    /// `x * f` modulo q. [`WIDE`]: below 4q, for any `x`. [`TIGHT`]: in `(0, 2q)`, for `x` below
    /// 2^52. Then as [`Context::mul_add`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn mul<const CLASS: u8>(&self, x: V, f: Factor) -> V {
        match CLASS {
            WIDE => self.c.mul_wide(x, f),
            TIGHT => self.c.mul_lazy(x, f),
            _ => self.mul_add(zero(), x, f),
        }
    }

    /// `lift` plus the same residue as `x` below 2q, modulo 2^52. From [`MIDDLE`] on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn reduce_and_lift(&self, x: V, lift: V) -> V {
        let quotient = high(zero(), x, self.c.ratio);
        low(add(x, lift), quotient, self.minus_q)
    }

    /// As [`Context::reduce_and_lift`], without a lift.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn reduce(&self, x: V) -> V {
        low(x, high(zero(), x, self.c.ratio), self.minus_q)
    }
}
