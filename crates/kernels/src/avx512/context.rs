//! Code that both directions of the transform share: the classes of moduli, and products with
//! roots.

use std::arch::x86_64::*;

use super::vector::*;
use crate::NttTable;
use crate::array::array;
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

/// Up to 31 bits: as [`FREE`].
pub(super) const NARROW: u8 = 5;

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
    /// `2^52 - q`.
    pub(super) minus_q: V,
    /// `2^52 - 1`.
    pub(super) mask: V,
    one: V,
    pub(super) q4: V,
    pub(super) q6: V,
    /// `2q` for each stage, or `6q` in the class [`ODD`].
    pub(super) lift: V,
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
            minus_q: splat(MASK52 + 1 - q.value()),
            mask: splat(MASK52),
            one: splat(1),
            q4: splat(4 * q.value()),
            q6: splat(6 * q.value()),
            lift: splat(
                2 * q.value()
                    * if q.bits() > 45 {
                        3
                    } else {
                        u64::from(table.n().trailing_zeros())
                    },
            ),
        }
    }

    /// The factor with Montgomery form `w`, for narrow moduli.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn factor<const CLASS: u8>(&self, w: V) -> Factor {
        if CLASS < ODD {
            return self.c.factor(w);
        }
        let w_inv = low(zero(), w, self.minus_inv52);
        let w = high(self.one, w_inv, self.c.q);
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

    /// The factors of three stages: of `node`, of its two children, and of their four.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn tree<const CLASS: u8>(&self, node: usize) -> [Factor; 7] {
        let nodes = [1, 2, 2, 4, 4, 4, 4];
        let offsets = [0, 0, 1, 0, 1, 2, 3];
        array!(j => self.root::<CLASS>(nodes[j] * node + offsets[j]))
    }

    /// The factors of the eight nodes `k` to `k + 7`.
    ///
    /// # Safety
    /// The nodes up to `k + 7` exist.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) unsafe fn eight<const CLASS: u8>(&self, k: usize) -> Factor {
        // SAFETY: by the promise of the caller; there is a constant of Shoup per root of a wide
        // modulus.
        unsafe {
            let w = load(self.roots.as_ptr().add(k));
            if CLASS == WIDE {
                let w_inv = load(self.shoup.as_ptr().add(k));
                return Factor { w, w_inv };
            }
            self.factor::<CLASS>(w)
        }
    }

    /// # Safety
    /// The nodes up to `k + 7` exist.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) unsafe fn arranged<const CLASS: u8>(&self, k: usize, index: V) -> Factor {
        unsafe {
            let w = _mm512_permutexvar_epi64(index, load(self.roots.as_ptr().add(k)));
            if CLASS == WIDE {
                let w_inv = _mm512_permutexvar_epi64(index, load(self.shoup.as_ptr().add(k)));
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
        let quotient = high(zero(), x, f.w_inv);
        low(low(zero(), x, f.w), quotient, self.minus_q)
    }
}

/// The factors of three stages of eight consecutive nodes.
pub(super) struct Trees {
    /// Of the nodes, of their children, and of those of these, in order.
    w: [[u64; 8]; 7],
    w_inv: [[u64; 8]; 7],
}

impl Trees {
    /// Those of node `j` of the eight.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn tree(&self, j: usize) -> [Factor; 7] {
        let (w, w_inv) = (self.w.as_flattened(), self.w_inv.as_flattened());
        let at = [
            j,
            8 + 2 * j,
            9 + 2 * j,
            24 + 4 * j,
            25 + 4 * j,
            26 + 4 * j,
            27 + 4 * j,
        ];
        array!(i => Factor::shoup(w[at[i]], w_inv[at[i]]))
    }
}

