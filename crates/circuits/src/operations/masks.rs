//! The masks of a packing's samples, as slots of plaintexts.

use super::Packing;
use bfv::Encoder;
use ring::{Modulus, for_each_limb};
use rlwe::lwe::LweBatch;
use std::collections::HashMap;
use std::ptr;

/// A cache line, in words of [`Masks::words`].
const LINE: usize = 16;

/// The masks that a packing multiplies with the secret, for all its giant steps.
///
/// Slot by slot this is [`LweBatch::mask`]. A dense packing reads 33 million entries, so they are
/// found by additions and bits, without a branch. The entries of one sample's mask lie in a row, so
/// the products of consecutive baby steps read the same cache lines.
#[derive(Debug)]
pub struct Masks {
    /// Rows of `2n` words, for a batch and a coefficient modulo `N/n` each: the words of the
    /// batch's mask at these coefficients, then their negations, for entries that wrap. One line of
    /// zeros comes first, for slots that take no sample.
    words: Vec<u32>,
    /// The first sample of every value, then the second of every value, and so on.
    rounds: Vec<Vec<Place>>,
    /// The entry of the secret in each slot.
    entries: Vec<u32>,
    baby_steps: usize,
    t: Modulus,
}

/// A sample in [`Masks::words`]: its row begins at `start`.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u32,
    /// Place in the row of entry 0 of the sample's mask. Entry `j` is `j` words before it.
    first: u32,
    /// Ones in the bits of a place in a row, or 0 for no sample.
    bits: u32,
}

/// No sample: all entries are the zero at the start of the words.
const NOWHERE: Place = Place {
    start: 0,
    first: 0,
    bits: 0,
};

impl Masks {
    pub(super) fn new(packing: &Packing<'_, LweBatch>, t: Modulus) -> Self {
        let (slots, row) = (packing.layout.slots(), 2 * packing.dimension);
        let gap = slots / packing.dimension;
        let mut rows: Vec<(&LweBatch, usize)> = Vec::new();
        let mut numbers: HashMap<(*const LweBatch, usize), usize> = HashMap::new();
        let most = packing.samples.iter().map(Vec::len).max().unwrap_or(0);
        let rounds = (0..most).map(|round| {
            let place = |value: usize| {
                let sample = packing.samples.get(value).and_then(|sum| sum.get(round));
                let Some(sample) = sample else {
                    return NOWHERE;
                };
                let class = sample.coefficient % gap;
                let number = *numbers
                    .entry((ptr::from_ref(sample.batch), class))
                    .or_insert_with(|| {
                        rows.push((sample.batch, class));
                        rows.len() - 1
                    });
                Place {
                    start: (LINE + number * row) as u32,
                    first: (sample.coefficient / gap) as u32,
                    bits: row as u32 - 1,
                }
            };
            (0..packing.layout.values()).map(place).collect()
        });
        let rounds = rounds.collect();
        let mut words = vec![0; LINE + rows.len() * row];
        for_each_limb(row, &mut words[LINE..], |number, words| {
            fill(words, rows[number], gap);
        });
        Self {
            rounds,
            words,
            entries: (0..slots).map(|slot| packing.entry(slot) as u32).collect(),
            baby_steps: packing.baby_steps,
            t,
        }
    }

    /// The plaintext with, by slot, the sum of the entries for the secret rotated left by `step`,
    /// times `unit`. Giant step `giant` takes the product.
    pub(super) fn centred(
        &self,
        encoder: &Encoder,
        giant: usize,
        step: usize,
        unit: u64,
    ) -> Vec<i32> {
        let columns = self.entries.len() / 2; // a power of two, as the number of values
        // The giant step turns the sum by this afterwards.
        let offset = giant * self.baby_steps;
        let word = |places: &[Place], slot: usize| {
            let (row, column) = (slot & columns, slot & (columns - 1));
            // The rotation brings the value of the slot `offset` to the left here.
            let source = row | (column.wrapping_sub(offset) & (columns - 1));
            let place = places[source & (places.len() - 1)];
            let entry = self.entries[row | ((column + step) & (columns - 1))];
            let word = place.first.wrapping_sub(entry) & place.bits;
            u64::from(self.words[(place.start + word) as usize])
        };
        match (&*self.rounds, unit) {
            ([places], 1) => encoder.slots_to_centred(|slot| word(places, slot)),
            (rounds, unit) => encoder.slots_to_centred(|slot| {
                let sum = rounds.iter().map(|places| word(places, slot)).sum();
                self.t.mul(unit, self.t.reduce(sum))
            }),
        }
    }
}

/// Writes the words of a batch's mask at the coefficients `class`, `class + gap` and so on. Their
/// negations come after them.
fn fill(row: &mut [u32], (batch, class): (&LweBatch, usize), gap: usize) {
    let [_, mask] = batch.words();
    let t = batch.modulus() as u32;
    let (column, negated) = row.split_at_mut(mask.len() / gap);
    let entries = mask[class..].iter().step_by(gap).map(|&a| a as u32);
    for ((word, negative), a) in column.iter_mut().zip(negated).zip(entries) {
        *word = a;
        *negative = if a == 0 { 0 } else { t - a };
    }
}
