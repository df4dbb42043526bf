//! The words of constants.

use super::ir::{Constant, ConstantId};

impl Constant {
    /// Returns the `n` words of the constant `id`.
    ///
    /// # Panics
    /// For a list, and for a constant that [`Trace::verify`](super::Trace::verify) refuses.
    pub fn words(constants: &[Self], id: ConstantId, n: usize) -> Vec<i64> {
        match &constants[id] {
            Self::Words(words) => words.clone(),
            Self::Sparse(entries) => {
                let mut words = vec![0; n];
                let entries = entries.iter();
                entries.for_each(|&(place, word)| words[place] = word);
                words
            }
            Self::Repeat { run, values } => {
                let value = |place| values[place / run % values.len()];
                (0..n).map(value).collect()
            }
            Self::Turn { of, steps } => {
                let mut words = Self::words(constants, *of, n);
                let rows = words.chunks_mut(n / 2);
                rows.for_each(|row| row.rotate_left(*steps));
                words
            }
            Self::List(_) => unreachable!("a list is not asked for words"),
        }
    }
}
