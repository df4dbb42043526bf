//! Tests that every exact multiplier must pass.

use super::{Multiplier, Naive, Torus};

/// Pseudorandom words and digits.
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// # Source
    /// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA
    /// 2014.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A digit in `[-digit, digit]`.
    pub(super) fn digit(&mut self, digit: u32) -> i32 {
        (self.next() % (2 * u64::from(digit) + 1)) as i64 as i32 - digit as i32
    }
}

/// Adds products of random digits and words to `out`, and compares with the definition.
pub(super) fn compare_with_naive<T: Torus, M: Multiplier<T>>(
    multiplier: &M,
    (rows, columns): (usize, usize),
    digit: u32,
) {
    let n = multiplier.n();
    let mut draw = Draw::new(n as u64 + u64::from(digit));
    let digits: Vec<i32> = (0..rows * n).map(|_| draw.digit(digit)).collect();
    let mut words = |count: usize| -> Vec<T> {
        let words = (0..count).map(|_| T::from_low_bits(draw.next()));
        words.collect()
    };
    let (matrix, start) = (words(rows * columns * n), words(columns * n));
    check(multiplier, &digits, &matrix, start);
}

/// All digits and all words at their largest, with both signs: the largest coefficients of a
/// product.
pub(super) fn extremes<T: Torus, M: Multiplier<T>>(multiplier: &M, rows: usize, digit: u32) {
    let n = multiplier.n();
    let lowest = T::from_low_bits(1 << (T::BITS - 1));
    for sign in [1, -1] {
        let digits = vec![sign * digit as i32; rows * n];
        check(
            multiplier,
            &digits,
            &vec![lowest; rows * n],
            vec![T::default(); n],
        );
    }
}

fn check<T: Torus, M: Multiplier<T>>(multiplier: &M, digits: &[i32], matrix: &[T], start: Vec<T>) {
    let n = multiplier.n();
    let naive = Naive::new(n);
    let mut want = start.clone();
    naive.dot_add(&mut want, digits, &naive.prepare(matrix), &mut ());
    let prepared = multiplier.prepare(matrix);
    let polys = matrix.len() / n;
    assert_eq!(prepared.len(), polys * multiplier.prepared_len());
    let mut scratch = multiplier.scratch(digits.len() / n, start.len() / n);
    for _again in 0..2 {
        let mut found = start.clone();
        multiplier.dot_add(&mut found, digits, &prepared, &mut scratch);
        assert!(
            found == want,
            "{}: N = {n}, {polys} products",
            multiplier.name()
        );
    }
    assert_eq!(multiplier.error_bound(digits.len() / n, 1.0), 0.0);
}
