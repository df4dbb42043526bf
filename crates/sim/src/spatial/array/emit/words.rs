//! Arbitrary words, and words as text and bytes.

use std::fmt::Write as _;

/// Arbitrary words, the same in every run: the high halves of a linear congruence.
pub(super) struct Words(u64);

impl Words {
    pub(super) fn new() -> Self {
        Self(0x5041_4c4c_4144_494f)
    }

    pub(super) fn take(&mut self, count: usize) -> Vec<u32> {
        let next = || {
            self.0 = self
                .0
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e_f767_814f);
            (self.0 >> 32) as u32
        };
        std::iter::repeat_with(next).take(count).collect()
    }
}

/// Words as the files of channels have them: signed, one in a line.
pub(super) fn lines(words: &[u32]) -> String {
    let mut text = String::with_capacity(12 * words.len());
    for &word in words {
        writeln!(text, "{}", word as i32).expect("text grows");
    }
    text
}

/// Words as bytes, the low byte first.
pub(super) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
