//! The queue of a connection: bytes that are read before a caller asks for them.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Largest number of bytes that are read ahead before a protocol sets its limit.
const FIRST: usize = 1 << 18;

/// A queue between the thread that reads a connection and the thread that uses it. Clones are
/// handles of the same queue.
#[derive(Clone)]
pub(super) struct Ahead(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    chunks: VecDeque<Vec<u8>>,
    bytes: usize,
    most: usize,
    /// True if the other party has closed the connection, or if reading has failed.
    ended: bool,
    failure: Option<io::Error>,
    /// True if the user is gone: further bytes are dropped.
    closed: bool,
}

impl Ahead {
    pub(super) fn new() -> Self {
        let state = State {
            chunks: VecDeque::new(),
            bytes: 0,
            most: FIRST,
            ended: false,
            failure: None,
            closed: false,
        };
        Self(Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }))
    }

    /// Sets the limit: at most `bytes` bytes are read ahead, and one chunk more.
    pub(super) fn limit(&self, bytes: usize) {
        self.change(|state| state.most = bytes.max(FIRST));
    }

    /// Waits until another chunk may be read.
    pub(super) fn wait_for_room(&self) {
        let mut state = self.state();
        while state.bytes >= state.most && !state.closed {
            let waited = self.0.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn push(&self, chunk: Vec<u8>) {
        self.change(|state| {
            if !state.closed && !chunk.is_empty() {
                state.bytes += chunk.len();
                state.chunks.push_back(chunk);
            }
        });
    }

    /// Marks the end: no chunk follows.
    pub(super) fn end(&self, failure: Option<io::Error>) {
        self.change(|state| {
            state.ended = true;
            state.failure = failure;
        });
    }

    /// Takes the next chunk, or `None` at the end of the connection. Waits for at most `patience`.
    pub(super) fn next(&self, patience: Duration) -> io::Result<Option<Vec<u8>>> {
        let until = Instant::now() + patience;
        let mut state = self.state();
        loop {
            if let Some(chunk) = state.chunks.pop_front() {
                state.bytes -= chunk.len();
                self.0.changed.notify_all();
                return Ok(Some(chunk));
            }
            if state.ended {
                return state.failure.take().map_or(Ok(None), Err);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let text = format!("no answer within {} s", patience.as_secs_f32());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            let waited = self.0.changed.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Drops the bytes of the queue, and all bytes that follow.
    pub(super) fn close(&self) {
        self.change(|state| {
            state.closed = true;
            state.chunks.clear();
            state.bytes = 0;
        });
    }

    /// Waits for the end of the connection, for at most `patience`.
    pub(super) fn wait_for_end(&self, patience: Duration) {
        let wait = self
            .0
            .changed
            .wait_timeout_while(self.state(), patience, |state| !state.ended);
        drop(wait);
    }

    fn change(&self, of: impl FnOnce(&mut State)) {
        of(&mut self.state());
        self.0.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is complete before anything can panic.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
