//! Permutations of a limb.

use std::arch::x86_64::*;

use super::vector::{V, load, splat, store};

/// `out[i] = a[index[i]]`. The caller has checked the lengths.
///
/// An automorphism in the evaluation domain maps aligned groups of 8 words to aligned groups.
/// Positions that differ in the last three bits have exponents that differ by multiples of `N/8`,
/// and so have their images. A group is therefore one load and one exchange of lanes. Any other
/// index is followed word by word.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) fn permute(out: &mut [u64], a: &[u64], index: &[u32]) {
    let (groups, _) = a.as_chunks::<8>();
    let (out8, out_tail) = out.as_chunks_mut::<8>();
    let (index8, index_tail) = index.as_chunks::<8>();
    for (out, index) in out8.iter_mut().zip(index8) {
        // SAFETY: `index` has 8 words of 32 bits.
        let lanes: V = unsafe { _mm512_cvtepu32_epi64(_mm256_loadu_si256(index.as_ptr().cast())) };
        let first = splat(u64::from(index[0] | 7));
        let elsewhere = _mm512_cmp_epu64_mask::<_MM_CMPINT_NLE>(
            _mm512_xor_si512(_mm512_or_si512(lanes, splat(7)), first),
            splat(0),
        );
        match groups.get(index[0] as usize / 8) {
            Some(group) if elsewhere == 0 => {
                // SAFETY: `group` and `out` have 8 words. The exchange reads 3 bits per lane.
                unsafe {
                    let words = load(group.as_ptr());
                    store(out.as_mut_ptr(), _mm512_permutexvar_epi64(lanes, words));
                }
            }
            _ => follow(out, a, index),
        }
    }
    follow(out_tail, a, index_tail);
}

fn follow(out: &mut [u64], a: &[u64], index: &[u32]) {
    for (o, &i) in out.iter_mut().zip(index) {
        *o = a[i as usize];
    }
}
