//! Sums of products with packed words. One instruction of VBMI puts the bytes of eight words in
//! place.

use std::arch::x86_64::*;

use super::dot::Reduction;
use super::vector::*;
use crate::{Modulus, PackedWords};

/// Vectors in step: their accumulators hide the latency of the multiply-add.
const STEP: usize = 4;

/// `out = sum of a[k] * b[k]`. The caller has checked the lengths, and that words have one width.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512vbmi")]
pub(super) fn dot(q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[PackedWords]) {
    let Some(width) = b.first().map(|b| b.parts().1) else {
        return out.fill(0);
    };
    let bound = (a.len() as u128) << (q.bits() + 8 * width as u32);
    let sum = Sum {
        reduction: Reduction::new(q, bound),
        places: places(width),
        width,
    };
    let len = out.len();
    let mut i = 0;
    while i + 8 * STEP <= len {
        // SAFETY: i + 8 STEP <= len, the number of words everywhere.
        unsafe { sum.columns::<STEP>(out, a, b, i, 8) };
        i += 8 * STEP;
    }
    while i < len {
        // SAFETY: as many words are left.
        unsafe { sum.columns::<1>(out, a, b, i, (len - i).min(8)) };
        i += 8;
    }
}

/// Where the bytes of eight words come from. Bytes above a word come from nowhere.
fn places(width: usize) -> ([u8; 64], u64) {
    let mut from = [0; 64];
    let mut here = 0;
    for (place, from) in from.iter_mut().enumerate() {
        let (word, byte) = (place / 8, place % 8);
        if byte < width {
            *from = (word * width + byte) as u8;
            here |= 1 << place;
        }
    }
    (from, here)
}

struct Sum {
    reduction: Reduction,
    places: ([u8; 64], u64),
    width: usize,
}

impl Sum {
    /// Computes `K` vectors of the sum, from word `i` on. Each has `words` words: 8, or fewer of the
    /// only one.
    ///
    /// # Safety
    /// `out` and all terms have these words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512vbmi")]
    unsafe fn columns<const K: usize>(
        &self,
        out: &mut [u64],
        a: &[&[u64]],
        b: &[PackedWords],
        i: usize,
        words: usize,
    ) {
        let mask = u8::MAX >> (8 - words);
        let bytes = u64::MAX >> (64 - words * self.width);
        let (from, here) = &self.places;
        // SAFETY: 64 bytes are one vector.
        let from = unsafe { load(from.as_ptr().cast()) };
        let mut lower: [V; K] = [zero(); K];
        let mut upper: [V; K] = [zero(); K];
        for (x, y) in a.iter().zip(b) {
            let (x, y) = (x.as_ptr(), y.parts().0.as_ptr());
            for k in 0..K {
                let at = i + 8 * k;
                // SAFETY: by the caller's promise, and masks keep lanes within the words.
                let (u, v) = unsafe {
                    (
                        _mm512_maskz_loadu_epi64(mask, x.add(at).cast()),
                        _mm512_maskz_loadu_epi8(bytes, y.add(at * self.width).cast()),
                    )
                };
                let v = _mm512_maskz_permutexvar_epi8(*here, from, v);
                lower[k] = low(lower[k], u, v);
                upper[k] = high(upper[k], u, v);
            }
        }
        for k in 0..K {
            let sum = self.reduction.run(lower[k], upper[k]);
            // SAFETY: by the caller's promise.
            unsafe { _mm512_mask_storeu_epi64(out.as_mut_ptr().add(i + 8 * k).cast(), mask, sum) };
        }
    }
}
