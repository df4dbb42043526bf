//! The processor beside the array: the words of its steps, and their times.
//!
//! The paper leaves "the serial operations" to the processor. In its code these are the modulus
//! switch, the first accumulator, the starts of channels and graph, the extraction and the key
//! switch.

use super::switch::Sizes;
use crate::spatial::machine::Machine;

/// Microseconds of steps on the processor.
pub(super) struct Times<'a>(pub(super) &'a Machine);

impl Times<'_> {
    /// Microseconds of steps that read, compute and write `words` words.
    pub(super) fn words(&self, words: usize) -> f64 {
        let processor = self.0.processor();
        words as f64 * processor.cycles_per_word / processor.clock_mhz as f64
    }

    /// Microseconds to start `count` channels or graphs.
    pub(super) fn starts(&self, count: usize) -> f64 {
        count as f64 * self.0.processor().start_us
    }

    /// Microseconds of a key switch: its products, or the read of its key from the memory if that
    /// takes longer.
    ///
    /// All rows are read. A processor may skip rows whose digit is 0, but times here do not depend
    /// on data.
    pub(super) fn key_switch(&self, sizes: &Sizes) -> f64 {
        let processor = self.0.processor();
        let words = sizes.key_words() as f64;
        let products = words * processor.cycles_per_product / processor.clock_mhz as f64;
        let memory = self.0.memory();
        let memory = memory.peak_megabytes_per_second * memory.efficiency_percent;
        let rate = (processor.megabytes_per_second as f64).min(memory as f64 / 100.0);
        products.max(4.0 * words / rate)
    }
}

/// Rounds a sample to exponents in `[0, 2N)`: first the exponents of the mask, then the exponent of
/// the body.
///
/// Rounding of the mask leaves a rest of each word. Half of the sum of all rests is subtracted from
/// the body, which is then rounded down.
pub(super) fn modulus_switch(sample: &[u32], log_2n: u32) -> Vec<u32> {
    let shift = u32::BITS - log_2n;
    let half = 1u32 << (shift - 1);
    let (mask, body) = sample.split_at(sample.len() - 1);
    let rounded = |word: &u32| word.wrapping_add(half) >> shift;
    let rest = |word: &u32| i64::from(word.wrapping_sub(rounded(word) << shift) as i32);
    let rests: i64 = mask.iter().map(rest).sum();
    let body = body[0].wrapping_sub((rests >> 1) as u32) >> shift;
    mask.iter().map(rounded).chain([body]).collect()
}

/// The accumulator of a blind rotation: mask 0, and the test polynomial times `X^-body`.
pub(super) fn accumulator(test: &[u32], rank: usize, body: u32) -> Vec<u32> {
    let n = test.len();
    let turned = (0..n).map(|i| {
        let place = (i + body as usize) % (2 * n);
        match test.get(place) {
            Some(&word) => word,
            None => test[place - n].wrapping_neg(),
        }
    });
    std::iter::repeat_n(0, rank * n).chain(turned).collect()
}

/// The sample of the constant coefficient of an accumulator of polynomials of `n` words.
pub(super) fn extract(accumulator: &[u32], n: usize) -> Vec<u32> {
    let (mask, body) = accumulator.split_at(accumulator.len() - n);
    let words = mask.chunks_exact(n).flat_map(|poly| {
        let rest = poly[1..].iter().rev().map(|word| word.wrapping_neg());
        [poly[0]].into_iter().chain(rest)
    });
    words.chain([body[0]]).collect()
}

/// The key switch of a sample, row by row.
pub(super) fn key_switch(sizes: &Sizes, sample: &[u32], key: &[u32]) -> Vec<u32> {
    let (mask, body) = sample.split_at(sizes.from);
    let mut out = vec![0u32; sizes.to + 1];
    let rests: i64 = mask.iter().map(|&word| i64::from(sizes.rest(word))).sum();
    out[sizes.to] = body[0].wrapping_sub((rests >> 1) as u32);
    let mut digits = vec![0; sizes.digits.levels() as usize];
    for (word, rows) in mask.iter().zip(key.chunks_exact(sizes.row_words())) {
        sizes.digits.digits_into(&mut digits, &[*word]);
        for (&digit, row) in digits.iter().zip(rows.chunks_exact(sizes.to + 1)) {
            for (out, &word) in out.iter_mut().zip(row) {
                *out = out.wrapping_sub(word.wrapping_mul(digit as u32));
            }
        }
    }
    out
}
