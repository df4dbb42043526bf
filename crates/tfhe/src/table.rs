//! The test polynomial of a blind rotation.

use ring::torus::Torus;

/// A polynomial of words whose coefficients are the entries of tables.
///
/// A table of `p` entries has a box of `N / p` coefficients for each entry, with the entry's value
/// in the middle. Half of the first box is at the top, negated. Several tables interleave:
/// coefficient `j 2^v + t` belongs to table `t`, and the exponents of the rotation are multiples of
/// `2^v`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestPolynomial<T> {
    words: Vec<T>,
    tables: usize,
}

impl<T: Torus> TestPolynomial<T> {
    /// The polynomial with all coefficients `word`. Gates use it: the result is the sign of the
    /// phase times `word`.
    pub fn constant(n: usize, word: T) -> Self {
        Self {
            words: vec![word; n],
            tables: 1,
        }
    }

    /// The polynomial of tables of one length `p`. Their entries are words.
    ///
    /// # Panics
    /// If there are no tables, if their lengths differ or are not a power of two, or if boxes have
    /// fewer than two coefficients.
    pub fn of_tables(n: usize, tables: &[Vec<T>]) -> Self {
        let p = tables[0].len();
        let step = tables.len().next_power_of_two();
        assert!(tables.iter().all(|t| t.len() == p), "tables of one length");
        assert!(
            p.is_power_of_two() && 2 * p * step <= n,
            "boxes of at least two coefficients"
        );
        let width = n / step / p;
        let mut words = vec![T::default(); n];
        for (j, coefficients) in words.chunks_exact_mut(step).enumerate() {
            let entry = (j + width / 2) / width;
            for (word, table) in coefficients.iter_mut().zip(tables) {
                // After the last box the phase wraps to the first, and X^N = -1.
                *word = if entry == p {
                    T::default().minus(table[0])
                } else {
                    table[entry]
                };
            }
        }
        Self {
            words,
            tables: tables.len(),
        }
    }

    /// The coefficients.
    pub fn words(&self) -> &[T] {
        &self.words
    }

    /// Number of tables.
    pub fn tables(&self) -> usize {
        self.tables
    }

    /// `v`: the number of low bits that are 0 in all exponents.
    pub fn drop(&self) -> u32 {
        self.tables.next_power_of_two().ilog2()
    }
}
