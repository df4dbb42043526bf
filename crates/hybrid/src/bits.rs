//! Words of a fixed number of bits, packed without gaps.

/// Number of bytes for `count` words of `bits` bits.
pub(crate) fn packed_len(count: usize, bits: u32) -> usize {
    (count * bits as usize).div_ceil(8)
}

/// Appends the low `bits` bits of every word, least significant bit first. `bits` is 1 to 64.
pub(crate) fn pack(out: &mut Vec<u8>, words: impl IntoIterator<Item = u64>, bits: u32) {
    let mask = mask(bits);
    let (mut waiting, mut held) = (0u128, 0u32);
    for word in words {
        waiting |= u128::from(word & mask) << held;
        held += bits;
        if held >= 64 {
            out.extend_from_slice(&(waiting as u64).to_le_bytes());
            waiting >>= 64;
            held -= 64;
        }
    }
    let left = waiting.to_le_bytes();
    out.extend_from_slice(&left[..held.div_ceil(8) as usize]);
}

/// Reads `count` words of `bits` bits.
///
/// # Panics
/// If there are fewer than [`packed_len`] bytes. The caller checks the length.
pub(crate) fn unpack(bytes: &[u8], count: usize, bits: u32) -> Vec<u64> {
    assert!(bytes.len() >= packed_len(count, bits), "length is checked");
    let mask = mask(bits);
    let (mut waiting, mut held, mut next) = (0u128, 0u32, 0usize);
    let word = |_| {
        while held < bits {
            let end = (next + 8).min(bytes.len());
            let mut part = [0; 8];
            part[..end - next].copy_from_slice(&bytes[next..end]);
            waiting |= u128::from(u64::from_le_bytes(part)) << held;
            held += 8 * (end - next) as u32;
            next = end;
        }
        let word = waiting as u64 & mask;
        waiting >>= bits;
        held -= bits;
        word
    };
    (0..count).map(word).collect()
}

/// `2^bits - 1`, for 1 to 64 bits.
pub(crate) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_every_width_come_back() {
        for bits in 1..=64 {
            for count in [0usize, 1, 7, 64, 65] {
                let words: Vec<u64> = (0..count as u64)
                    .map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask(bits))
                    .collect();
                let mut bytes = Vec::new();
                pack(&mut bytes, words.iter().copied(), bits);
                assert_eq!(bytes.len(), packed_len(count, bits), "{bits} bits");
                assert_eq!(unpack(&bytes, count, bits), words, "{bits} bits");
            }
        }
    }
}
