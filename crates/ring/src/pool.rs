//! A pool that keeps the memory of dropped polynomials for later ones.
//!
//! A product at N = 2^15 works on about 300 limbs of 256 KB. Fresh pages for them cost more than
//! the arithmetic on them, so a dropped polynomial leaves its words here for the next one.

use crate::words::Words;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Largest number of words kept: 256 MiB, about three products at once at the largest parameters in
/// use.
const MAX_WORDS: usize = 1 << 25;
/// Largest number of bytes that dropped polynomials leave here.
pub const POOL_BYTES: usize = 8 * MAX_WORDS;
/// Smaller buffers are left to the allocator, which keeps them by itself.
const MIN_WORDS: usize = 1 << 13;

/// Free buffers, with the one that is longest unused first.
struct Pool {
    free: VecDeque<Vec<u64>>,
    words: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool::new());

fn pool() -> MutexGuard<'static, Pool> {
    // No code that holds the lock panics between two changes that belong together.
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `len` words of unspecified content.
pub(crate) fn take(len: usize) -> Words {
    let capacity = Words::capacity_for(len);
    let found = if capacity < MIN_WORDS {
        None
    } else {
        pool().take(capacity)
    };
    found.map_or_else(|| Words::zeros(len), |buffer| Words::within(buffer, len))
}

/// Leaves `words` for a later [`take`].
pub(crate) fn give(words: Words) {
    let buffer = words.into_buffer();
    if (MIN_WORDS..=MAX_WORDS).contains(&buffer.capacity()) {
        let excess = pool().give(buffer);
        drop(excess); // outside of the lock: giving memory back takes long
    }
}

/// Gives all memory of dropped polynomials back to the system. For work whose buffers differ in
/// size.
pub fn release_pool() {
    let freed = {
        let mut pool = pool();
        pool.words = 0;
        std::mem::take(&mut pool.free)
    };
    drop(freed); // outside of the lock, as above
}

/// As [`release_pool`], and gives all other memory back that was freed. For work that has dropped
/// large objects.
pub fn return_memory() {
    release_pool();
    kernels::return_freed();
}

impl Pool {
    const fn new() -> Self {
        Self {
            free: VecDeque::new(),
            words: 0,
        }
    }

    /// The latest buffer of this capacity, or of up to an eighth more. The margin lets limbs of
    /// different bases share their memory, and the caches.
    fn take(&mut self, capacity: usize) -> Option<Vec<u64>> {
        let fits = capacity..=capacity + capacity / 8;
        let place = self
            .free
            .iter()
            .rposition(|v| fits.contains(&v.capacity()))?;
        let found = self.free.remove(place)?;
        self.words -= found.capacity();
        Some(found)
    }

    /// Adds a buffer, and returns the buffers that exceed the limit now.
    fn give(&mut self, words: Vec<u64>) -> Vec<Vec<u64>> {
        self.words += words.capacity();
        self.free.push_back(words);
        let mut excess = Vec::new();
        while self.words > MAX_WORDS {
            let oldest = self.free.pop_front().expect("the sum counts the buffers");
            self.words -= oldest.capacity();
            excess.push(oldest);
        }
        excess
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_buffer_comes_back_whole() {
        const LEN: usize = MIN_WORDS + 1; // a length nothing else in this process has
        let mut words = take(LEN);
        words.fill(7);
        words.truncate(5);
        give(words);
        let words = take(LEN);
        assert_eq!(words.len(), LEN);
    }

    #[test]
    fn a_pool_has_a_limit_and_gives_up_the_oldest() {
        const LEN: usize = MAX_WORDS / 8;
        let mut pool = Pool::new();
        for i in 0..11 {
            let mut words = Vec::with_capacity(LEN);
            words.push(i);
            let excess = pool.give(words);
            assert_eq!(excess.len(), usize::from(i >= 8));
            assert!(excess.iter().all(|v| v[0] == i - 8));
        }
        assert_eq!(pool.take(LEN + 1), None);
        assert_eq!(pool.take(LEN / 9 * 8 - 1), None);
        assert_eq!(pool.take(LEN), Some(vec![10]));
        assert_eq!(pool.take(LEN - LEN / 10), Some(vec![9]));
        assert_eq!(pool.words, 6 * LEN);
    }
}
