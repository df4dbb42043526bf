//! The masks of a packing's samples, as slots of plaintexts.

use super::Packing;
use ring::Modulus;
use rlwe::lwe::LweBatch;
use std::collections::HashMap;
use std::ptr;

/// The masks that one giant step of a packing multiplies with the secret.
///
/// Slot by slot this is [`LweBatch::mask`]. A dense packing reads 33 million entries, so they are
/// found by additions and bits, without a branch.
pub(super) struct Masks {
    /// For each batch the mask, then its negation: entries that wrap are negated.
    words: Vec<u32>,
    /// The first sample of every value, then the second of every value, and so on.
    rounds: Vec<Vec<Place>>,
    /// For each slot, the distance in coefficients from the body of a sample to the entry of its
    /// mask that meets the slot's entry of the secret.
    distances: Vec<u32>,
    /// Columns by which the giant step turns the sum afterwards.
    offset: usize,
    t: Modulus,
}

/// A sample in [`Masks::words`]: the words of its batch begin at `start`.
#[derive(Clone, Copy)]
struct Place {
    start: u32,
    coefficient: u32,
    /// Ones in the bits of a place in a batch, or 0 for no sample.
    bits: u32,
}

impl Masks {
    pub(super) fn new(packing: &Packing<'_, LweBatch>, giant: usize, t: Modulus) -> Self {
        let slots = packing.layout.slots();
        let bits = 2 * slots as u32 - 1;
        let mut words = vec![0]; // what no sample reads
        let mut starts: HashMap<*const LweBatch, u32> = HashMap::new();
        let most = packing.samples.iter().map(Vec::len).max().unwrap_or(0);
        let rounds = (0..most).map(|round| {
            let place = |value: usize| {
                let sample = packing.samples.get(value).and_then(|sum| sum.get(round));
                let Some(sample) = sample else {
                    return Place {
                        start: 0,
                        coefficient: 0,
                        bits: 0,
                    };
                };
                let start = *starts
                    .entry(ptr::from_ref(sample.batch))
                    .or_insert_with(|| {
                        let start = words.len() as u32;
                        extend_by(&mut words, sample.batch);
                        start
                    });
                let coefficient = sample.coefficient as u32;
                Place {
                    start,
                    coefficient,
                    bits,
                }
            };
            (0..packing.layout.values()).map(place).collect()
        });
        let rounds = rounds.collect();
        let gap = slots / packing.dimension;
        Self {
            rounds,
            words,
            distances: (0..slots)
                .map(|slot| (packing.entry(slot) * gap) as u32)
                .collect(),
            offset: giant * packing.baby_steps,
            t,
        }
    }

    /// By slot, the sum of the entries for the secret rotated left by `step`, times `unit`.
    pub(super) fn slots(&self, step: usize, unit: u64) -> Vec<u64> {
        let mut slots = vec![0; self.distances.len()];
        let columns = slots.len() / 2; // a power of two, as the number of values
        for places in &self.rounds {
            for (slot, sum) in slots.iter_mut().enumerate() {
                let (row, column) = (slot & columns, slot & (columns - 1));
                // The rotation brings the value of the slot `offset` to the left here.
                let source = row | (column.wrapping_sub(self.offset) & (columns - 1));
                let place = places[source & (places.len() - 1)];
                let distance = self.distances[row | ((column + step) & (columns - 1))];
                let word = place.coefficient.wrapping_sub(distance) & place.bits;
                *sum += u64::from(self.words[(place.start + word) as usize]);
            }
        }
        if self.rounds.len() > 1 || unit != 1 {
            slots
                .iter_mut()
                .for_each(|sum| *sum = self.t.mul(unit, self.t.reduce(*sum)));
        }
        slots
    }
}

/// Appends the mask of a batch and its negation.
fn extend_by(words: &mut Vec<u32>, batch: &LweBatch) {
    let [_, mask] = batch.words();
    let t = batch.modulus() as u32;
    words.extend(mask.iter().map(|&a| a as u32));
    words.extend(mask.iter().map(|&a| if a == 0 { 0 } else { t - a as u32 }));
}
