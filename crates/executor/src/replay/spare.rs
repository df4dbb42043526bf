//! Memory of limbs that are no longer needed.

use crate::outside::Limb;
use std::sync::{Arc, Mutex, PoisonError};

/// Limbs of `N` words whose memory is used again.
///
/// Adding two values of 20 limbs of `2^15` words takes 0.6 ms on one thread of a shared AMD EPYC.
/// With new memory from the operating system it takes 4.8 ms.
pub(super) struct Spare {
    n: usize,
    limbs: Mutex<Vec<Vec<u64>>>,
}

impl Spare {
    pub(super) fn new(n: usize) -> Self {
        let limbs = Mutex::default();
        Self { n, limbs }
    }

    /// Returns a limb with unspecified words. The caller overwrites all of them.
    pub(super) fn stale(&self) -> Vec<u64> {
        let mut limbs = self.limbs.lock().unwrap_or_else(PoisonError::into_inner);
        let limb = limbs.pop();
        drop(limbs);
        limb.unwrap_or_else(|| vec![0; self.n])
    }

    pub(super) fn copy(&self, limb: &[u64]) -> Vec<u64> {
        let mut words = self.stale();
        words.copy_from_slice(limb);
        words
    }

    pub(super) fn filled(&self, from: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut words = self.stale();
        words
            .iter_mut()
            .zip(from)
            .for_each(|(word, new)| *word = new);
        words
    }

    /// Takes back a limb, unless it is shared.
    pub(super) fn give(&self, limb: Limb) {
        if let Ok(words) = Arc::try_unwrap(limb) {
            self.give_words(words);
        }
    }

    pub(super) fn give_words(&self, words: Vec<u64>) {
        let mut limbs = self.limbs.lock().unwrap_or_else(PoisonError::into_inner);
        limbs.push(words);
    }
}
