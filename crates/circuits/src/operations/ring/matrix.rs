//! Plaintexts of several sums of products, in the form of a product of matrices.

use crate::approximate::Diagonal;
use ring::{Basis, Eval, Pair, Poly};
use rlwe::{Ciphertext, Extended};

/// A matrix of plaintexts over one basis. Each of their words occurs `gap` times in a row.
#[derive(Clone, Debug)]
pub struct BlockMatrix {
    rows: usize,
    columns: usize,
    gap: usize,
    /// Words in the order of [`ring::block_combinations`].
    words: Vec<u64>,
}

impl BlockMatrix {
    /// Makes the matrix whose entry in row `r` and column `k` is `entry(r, k)`, or 0 if that is
    /// `None`. It is over the first `limbs` limbs of the plaintexts, of ring degree `n`.
    ///
    /// # Panics
    /// If all entries are 0.
    pub fn new<'d>(
        (rows, columns): (usize, usize),
        (n, limbs): (usize, usize),
        entry: impl Fn(usize, usize) -> Option<&'d Diagonal>,
    ) -> Self {
        let entries: Vec<Option<&Diagonal>> = (0..rows * columns)
            .map(|i| entry(i / columns, i % columns))
            .collect();
        let gap = entries.iter().flatten().map(|d| d.gap()).min();
        let gap = gap.expect("a matrix has an entry");
        let mut words = Vec::with_capacity(limbs * n / gap * entries.len());
        for i in 0..limbs {
            for j in (0..n).step_by(gap) {
                words.extend(entries.iter().map(|d| d.map_or(0, |d| d.word(i, j))));
            }
        }
        Self {
            rows,
            columns,
            gap,
            words,
        }
    }

    /// Number of sums.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of values that are added up in each sum.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Size in memory, in bytes.
    pub fn byte_len(&self) -> usize {
        size_of_val(self.words.as_slice())
    }

    /// An entry over its basis. `None` for 0.
    pub(super) fn entry(&self, basis: &Basis, row: usize, column: usize) -> Option<Poly<Eval>> {
        let size = self.rows * self.columns;
        let own = self.words[row * self.columns + column..].iter();
        let own: Vec<u64> = own.step_by(size).copied().collect();
        if own.iter().all(|&word| word == 0) {
            return None;
        }
        let words = own.iter().flat_map(|&w| std::iter::repeat_n(w, self.gap));
        Some(
            Poly::from_words(basis, words.collect::<Vec<u64>>())
                .expect("a word for each place of each limb"),
        )
    }

    /// The sums, for values over the special moduli too.
    pub(super) fn extended(&self, values: &[&Extended]) -> Vec<Extended> {
        Extended::combinations(values, &self.words, (self.gap, self.rows))
    }

    /// The sums, for values over the chain.
    pub(super) fn narrow(&self, values: &[Pair]) -> Vec<Ciphertext> {
        let basis = values[0][0].basis();
        let sums = ring::block_combinations(basis, &self.words, (self.gap, self.rows), values);
        let sums = sums.into_iter();
        sums.map(|parts| Ciphertext::new(parts.into())).collect()
    }
}
