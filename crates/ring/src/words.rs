//! The memory of a polynomial.

use std::ops::{Deref, DerefMut};
use zeroize::Zeroize;

/// Words of a cache line.
const LINE: usize = 8;

/// Words that start at a cache line, so that no vector of a kernel straddles two lines.
///
/// The allocator starts large buffers 16 bytes after one. Fresh memory from it is zero already, and
/// memory that was asked for with an alignment is not, so the words start within a longer buffer.
#[derive(Debug, Default)]
pub(crate) struct Words {
    all: Vec<u64>,
    start: usize,
    len: usize,
}

impl Words {
    /// The capacity of a buffer that holds `len` words.
    pub(crate) fn capacity_for(len: usize) -> usize {
        len + LINE - 1
    }

    /// `len` words in a buffer, of unspecified content. The buffer grows if it is too small.
    pub(crate) fn within(mut all: Vec<u64>, len: usize) -> Self {
        all.resize(Self::capacity_for(len), 0);
        let start = (all.as_ptr().addr() / size_of::<u64>()).wrapping_neg() % LINE;
        Self { all, start, len }
    }

    /// `len` zeros in a buffer of their own.
    pub(crate) fn zeros(len: usize) -> Self {
        Self::within(vec![0; Self::capacity_for(len)], len)
    }

    /// The buffer, for other words.
    pub(crate) fn into_buffer(self) -> Vec<u64> {
        self.all
    }

    /// Drops all words after the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl Deref for Words {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.all[self.start..][..self.len]
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.all[self.start..][..self.len]
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Words {}

/// Clears the whole buffer, with words that were cut off.
impl Zeroize for Words {
    fn zeroize(&mut self) {
        self.all.zeroize();
        (self.start, self.len) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_start_at_a_cache_line_of_any_buffer() {
        for len in [0, 1, 7, 8, 9, 1 << 13] {
            for capacity in [0, len, len + 40] {
                let words = Words::within(vec![3; capacity], len);
                assert_eq!(words.len(), len);
                assert_eq!(words.as_ptr().addr() % 64, 0, "{len} words");
            }
        }
        assert!(Words::zeros(100).iter().all(|&word| word == 0));
    }

    #[test]
    fn cleared_words_leave_nothing_in_the_buffer() {
        let mut words = Words::zeros(20);
        words.fill(7);
        words.truncate(3);
        words.zeroize();
        assert!(words.is_empty() && words.into_buffer().is_empty());
    }
}
