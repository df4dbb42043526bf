//! Packed words, put in their places by one permutation of bytes.

use crate::PackedWords;
use crate::lanes::*;

/// Writes the words to `out`. The caller has checked the length.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
pub(super) fn unpack(words: &PackedWords, out: &mut [u64]) {
    let (bytes, width) = words.parts();
    let places = places(width);
    // The two loads of four words take 16 bytes each, the second one from the third word on.
    let last = bytes.len().checked_sub(2 * width + 16);
    let fast = last.map_or(0, |last| last / (4 * width) + 1);
    let (vectors, rest) = out.split_at_mut(4 * fast);
    let (vectors, _) = vectors.as_chunks_mut::<4>();
    for (i, out) in vectors.iter_mut().enumerate() {
        // SAFETY: `4 i width + 2 width + 16` bytes are there, and room for four words.
        unsafe {
            let four = bytes.as_ptr().add(4 * i * width);
            store(out.as_mut_ptr(), unpack_words(four, 2 * width, places));
        }
    }
    words.slice(4 * fast..words.len()).unpack_into(rest);
}
