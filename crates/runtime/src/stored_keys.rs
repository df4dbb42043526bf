//! Evaluation keys that lie in files, and are in memory while there is room for them.
//!
//! In memory, keys take 3.6 times the room of their file: masks are expanded from a seed, and
//! residues fill whole words. A server of many clients holds the keys of those that it serves now.

use crate::error::{Error, Result};
use exchange::files::read_some_keys;
use exchange::{EvaluationKeys, Exchange, Label, Needs};
use rlwe::bytes::Fingerprint;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A budget of memory for the keys of many clients. Keys that are longest unused are dropped for
/// others. The latest keys stay, even if they alone exceed the budget.
pub struct KeyMemory {
    state: Mutex<State>,
}

struct State {
    /// In bytes.
    budget: u64,
    /// Keys in memory, with those that are longest unused first.
    held: Vec<Held>,
}

struct Held {
    id: u64,
    /// Bytes in memory, with everything that a run adds.
    bytes: u64,
    keys: Arc<EvaluationKeys>,
}

impl KeyMemory {
    /// Makes a budget of so many bytes, of which nothing is taken.
    pub const fn new(budget: u64) -> Self {
        let held = Vec::new();
        Self {
            state: Mutex::new(State { budget, held }),
        }
    }

    /// Changes the budget, and drops keys that exceed it.
    pub fn set_budget(&self, bytes: u64) {
        let mut state = self.lock();
        state.budget = bytes;
        let dropped = state.make_room(0);
        drop(state);
        give_back(dropped);
    }

    /// The budget, in bytes.
    pub fn budget(&self) -> u64 {
        self.lock().budget
    }

    /// Bytes of the keys in memory. Keys that were dropped while a run uses them are not counted.
    pub fn held(&self) -> u64 {
        self.lock().bytes()
    }

    /// The keys `id`, if they are in memory. They count as used now.
    fn get(&self, id: u64) -> Option<Arc<EvaluationKeys>> {
        let mut state = self.lock();
        let place = state.held.iter().position(|held| held.id == id)?;
        state.held[place..].rotate_left(1);
        state.held.last().map(|held| Arc::clone(&held.keys))
    }

    /// Whether the keys `id` are in memory. They do not count as used.
    fn has(&self, id: u64) -> bool {
        self.lock().held.iter().any(|held| held.id == id)
    }

    /// Drops keys until there is room for `bytes` more, or nothing is left.
    fn make_room(&self, bytes: u64) {
        let dropped = self.lock().make_room(bytes);
        give_back(dropped);
    }

    fn keep(&self, id: u64, bytes: u64, keys: &Arc<EvaluationKeys>) {
        let keys = Arc::clone(keys);
        let mut state = self.lock();
        let dropped = state.make_room(bytes);
        state.held.push(Held { id, bytes, keys });
        drop(state);
        give_back(dropped);
    }

    fn release(&self, id: u64) -> bool {
        let mut state = self.lock();
        let place = state.held.iter().position(|held| held.id == id);
        let dropped = place.map(|place| state.held.remove(place));
        drop(state);
        let found = dropped.is_some();
        give_back(dropped);
        found
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock panics between two changes that belong together.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn bytes(&self) -> u64 {
        self.held.iter().map(|held| held.bytes).sum()
    }

    /// Takes out keys until there is room for `bytes` more. Of the keys that are there, the latest
    /// stay if nothing is to be added.
    fn make_room(&mut self, bytes: u64) -> Vec<Held> {
        let least = usize::from(bytes == 0);
        let mut dropped = Vec::new();
        while self.held.len() > least && self.bytes().saturating_add(bytes) > self.budget {
            dropped.push(self.held.remove(0));
        }
        dropped
    }
}

/// Gives the memory of keys back to the system. The caller does not hold the lock, because that
/// takes long.
fn give_back(dropped: impl IntoIterator<Item = Held>) {
    let mut dropped = dropped.into_iter().peekable();
    if dropped.peek().is_some() {
        dropped.for_each(drop);
        ring::return_memory();
    }
}

/// The evaluation keys of one client in one file, or in several that complete each other.
///
/// The files must stay as they are. [`get`](Self::get) reads them again where the keys have left
/// the memory.
pub struct StoredKeys {
    memory: Arc<KeyMemory>,
    id: u64,
    exchange: Exchange,
    files: Vec<StoredFile>,
    label: Label,
    needs: Needs,
    /// Bytes in memory, with everything that a run adds.
    bytes: u64,
    /// Held while the files are read, so that two runs do not read them at once.
    reading: Mutex<()>,
}

struct StoredFile {
    path: PathBuf,
    /// The checksum at its end.
    checksum: Fingerprint,
}

impl StoredKeys {
    /// Reads the keys that a program needs. Others are passed over. They stay in memory while there
    /// is room.
    ///
    /// # Errors
    /// [`Error::Unreadable`] for a file that cannot be read, and otherwise as
    /// [`keys_from_bytes`](exchange::files::keys_from_bytes) and [`EvaluationKeys::merge`].
    pub fn open(memory: &Arc<KeyMemory>, exchange: &Exchange, paths: &[PathBuf]) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        memory.make_room(in_memory(exchange, &exchange.needs())?);
        let (keys, files) = read(exchange, paths)?;
        keys.check(&exchange.needs())?;
        let needs = keys.needs();
        let stored = Self {
            memory: Arc::clone(memory),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            exchange: exchange.clone(),
            files,
            label: *keys.label(),
            bytes: in_memory(exchange, &needs)?,
            needs,
            reading: Mutex::new(()),
        };
        memory.keep(stored.id, stored.bytes, &Arc::new(keys));
        Ok(stored)
    }