impl Context<'_> {
    /// The factors of three stages of the nodes `k` to `k + 7`.
    ///
    /// # Safety
    /// The nodes up to `4k + 31` exist.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) unsafe fn trees<const CLASS: u8>(&self, k: usize) -> Trees {
        let mut trees = Trees {
            w: [[0; 8]; 7],
            w_inv: [[0; 8]; 7],
        };
        let at = [
            k,
            2 * k,
            2 * k + 8,
            4 * k,
            4 * k + 8,
            4 * k + 16,
            4 * k + 24,
        ];
        for (i, at) in at.into_iter().enumerate() {
            // SAFETY: by the promise of the caller; each row has eight words.
            unsafe {
                let f = self.eight::<CLASS>(at);
                store(trees.w[i].as_mut_ptr(), f.w);
                store(trees.w_inv[i].as_mut_ptr(), f.w_inv);
            }
        }
        trees
    }

    /// The factors of the nodes `k` to `k + 3`, two lanes each.
    ///
    /// # Safety
    /// The nodes up to `k + 7` exist.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) unsafe fn four<const CLASS: u8>(&self, k: usize) -> Factor {
        // SAFETY: by the promise of the caller; there is a constant of Shoup per root of a wide
        // modulus.
        unsafe {
            let twice = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);
            let w = _mm512_permutexvar_epi64(twice, load(self.roots.as_ptr().add(k)));
            if CLASS == WIDE {
                let w_inv = _mm512_permutexvar_epi64(twice, load(self.shoup.as_ptr().add(k)));
                return Factor { w, w_inv };
            }
            self.factor::<CLASS>(w)
        }
    }

    /// The factors of the nodes `k` to `k + 15`, two of four in each part.
    ///
    /// # Safety
    /// The nodes up to `k + 15` exist.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) unsafe fn sixteen<const CLASS: u8>(&self, k: usize) -> [Factor; 2] {
        // SAFETY: by the promise of the caller; there is a constant of Shoup per root of a wide
        // modulus.
        unsafe {
            let p = self.roots.as_ptr().add(k);
            let (a, b) = (load(p), load(p.add(8)));
            let w = [
                _mm512_shuffle_i64x2::<0x88>(a, b),
                _mm512_shuffle_i64x2::<0xdd>(a, b),
            ];
            if CLASS == WIDE {
                let p = self.shoup.as_ptr().add(k);
                let (a, b) = (load(p), load(p.add(8)));
                return [
                    Factor {
                        w: w[0],
                        w_inv: _mm512_shuffle_i64x2::<0x88>(a, b),
                    },
                    Factor {
                        w: w[1],
                        w_inv: _mm512_shuffle_i64x2::<0xdd>(a, b),
                    },
                ];
            }
            [self.factor::<CLASS>(w[0]), self.factor::<CLASS>(w[1])]
        }
    }
}

impl Factor {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn permuted(self, index: V) -> Self {
        Factor {
            w: _mm512_permutexvar_epi64(index, self.w),
            w_inv: _mm512_permutexvar_epi64(index, self.w_inv),
        }
    }

    /// Two of the factors at a time, in turn.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn alternating(self) -> [Self; 4] {
        [
            Factor {
                w: _mm512_shuffle_i64x2::<0x00>(self.w, self.w),
                w_inv: _mm512_shuffle_i64x2::<0x00>(self.w_inv, self.w_inv),
            },
            Factor {
                w: _mm512_shuffle_i64x2::<0x55>(self.w, self.w),
                w_inv: _mm512_shuffle_i64x2::<0x55>(self.w_inv, self.w_inv),
            },
            Factor {
                w: _mm512_shuffle_i64x2::<0xaa>(self.w, self.w),
                w_inv: _mm512_shuffle_i64x2::<0xaa>(self.w_inv, self.w_inv),
            },
            Factor {
                w: _mm512_shuffle_i64x2::<0xff>(self.w, self.w),
                w_inv: _mm512_shuffle_i64x2::<0xff>(self.w_inv, self.w_inv),
            },
        ]
    }

    /// Four of the factors at a time, crossed.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn crossed(self) -> [Self; 2] {
        [
            self.permuted(_mm512_setr_epi64(0, 2, 1, 3, 0, 2, 1, 3)),
            self.permuted(_mm512_setr_epi64(4, 6, 5, 7, 4, 6, 5, 7)),
        ]
    }

    /// Two of the factors at a time, four lanes each.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn by_four(self) -> [Self; 4] {
        array!(j => {
            let (a, b) = (2 * j as i64, 2 * j as i64 + 1);
            self.permuted(_mm512_setr_epi64(a, a, a, a, b, b, b, b))
        })
    }

    /// Four of the factors at a time, two lanes each.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn by_two(self) -> [Self; 2] {
        [
            self.permuted(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3)),
            self.permuted(_mm512_setr_epi64(4, 4, 5, 5, 6, 6, 7, 7)),
        ]
    }

    /// Four of the factors at a time, two lanes each.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn twice(self) -> [Self; 2] {
        [
            self.permuted(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3)),
            self.permuted(_mm512_setr_epi64(4, 4, 5, 5, 6, 6, 7, 7)),
        ]
    }

    /// The factors with even and with odd index, two lanes each.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn pairs(self) -> (Self, Self) {
        let even = Factor {
            w: _mm512_unpacklo_epi64(self.w, self.w),
            w_inv: _mm512_unpacklo_epi64(self.w_inv, self.w_inv),
        };
        let odd = Factor {
            w: _mm512_unpackhi_epi64(self.w, self.w),
            w_inv: _mm512_unpackhi_epi64(self.w_inv, self.w_inv),
        };
        (even, odd)
    }
}
