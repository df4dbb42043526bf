//! Frames that wait for the network, and bytes that wait for their streams.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::ReadBuf;

/// Most bytes that wait for the network. A writer that would exceed them waits.
const MAX_WAITING: usize = 8 << 20;

/// What names a stream: the numbers of its connections from the outermost one, and its own.
pub(crate) type Name = Vec<u16>;

/// Bytes of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The numbers of the stream's connections from the outermost one, and its own.
    pub stream: Vec<u16>,
    /// What was written. Empty if the stream has ended.
    pub bytes: Vec<u8>,
}

/// Both directions of one network connection. Clones are handles of the same link.
#[derive(Clone, Debug, Default)]
pub struct Link(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Tells the carrier that a frame waits, or that the link has closed.
    written: Condvar,
}

#[derive(Debug, Default)]
struct State {
    outgoing: VecDeque<Frame>,
    waiting: usize,
    writers: Vec<Waker>,
    incoming: HashMap<Name, Incoming>,
    unread: usize,
    /// The peer sends no frame any more.
    peer_closed: bool,
    closed: bool,
    failure: Option<String>,
}

impl State {
    fn wake_readers(&mut self) {
        let readers = self.incoming.values_mut();
        readers
            .filter_map(|stream| stream.reader.take())
            .for_each(Waker::wake);
    }
}

#[derive(Debug, Default)]
struct Incoming {
    bytes: VecDeque<u8>,
    has_ended: bool,
    reader: Option<Waker>,
}

impl Link {
    /// Returns a link on which nothing has been written.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits for a frame to carry. `None` when the link is closed and all frames are carried.
    pub fn next_frame(&self) -> Option<Frame> {
        let mut state = self.state();
        loop {
            if let Some(frame) = state.outgoing.pop_front() {
                state.waiting -= frame.bytes.len();
                state.writers.drain(..).for_each(Waker::wake);
                return Some(frame);
            }
            if state.closed {
                return None;
            }
            let waited = self.0.written.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// True if no frame waits, so that what was carried should be flushed.
    pub fn is_idle(&self) -> bool {
        self.state().outgoing.is_empty()
    }

    /// Gives a frame from the peer to its stream.
    pub fn deliver(&self, frame: Frame) {
        let mut state = self.state();
        state.unread += frame.bytes.len();
        let stream = state.incoming.entry(frame.stream).or_default();
        stream.has_ended |= frame.bytes.is_empty();
        stream.bytes.extend(frame.bytes);
        if let Some(reader) = stream.reader.take() {
            reader.wake();
        }
    }

    /// Ends the writing: the carrier gets what waits, and then `None`.
    pub fn close(&self) {
        self.state().closed = true;
        self.0.written.notify_all();
    }

    /// Ends all streams of the peer: it sends no frame any more.
    pub fn end_peer(&self) {
        let mut state = self.state();
        state.peer_closed = true;
        state.wake_readers();
    }

    /// Ends the link. Reads and writes that wait, and all later ones, are errors with this text.
    pub fn fail(&self, why: &str) {
        let mut state = self.state();
        state.closed = true;
        state.failure.get_or_insert_with(|| why.to_owned());
        state.writers.drain(..).for_each(Waker::wake);
        state.wake_readers();
        drop(state);
        self.0.written.notify_all();
    }

    /// True after [`Link::fail`].
    pub fn has_failed(&self) -> bool {
        self.state().failure.is_some()
    }

    /// Bytes that were delivered and that no stream has read.
    pub fn unread(&self) -> usize {
        self.state().unread
    }

    pub(crate) fn poll_write(
        &self,
        stream: &Name,
        bytes: &[u8],
        context: &Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut state = self.state();
        if let Some(failure) = &state.failure {
            return Poll::Ready(Err(io::Error::other(failure.clone())));
        }
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        // One frame may be larger than the limit: it is written whole, when nothing else waits.
        if state.waiting > 0 && state.waiting + bytes.len() > MAX_WAITING {
            state.writers.push(context.waker().clone());
            return Poll::Pending;
        }
        state.waiting += bytes.len();
        state.outgoing.push_back(Frame {
            stream: stream.clone(),
            bytes: bytes.to_vec(),
        });
        drop(state);
        self.0.written.notify_all();
        Poll::Ready(Ok(bytes.len()))
    }

    /// Tells the peer that nothing more is written to a stream.
    pub(crate) fn end(&self, stream: &Name) {
        let frame = Frame {
            stream: stream.clone(),
            bytes: Vec::new(),
        };
        self.state().outgoing.push_back(frame);
        self.0.written.notify_all();
    }

    pub(crate) fn poll_read(
        &self,
        stream: &Name,
        into: &mut ReadBuf<'_>,
        context: &Context<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.state();
        if let Some(failure) = &state.failure {
            return Poll::Ready(Err(io::Error::other(failure.clone())));
        }
        let peer_closed = state.peer_closed;
        let incoming = state.incoming.entry(stream.clone()).or_default();
        if incoming.bytes.is_empty() {
            if incoming.has_ended || peer_closed {
                return Poll::Ready(Ok(()));
            }
            incoming.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        let count = into.remaining().min(incoming.bytes.len());
        let (front, back) = incoming.bytes.as_slices();
        let first = count.min(front.len());
        into.put_slice(&front[..first]);
        into.put_slice(&back[..count - first]);
        incoming.bytes.drain(..count);
        state.unread -= count;
        Poll::Ready(Ok(()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is complete before anything can panic.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