    /// The keys. They are read again if they have left the memory.
    ///
    /// # Errors
    /// [`Error::Unreadable`] for a file that cannot be read, [`Error::Replaced`] for one that has
    /// other content than before, and [`exchange::Error::Bytes`] for a damaged one.
    pub fn get(&self) -> Result<Arc<EvaluationKeys>> {
        if let Some(keys) = self.memory.get(self.id) {
            return Ok(keys);
        }
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(keys) = self.memory.get(self.id) {
            return Ok(keys);
        }
        self.memory.make_room(self.bytes);
        let paths: Vec<PathBuf> = self.files.iter().map(|file| file.path.clone()).collect();
        let (keys, files) = read(&self.exchange, &paths)?;
        let mut pairs = files.iter().zip(&self.files);
        if let Some((now, _)) = pairs.find(|(now, before)| now.checksum != before.checksum) {
            let path = now.path.clone();
            return Err(Error::Replaced { path });
        }
        let keys = Arc::new(keys);
        self.memory.keep(self.id, self.bytes, &keys);
        Ok(keys)
    }

    /// Whether the keys are in memory now.
    pub fn in_memory(&self) -> bool {
        self.memory.has(self.id)
    }

    /// Drops the keys from memory. A run that uses them keeps them to its end. Returns whether they
    /// were in memory.
    pub fn release(&self) -> bool {
        self.memory.release(self.id)
    }

    /// Name and life of the keys.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// The keys that the program needs and the files have.
    pub fn needs(&self) -> &Needs {
        &self.needs
    }
}

impl Drop for StoredKeys {
    fn drop(&mut self) {
        self.release();
    }
}

/// Bytes in memory of keys that have been used.
fn in_memory(exchange: &Exchange, needs: &Needs) -> Result<u64> {
    let params = exchange.params();
    let bytes = needs.byte_len(params)? + needs.baby_steps_byte_len(params)?;
    Ok(bytes as u64)
}

/// Reads the keys of all files.
fn read(exchange: &Exchange, paths: &[PathBuf]) -> Result<(EvaluationKeys, Vec<StoredFile>)> {
    let mut all: Option<EvaluationKeys> = None;
    let mut files = Vec::new();
    for path in paths {
        let (keys, checksum) = read_file(exchange, path)?;
        let path = path.clone();
        files.push(StoredFile { path, checksum });
        match &mut all {
            Some(all) => all.merge(keys)?,
            None => all = Some(keys),
        }
    }
    Ok((all.unwrap_or_default(), files))
}

fn read_file(exchange: &Exchange, path: &Path) -> Result<(EvaluationKeys, Fingerprint)> {
    let unreadable = |source| Error::Unreadable {
        path: path.into(),
        source,
    };
    let file = File::open(path).map_err(unreadable)?;
    read_some_keys(exchange, file).map_err(|error| match error {
        exchange::Error::Io(source) => unreadable(source),
        other => other.into(),
    })
}
