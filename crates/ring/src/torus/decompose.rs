//! Signed digits of words of the torus.

use kernels::{Digits, torus_kernels};

use super::Torus;
use crate::error::{Error, Result};

/// Gadget decomposition of words: `levels` signed digits in base `2^base_log`, most significant
/// first.
///
/// A word `x` becomes digits `d_1 .. d_l` in `[-B/2, B/2)` with `B = 2^base_log`, such that the sum
/// of `d_j q / B^j` is the multiple of `q / B^l` closest to `x`. Digits of a uniform word are
/// uniform: their mean is `-1/2`, and their mean square `(B^2 + 2) / 12`. The part rounded away is
/// uniform in `[-q / 2B^l, q / 2B^l)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decomposition {
    base_log: u32,
    levels: u32,
}

impl Decomposition {
    /// The decomposition into `levels` digits of `base_log` bits.
    ///
    /// # Errors
    /// [`Error::Decomposition`] unless both numbers are at least 1, `base_log` is at most 30, and
    /// their product is at most 63.
    pub fn new(base_log: u32, levels: u32) -> Result<Self> {
        let fits =
            (1..=30).contains(&base_log) && levels >= 1 && levels.saturating_mul(base_log) <= 63;
        if !fits {
            return Err(Error::Decomposition { base_log, levels });
        }
        Ok(Self { base_log, levels })
    }

    /// log2 of the base.
    pub fn base_log(self) -> u32 {
        self.base_log
    }

    /// Number of digits of a word.
    pub fn levels(self) -> u32 {
        self.levels
    }

    /// Mean square of a digit of a uniform word: `(B^2 + 2) / 12`.
    pub fn mean_square(self) -> f64 {
        let base = f64::from(self.base_log).exp2();
        (base * base + 2.0) / 12.0
    }

    /// Bits of a word that are kept.
    pub fn bits(self) -> u32 {
        self.base_log * self.levels
    }

    /// `q / B^level`, the weight of digits of a level.
    ///
    /// # Panics
    /// Unless `1 <= level <= levels`, and if words have fewer bits than are kept.
    pub fn weight<T: Torus>(self, level: u32) -> T {
        assert!(
            (1..=self.levels).contains(&level),
            "a level from 1 to {}",
            self.levels
        );
        assert!(level * self.base_log <= T::BITS, "bits of a word");
        T::from_low_bits(1u64 << (T::BITS - level * self.base_log))
    }

    fn digits(self) -> Digits {
        Digits {
            base_log: self.base_log,
            levels: self.levels,
        }
    }

    /// The digits of `poly`, level by level: `out[(j - 1) * N ..][..N]` are those of level `j`.
    ///
    /// # Panics
    /// If the length of `out` is not `levels` times that of `poly`, or if words have fewer bits
    /// than are kept.
    pub fn digits_into<T: Torus>(self, out: &mut [i32], poly: &[T]) {
        T::digits(torus_kernels(), out, poly, self.digits());
    }

    /// The digits of `(X^by - 1) poly` in `Z_q[X]/(X^N + 1)`, as [`Decomposition::digits_into`].
    /// Each step of a blind rotation needs them.
    ///
    /// # Panics
    /// As [`Decomposition::digits_into`], or if `by >= 2N`.
    pub fn rotated_digits_into<T: Torus>(self, out: &mut [i32], poly: &[T], by: usize) {
        T::rotated_digits(torus_kernels(), out, poly, by, self.digits());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Torus>(decomposition: Decomposition, word: T) {
        let levels = decomposition.levels() as usize;
        let mut digits = vec![0; levels];
        decomposition.digits_into(&mut digits, &[word]);
        let half = 1i64 << (decomposition.base_log() - 1);
        let mut sum = T::default();
        for (j, &digit) in digits.iter().enumerate() {
            assert!(
                (-half..half).contains(&i64::from(digit)),
                "{digit} of {word:?}"
            );
            sum = sum.plus(
                decomposition
                    .weight::<T>(j as u32 + 1)
                    .times(i64::from(digit)),
            );
        }
        let error = sum.minus(word).to_centred().unsigned_abs();
        assert!(
            error <= 1 << (T::BITS - decomposition.bits() - 1),
            "{word:?} is off by {error}"
        );
    }

    #[test]
    fn digits_are_small_and_their_sum_is_the_rounded_word() {
        for (base_log, levels) in [(1, 1), (8, 2), (10, 3), (7, 4), (2, 8)] {
            let decomposition = Decomposition::new(base_log, levels).expect("in range");
            let mut word = 0x9e37_79b9_7f4a_7c15u64;
            for _ in 0..1000 {
                word = word
                    .wrapping_mul(0x5851_f42d_4c95_7f2d)
                    .wrapping_add(0x1405_7b7e_f767_814f);
                check(decomposition, word);
                check(decomposition, (word >> 32) as u32);
            }
            for word in [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1] {
                check(decomposition, word);
                check(decomposition, word as u32);
                check(decomposition, (word >> 32) as u32);
            }
        }
        check(
            Decomposition::new(22, 1).expect("in range"),
            0x8000_0000_0000_0000u64,
        );
    }

    #[test]
    fn digits_that_a_word_cannot_hold_are_refused() {
        for (base_log, levels) in [(0, 1), (1, 0), (31, 1), (16, 4), (u32::MAX, u32::MAX)] {
            let error = Decomposition::new(base_log, levels).expect_err("out of range");
            assert!(error.to_string().contains(&base_log.to_string()), "{error}");
        }
    }

    #[test]
    fn levels_without_digits_have_no_weight() {
        let decomposition = Decomposition::new(8, 3).expect("in range");
        let weight = |level| decomposition.weight::<u32>(level);
        assert_eq!([weight(1), weight(3)], [1 << 24, 1 << 8]);
        for level in [0, 4, u32::MAX] {
            assert!(std::panic::catch_unwind(|| weight(level)).is_err());
        }
        let wide = Decomposition::new(10, 4).expect("in range");
        assert!(std::panic::catch_unwind(|| wide.weight::<u32>(4)).is_err());
    }
}
