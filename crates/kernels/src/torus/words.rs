//! Rotations and digits of words, as loops that a compiler turns into vectors of whatever width it is allowed.

/// Coefficients taken at once: rests of digits stay in the L1 cache.
const CHUNK: usize = 128;

/// What the loops ask of `u32` and `u64`.
pub(super) trait Word: Copy {
    type Signed: Copy + Default;
    const BITS: u32;
    fn minus(self, other: Self) -> Self;
    fn negative(self) -> Self;
    /// The multiple of `2^dropped` nearest to the word, divided by that, as a signed number.
    fn rounded(self, dropped: u32) -> Self::Signed;
    /// The lowest digit of `rest`, in `[-B/2, B/2)`, and what is left, divided by `B = 2^base_log`.
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

/// Base and number of digits: `(base_log, levels)`.
pub(super) type Digits = (u32, u32);

#[inline(always)]
pub(super) fn digits_into<T: Word>(out: &mut [i32], poly: &[T], (base_log, levels): Digits) {
    let n = poly.len();
    for start in (0..n).step_by(CHUNK) {
        let words = &poly[start..n.min(start + CHUNK)];
        chunk_of(
            out,
            (start, n, words.len()),
            |i| words[i],
            (base_log, levels),
        );
    }
}

/// Digits of `(X^by - 1) poly`, `by < 2n`.
#[inline(always)]
pub(super) fn rotated_digits_into<T: Word>(out: &mut [i32], poly: &[T], by: usize, digits: Digits) {
    let n = poly.len();
    let (shift, negative) = (by % n, by >= n);
    // Coefficient i of X^shift poly is coefficient i - shift, or minus coefficient i - shift + n: two runs.
    for (run, from, negative) in [(0..shift, n - shift, !negative), (shift..n, 0, negative)] {
        for start in run.clone().step_by(CHUNK) {
            let len = CHUNK.min(run.end - start);
            let here = &poly[start..start + len];
            let turned = &poly[from + start - run.start..][..len];
            if negative {
                chunk_of(
                    out,
                    (start, n, len),
                    |i| turned[i].negative().minus(here[i]),
                    digits,
                );
            } else {
                chunk_of(out, (start, n, len), |i| turned[i].minus(here[i]), digits);
            }
        }
    }
}

/// Digits of the words `word(0) .. word(len)` to the places from `start` in each level of `out`.
#[inline(always)]
fn chunk_of<T: Word>(
    out: &mut [i32],
    (start, n, len): (usize, usize, usize),
    word: impl Fn(usize) -> T,
    (base_log, levels): Digits,
) {
    let mut rests = [T::Signed::default(); CHUNK];
    let rests = &mut rests[..len];
    let dropped = T::BITS - base_log * levels;
    for (i, rest) in rests.iter_mut().enumerate() {
        *rest = word(i).rounded(dropped);
    }
    for level in (0..levels as usize).rev() {
        let out = &mut out[level * n + start..][..len];
        for (digit, rest) in out.iter_mut().zip(rests.iter_mut()) {
            (*digit, *rest) = T::digit(*rest, base_log);
        }
    }
}
