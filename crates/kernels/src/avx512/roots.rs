//! The factors of a transform, in the arrangements that its passes need.

use std::arch::x86_64::*;

use super::context::*;
use super::vector::*;
use crate::array::array;

/// The factors of three stages of eight consecutive nodes: of the nodes, of their children, and of
/// those of these, each in order.
///
/// From memory, a factor in all lanes is a load. From registers it would be two permutations, and
/// computed for each node, up to two products.
pub(super) struct Trees {
    w: [[u64; 8]; 7],
    w_inv: [[u64; 8]; 7],
}

impl Trees {
    /// The factors of node `j` of the eight.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn tree(&self, j: usize) -> [Factor; 7] {
        let (w, w_inv) = (self.w.as_flattened(), self.w_inv.as_flattened());
        let (child, grandchild) = (8 + 2 * j, 24 + 4 * j);
        let at = [
            j,
            child,
            child + 1,
            grandchild,
            grandchild + 1,
            grandchild + 2,
            grandchild + 3,
        ];
        array!(i => Factor::shoup(w[at[i]], w_inv[at[i]]))
    }
}

impl Context<'_> {
    /// The factor of node `k` of the transform.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn root<const CLASS: u8>(&self, k: usize) -> Factor {
        if CLASS == WIDE {
            return Factor::shoup(self.roots[k], self.shoup[k]);
        }
        self.factor::<CLASS>(splat(self.roots[k]))
    }

    /// The factors of three stages: of node `k`, of its two children, and of their four.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) fn tree<const CLASS: u8>(&self, k: usize) -> [Factor; 7] {
        let at = [k, 2 * k, 2 * k + 1, 4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3];
        array!(i => self.root::<CLASS>(at[i]))
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

    /// As [`Context::eight`], with lane `index[i]` in lane `i`.
    ///
    /// # Safety
    /// The nodes up to `k + 7` exist.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) unsafe fn eight_arranged<const CLASS: u8>(&self, k: usize, index: V) -> Factor {
        if CLASS < MIDDLE {
            // SAFETY: by the promise of the caller.
            return unsafe { self.eight::<CLASS>(k) }.permuted(index);
        }
        // Before it is a factor, it is one vector.
        // SAFETY: by the promise of the caller.
        let w = unsafe { load(self.roots.as_ptr().add(k)) };
        self.factor::<CLASS>(_mm512_permutexvar_epi64(index, w))
    }

    /// [`Trees`] of the nodes `k` to `k + 7`.
    ///
    /// # Safety
    /// The nodes up to `4k + 31` exist.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    pub(super) unsafe fn trees<const CLASS: u8>(&self, k: usize) -> Trees {
        let (mut w, mut w_inv) = ([[0; 8]; 7], [[0; 8]; 7]);
        let (child, grandchild) = (2 * k, 4 * k);
        let at = [
            k,
            child,
            child + 8,
            grandchild,
            grandchild + 8,
            grandchild + 16,
            grandchild + 24,
        ];
        for (i, at) in at.into_iter().enumerate() {
            // SAFETY: by the promise of the caller; each row has eight words.
            unsafe {
                let f = self.eight::<CLASS>(at);
                store(w[i].as_mut_ptr(), f.w);
                store(w_inv[i].as_mut_ptr(), f.w_inv);
            }
        }
        Trees { w, w_inv }
    }
}

impl Factor {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn permuted(self, index: V) -> Self {
        Self {
            w: _mm512_permutexvar_epi64(index, self.w),
            w_inv: _mm512_permutexvar_epi64(index, self.w_inv),
        }
    }
}

/// Lanes `indices[j]` of a vector of factors, for each `j`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn arrange<const K: usize>(f: Factor, indices: [V; K]) -> [Factor; K] {
    array!(j => f.permuted(indices[j]))
}
