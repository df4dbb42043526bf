//! A pool that keeps the memory of dropped polynomials for later ones.
//!
//! A product at N = 2^15 works on about 300 limbs of 256 KB. Fresh pages for them cost more than
//! the arithmetic on them, so a dropped polynomial leaves its words here for the next one.
//!
//! A table holds a gigabyte of powers and drops them at its end. While a [`Reuse`] lives, the pool
//! keeps as much as fills the gap to the most that was in use at once. So the next table takes no
//! fresh pages, and the process no more memory than at its peak. Tables of 65,537 entries in turn
//! take 10 % less than with a pool of [`POOL_BYTES`] alone (Xeon, two threads, 2026-11-30).

use crate::words::Words;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of words that are kept in any case: 256 MiB, about three products at once at the largest
/// parameters in use.
const MAX_WORDS: usize = 1 << 25;
/// Largest number of bytes that dropped polynomials leave here, or, while a [`Reuse`] lives, that
/// they leave beyond the most that was in use at once.
pub const POOL_BYTES: usize = 8 * MAX_WORDS;
/// Smaller buffers are left to the allocator, which keeps them by itself.
const MIN_WORDS: usize = 1 << 13;

/// Free buffers, with the one that is longest unused first.
struct Pool {
    free: VecDeque<Vec<u64>>,
    words: usize,
    /// Words of polynomials in use, now and at most since the first [`Reuse`] that lives was made.
    used: usize,
    most: usize,
    reuses: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool::new());

fn pool() -> MutexGuard<'static, Pool> {
    // No code that holds the lock panics between two changes that belong together.
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `len` words of unspecified content.
pub(crate) fn take(len: usize) -> Words {
    let capacity = Words::capacity_for(len);
    if capacity < MIN_WORDS {
        return Words::zeros(len);
    }
    let (found, excess) = pool().take(capacity);
    drop(excess); // outside of the lock: giving memory back takes long
    found.map_or_else(|| Words::zeros(len), |buffer| Words::within(buffer, len))
}

/// Leaves `words` for a later [`take`].
pub(crate) fn give(words: Words) {
    let buffer = words.into_buffer();
    if buffer.capacity() >= MIN_WORDS {
        let excess = pool().give(buffer);
        drop(excess); // outside of the lock, as above
    }
}

/// Gives all memory of dropped polynomials back to the system. For work whose buffers differ in
/// size.
pub fn release_pool() {
    let freed = pool().release();
    drop(freed); // outside of the lock, as above
}

/// Work whose polynomials follow each other, as those of a run do. While it lives, dropped
/// polynomials leave as much memory as was in use at once. The last one gives all but
/// [`POOL_BYTES`] back to the system.
#[derive(Debug)]
pub struct Reuse(());

impl Reuse {
    /// Begins such work.
    pub fn begin() -> Self {
        pool().begin();
        Self(())
    }
}

impl Drop for Reuse {
    fn drop(&mut self) {
        let freed = pool().end();
        drop(freed); // outside of the lock, as above
    }
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
            used: 0,
            most: 0,
            reuses: 0,
        }
    }

    /// The latest buffer of this capacity, or of up to an eighth more. The margin lets limbs of
    /// different bases share their memory, and the caches. Without one, the caller makes a buffer
    /// of this capacity, and others that exceed the limit then are returned.
    fn take(&mut self, capacity: usize) -> (Option<Vec<u64>>, Vec<Vec<u64>>) {
        let fits = capacity..=capacity + capacity / 8;
        let place = self.free.iter().rposition(|v| fits.contains(&v.capacity()));
        let found = place.and_then(|place| self.free.remove(place));
        let taken = found.as_ref().map_or(capacity, Vec::capacity);
        if found.is_some() {
            self.words -= taken;
        }
        self.used += taken;
        self.most = self.most.max(self.used);
        (found, self.excess(self.limit()))
    }

    /// Adds a buffer, and returns the buffers that exceed the limit now.
    fn give(&mut self, words: Vec<u64>) -> Vec<Vec<u64>> {
        self.used = self.used.saturating_sub(words.capacity());
        if words.capacity() > self.limit() {
            return vec![words];
        }
        self.words += words.capacity();
        self.free.push_back(words);
        self.excess(self.limit())
    }

    /// Returns all buffers. The most in use counts from now on.
    fn release(&mut self) -> Vec<Vec<u64>> {
        self.most = self.used;
        self.excess(0)
    }

    fn begin(&mut self) {
        if self.reuses == 0 {
            self.most = self.used;
        }
        self.reuses += 1;
    }

    /// Returns the buffers that exceed the limit now.
    fn end(&mut self) -> Vec<Vec<u64>> {
        self.reuses -= 1;
        self.excess(self.limit())
    }

    /// Largest number of words to keep.
    fn limit(&self) -> usize {
        match self.reuses {
            0 => MAX_WORDS,
            _ => MAX_WORDS.max(self.most - self.used),
        }
    }

    /// The buffers that exceed `limit` words.
    fn excess(&mut self, limit: usize) -> Vec<Vec<u64>> {
        let mut excess = Vec::new();
        while self.words > limit {
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

    const LEN: usize = MAX_WORDS / 8;

    /// A buffer that was never taken.
    fn buffer(first: u64) -> Vec<u64> {
        let mut words = Vec::with_capacity(LEN);
        words.push(first);
        words
    }

    #[test]
    fn a_pool_has_a_limit_and_gives_up_the_oldest() {
        let mut pool = Pool::new();
        for i in 0..11 {
            let excess = pool.give(buffer(i));
            assert_eq!(excess.len(), usize::from(i >= 8));
            assert!(excess.iter().all(|v| v[0] == i - 8));
        }
        let large = Vec::with_capacity(MAX_WORDS + 1);
        assert_eq!(pool.give(large).len(), 1);
        assert_eq!(pool.words, 8 * LEN);
        assert_eq!(pool.take(LEN / 9 * 8 - 1).0, None);
        assert_eq!(pool.take(LEN).0, Some(vec![10]));
        assert_eq!(pool.take(LEN - LEN / 10).0, Some(vec![9]));
        assert_eq!(pool.words, 6 * LEN);
    }

    #[test]
    fn a_pool_keeps_what_was_in_use_at_once() {
        let mut pool = Pool::new();
        pool.begin();
        assert!((0..20).all(|_| pool.take(LEN) == (None, vec![])));
        assert!((0..20).all(|i| pool.give(buffer(i)).is_empty()));
        assert_eq!((pool.used, pool.words), (0, 20 * LEN));
        // Twelve buffers fill the gap to the most in use. A larger one that none of them can be
        // takes the place of the oldest two.
        assert!((0..8).all(|_| pool.take(LEN).0.is_some()));
        let (found, excess) = pool.take(2 * LEN);
        assert_eq!((found, excess), (None, vec![vec![0], vec![1]]));
        assert_eq!(pool.end().len(), 2);
        assert_eq!((pool.used, pool.words), (10 * LEN, 8 * LEN));
        // Without such work the limit is that of all times, and a new one counts anew.
        assert_eq!(pool.give(buffer(9)).len(), 1);
        pool.begin();
        assert_eq!((pool.used, pool.most), (9 * LEN, 9 * LEN));
        assert_eq!(pool.release().len(), 8);
    }
}
