//! A cache for tables that depend on a level: each is made when first asked for, then shared.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// Map from a key to a table that is computed once and shared by all threads.
pub struct Cache<K, V> {
    map: Mutex<HashMap<K, Arc<V>>>,
}

impl<K: Eq + Hash + Clone, V> Cache<K, V> {
    /// An empty cache.
    pub fn new() -> Self {
        Self {
            map: Mutex::new(HashMap::new()),
        }
    }

    /// The value of `key`. The first call makes it with `make`.
    ///
    /// Two threads that ask for a missing key at once may both make it. One result is kept.
    pub fn get_or(&self, key: &K, make: impl FnOnce() -> V) -> Arc<V> {
        // A panic in `insert` leaves a usable map, so a poisoned lock may be used like any other.
        let lock = || self.map.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().get(key) {
            return found.clone();
        }
        let made = Arc::new(make());
        lock().entry(key.clone()).or_insert(made).clone()
    }
}

impl<K: Eq + Hash + Clone, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self::new()
    }
}
