//! Words in as few bytes as they need.

use crate::backend::{MAX_DOT, check_lengths};
use crate::{Kernels, Modulus};
use std::ops::Range;

/// Words worked on at a time by a backend that unpacks them first. Five terms and their factors, 20
/// KB, stay in the L1 cache.
const BLOCK: usize = 1 << 8;

/// Calls the function for words of a constant number of bytes.
macro_rules! each_width {
    ($width:expr, $f:ident ( $($arg:expr),* )) => {
        match $width {
            1 => $f::<1>($($arg),*),
            2 => $f::<2>($($arg),*),
            3 => $f::<3>($($arg),*),
            4 => $f::<4>($($arg),*),
            5 => $f::<5>($($arg),*),
            6 => $f::<6>($($arg),*),
            7 => $f::<7>($($arg),*),
            8 => $f::<8>($($arg),*),
            other => panic!("a word has 1 to 8 bytes, not {other}"),
        }
    };
}

/// Words of one limb, each in as many whole bytes as its modulus has, the lowest byte first.
///
/// For what is read often and never changed, such as keys: words modulo a prime of 34 bits take 5
/// bytes instead of 8, and so much less of the memory's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedWords<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl<'a> PackedWords<'a> {
    /// Bytes of a word modulo `q`.
    pub fn width(q: &Modulus) -> usize {
        q.bits().div_ceil(8) as usize
    }

    /// The words in `bytes`, of `width` bytes each.
    ///
    /// # Panics
    /// If `width` is not 1 to 8, or `bytes` is no whole number of words.
    pub fn new(bytes: &'a [u8], width: usize) -> Self {
        assert!((1..=8).contains(&width), "a word has 1 to 8 bytes");
        assert_eq!(bytes.len() % width, 0, "whole words");
        Self { bytes, width }
    }

    /// Writes `words` to `bytes`, of `width` bytes each. Bytes above them are dropped.
    ///
    /// # Panics
    /// If `width` is not 1 to 8, or `bytes` has not room for just these words.
    pub fn pack(words: &[u64], width: usize, bytes: &mut [u8]) {
        assert_eq!(bytes.len(), width * words.len(), "room for the words");
        each_width!(width, pack(words, bytes));
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Some of the words.
    ///
    /// # Panics
    /// If there are fewer words.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        Self {
            bytes: &self.bytes[range.start * self.width..range.end * self.width],
            width: self.width,
        }
    }

    /// Writes the words to `out`.
    ///
    /// # Panics
    /// If `out` has another length.
    pub fn unpack_into(&self, out: &mut [u64]) {
        check_lengths(out, [self.len()]);
        each_width!(self.width, unpack(self.bytes, out));
    }

    /// Word `i`.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(crate) fn word(&self, i: usize) -> u64 {
        let mut word = [0];
        self.slice(i..i + 1).unpack_into(&mut word);
        word[0]
    }

    /// The bytes, and how many a word has.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(crate) fn parts(&self) -> (&'a [u8], usize) {
        (self.bytes, self.width)
    }
}

fn pack<const WIDTH: usize>(words: &[u64], bytes: &mut [u8]) {
    let (chunks, _) = bytes.as_chunks_mut::<WIDTH>();
    for (chunk, word) in chunks.iter_mut().zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes()[..WIDTH]);
    }
}

fn unpack<const WIDTH: usize>(bytes: &[u8], words: &mut [u64]) {
    let (chunks, _) = bytes.as_chunks::<WIDTH>();
    for (word, chunk) in words.iter_mut().zip(chunks) {
        let mut whole = [0; 8];
        whole[..WIDTH].copy_from_slice(chunk);
        *word = u64::from_le_bytes(whole);
    }
}

/// Panics if the sizes do not fit [`Kernels::dot_packed_into`].
#[track_caller]
pub(crate) fn check(out: &[u64], a: &[&[u64]], b: &[PackedWords]) {
    assert_eq!(a.len(), b.len(), "a dot product pairs its terms");
    assert!(a.len() <= MAX_DOT, "{} terms, at most {MAX_DOT}", a.len());
    for (x, y) in a.iter().zip(b) {
        check_lengths(out, [x.len(), y.len()]);
        assert_eq!(y.width, b[0].width, "words of one width");
    }
}

/// [`Kernels::dot_packed_into`], for sizes that fit.
pub(crate) fn dot<K: Kernels + ?Sized>(
    kernels: &K,
    q: &Modulus,
    out: &mut [u64],
    a: &[&[u64]],
    b: &[PackedWords],
) {
    let mut scratch = vec![0; b.len() * BLOCK.min(out.len())];
    for (start, out) in (0..).step_by(BLOCK).zip(out.chunks_mut(BLOCK)) {
        let columns = start..start + out.len();
        let words = scratch.chunks_exact_mut(out.len()).zip(b);
        let b: Vec<&[u64]> = words
            .map(|(words, b)| {
                b.slice(columns.clone()).unpack_into(words);
                &*words
            })
            .collect();
        let a: Vec<&[u64]> = a.iter().map(|a| &a[columns.clone()]).collect();
        kernels.dot_into(q, out, &a, &b);
    }
}

#[cfg(test)]
mod tests {
    use super::PackedWords;

    #[test]
    fn packed_words_come_back() {
        for width in 1..=8 {
            let largest = u64::MAX >> (64 - 8 * width);
            let words: Vec<u64> = (0..37u64).map(|i| largest / (i + 1)).collect();
            let mut bytes = vec![0xaa; width * words.len()];
            PackedWords::pack(&words, width, &mut bytes);
            let packed = PackedWords::new(&bytes, width);
            assert_eq!(packed.len(), words.len());
            let mut unpacked = vec![1; words.len()];
            packed.unpack_into(&mut unpacked);
            assert_eq!(unpacked, words, "{width} bytes");
            packed.slice(5..9).unpack_into(&mut unpacked[..4]);
            assert_eq!(unpacked[..4], words[5..9]);
        }
    }
}
