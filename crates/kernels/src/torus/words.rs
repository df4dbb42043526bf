//! Rotations and digits of words, as loops that the compiler vectorises to the width allowed.

/// Coefficients taken at once, so that the rests of their digits stay in the L1 cache.
const CHUNK: usize = 128;

/// Operations on `u32` and `u64` that the loops need.
pub(super) trait Word: Copy + Default {
    type Signed: Copy + Default;
    const BITS: u32;
    fn minus(self, other: Self) -> Self;
    fn negative(self) -> Self;
    /// The word divided by `2^dropped` and rounded to the nearest integer, as a signed number.
    fn rounded(self, dropped: u32) -> Self::Signed;
    /// The lowest digit of `rest`, in `[-B/2, B/2)`, and the rest after it, divided by
    /// `B = 2^base_log`.
    fn digit(rest: Self::Signed, base_log: u32) -> (i32, Self::Signed);
}

macro_rules! word {
    ($word:ty, $signed:ty) => {
        impl Word for $word {
            type Signed = $signed;
            const BITS: u32 = <$word>::BITS;
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn negative(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn rounded(self, dropped: u32) -> $signed {
                let half = ((1 as $word) << dropped) >> 1;
                self.wrapping_add(half) as $signed >> dropped
            }
            #[inline(always)]
            fn digit(rest: $signed, base_log: u32) -> (i32, $signed) {
                let half = (1 as $signed) << (base_log - 1);
                let mask = ((1 as $signed) << base_log) - 1;
                let digit = (rest.wrapping_add(half) & mask) - half;
                (digit as i32, rest.wrapping_sub(digit) >> base_log)
            }
        }
    };
}
word!(u32, i32);
word!(u64, i64);

/// The digits into which words are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits {
    /// Bits of a digit, 1 to 30: the base is `B = 2^base_log`.
    pub base_log: u32,
    /// Number of digits.
    pub levels: u32,
}

/// Coefficients of a polynomial that are cut together.
#[derive(Clone, Copy)]
struct Chunk {
    /// Index of the first one.
    start: usize,
    /// Number of coefficients of the polynomial.
    n: usize,
}

#[inline(always)]
pub(super) fn digits_into<T: Word>(out: &mut [i32], poly: &[T], digits: Digits) {
    let n = poly.len();
    for (chunk, words) in poly.chunks(CHUNK).enumerate() {
        let start = chunk * CHUNK;
        chunk_digits(out, Chunk { start, n }, words, digits);
    }
}

/// Digits of `(X^by - 1) poly`, `by < 2n`.
#[inline(always)]
pub(super) fn rotated_digits_into<T: Word>(out: &mut [i32], poly: &[T], by: usize, digits: Digits) {
    let n = poly.len();
    let (shift, negative) = (by % n, by >= n);
    let mut differences = [T::default(); CHUNK];
    // Coefficient i of X^shift poly is coefficient i - shift of poly, or minus coefficient i -
    // shift + n. The result therefore has two runs.
    let (head, tail) = poly.split_at(n - shift);
    for (start, turned, negative) in [(0, tail, !negative), (shift, head, negative)] {
        let here = &poly[start..][..turned.len()];
        for (chunk, (turned, here)) in turned.chunks(CHUNK).zip(here.chunks(CHUNK)).enumerate() {
            let differences = &mut differences[..here.len()];
            for ((out, &turned), &here) in differences.iter_mut().zip(turned).zip(here) {
                let turned = if negative { turned.negative() } else { turned };
                *out = turned.minus(here);
            }
            let start = start + chunk * CHUNK;
            chunk_digits(out, Chunk { start, n }, differences, digits);
        }
    }
}

/// Writes the digits of a chunk to its places in each level of `out`.
#[inline(always)]
fn chunk_digits<T: Word>(
    out: &mut [i32],
    Chunk { start, n }: Chunk,
    words: &[T],
    Digits { base_log, levels }: Digits,
) {
    let dropped = T::BITS - base_log * levels;
    let mut rests = [T::Signed::default(); CHUNK];
    let rests = &mut rests[..words.len()];
    for (rest, &word) in rests.iter_mut().zip(words) {
        *rest = word.rounded(dropped);
    }
    for level in (0..levels as usize).rev() {
        let out = &mut out[level * n + start..][..words.len()];
        for (digit, rest) in out.iter_mut().zip(rests.iter_mut()) {
            (*digit, *rest) = T::digit(*rest, base_log);
        }
    }
}
