//! Bit planes: conversion of words to planes and back. Bit `i` of word `w` of a plane belongs to
//! value `64 w + i`.

/// `2^bits - 1`, for up to 64 bits.
pub(crate) fn mask(bits: u32) -> u64 {
    debug_assert!(bits <= 64, "a word has 64 bits");
    if bits == 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    }
}

/// Number of words of a plane, which holds one bit of each of `count` values.
pub(crate) fn plane_words(count: usize) -> usize {
    count.div_ceil(64)
}

/// Transposes 64 by 64 bits: bit `j` of word `i` becomes bit `i` of word `j`.
///
/// Source: H. S. Warren, Hacker's Delight, 2nd edition, section 7-3.
pub(crate) fn transpose(words: &mut [u64; 64]) {
    let mut width = 32;
    let mut low = u64::from(u32::MAX);
    while width > 0 {
        let mut at = 0;
        while at < 64 {
            let swapped = ((words[at] >> width) ^ words[at + width]) & low;
            words[at] ^= swapped << width;
            words[at + width] ^= swapped;
            at = (at + width + 1) & !width;
        }
        width /= 2;
        low ^= low << width;
    }
}

/// Writes the low `bits` bits of values into planes, lowest bit first: plane `b` is
/// `planes[b * words..][..words]`. The bits past the last value are zero.
pub(crate) fn to_planes(values: impl ExactSizeIterator<Item = u64>, bits: u32, planes: &mut [u64]) {
    let words = plane_words(values.len());
    debug_assert_eq!(planes.len(), words * bits as usize, "a plane for each bit");
    let mut values = values;
    for word in 0..words {
        let mut block = [0; 64];
        for (value, into) in values.by_ref().take(64).zip(&mut block) {
            *into = value;
        }
        transpose(&mut block);
        for (bit, &plane) in block.iter().take(bits as usize).enumerate() {
            planes[bit * words + word] = plane;
        }
    }
}

/// Reads the first `count` values from their planes, lowest bit first.
pub(crate) fn from_planes(planes: &[&[u64]], count: usize) -> Vec<u64> {
    let mut values = Vec::with_capacity(count);
    for word in 0..plane_words(count) {
        let mut block = [0; 64];
        for (into, plane) in block.iter_mut().zip(planes) {
            *into = plane[word];
        }
        transpose(&mut block);
        values.extend_from_slice(&block[..64.min(count - values.len())]);
    }
    values
}

/// Number of bytes for `count` values of `bits` bits each, packed without gaps.
pub(crate) fn packed_bytes(count: usize, bits: u32) -> usize {
    (count * bits as usize).div_ceil(8)
}

/// Packs the low `bits` bits of values without gaps, lowest bits first.
pub(crate) fn pack(values: impl IntoIterator<Item = u64>, bits: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut held, mut held_bits) = (0u128, 0);
    for value in values {
        held |= u128::from(value & mask(bits)) << held_bits;
        held_bits += bits;
        while held_bits >= 8 {
            bytes.push(held as u8);
            held >>= 8;
            held_bits -= 8;
        }
    }
    if held_bits > 0 {
        bytes.push(held as u8);
    }
    bytes
}

/// Unpacks `count` values of `bits` bits each.
///
/// # Panics
/// If there are fewer than [`packed_bytes`] bytes.
pub(crate) fn unpack(bytes: &[u8], count: usize, bits: u32) -> Vec<u64> {
    assert!(bytes.len() >= packed_bytes(count, bits), "enough bytes");
    let mut bytes = bytes.iter();
    let (mut held, mut held_bits) = (0u128, 0);
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        while held_bits < bits {
            held |= u128::from(*bytes.next().expect("counted above")) << held_bits;
            held_bits += 8;
        }
        values.push(held as u64 & mask(bits));
        held >>= bits;
        held_bits -= bits;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Lengths around one and two words, and every number of bits.
        #[test]
        fn planes_and_packed_bytes_give_the_values_back(
            values in prop::collection::vec(any::<u64>(), 0..131),
            bits in 1u32..=64,
        ) {
            let words = plane_words(values.len());
            let mut planes = vec![0; words * bits as usize];
            to_planes(values.iter().copied(), bits, &mut planes);
            for (index, value) in values.iter().enumerate() {
                for bit in 0..bits as usize {
                    let found = planes[bit * words + index / 64] >> (index % 64) & 1;
                    prop_assert_eq!(found, value >> bit & 1);
                }
            }
            let low: Vec<u64> = values.iter().map(|v| v & mask(bits)).collect();
            let slices: Vec<&[u64]> = planes.chunks(words.max(1)).collect();
            prop_assert_eq!(from_planes(&slices, values.len()), low.clone());

            let bytes = pack(values.iter().copied(), bits);
            prop_assert_eq!(bytes.len(), packed_bytes(values.len(), bits));
            prop_assert_eq!(unpack(&bytes, values.len(), bits), low);
        }
    }
}
