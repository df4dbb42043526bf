//! Frames that wait for the network, and bytes that wait for their streams.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::ReadBuf;

/// Most bytes that wait for the network. A writer that would exceed this number waits.
const MAX_WAITING: usize = 8 << 20;
/// Most memory that the peer's unread frames may take, with [`FRAME`] for each. The library reads a
/// message of some megabytes before the next one is sent.
const MAX_UNREAD: usize = 32 << 20;
/// Least memory that a frame counts for: its bytes have a buffer of their own.
const FRAME: usize = 256;
/// Most streams of the peer that this party has not opened yet. The parties run the same steps, and
/// one of them is ahead of the other by the streams of a step, which are below ten.
const MAX_UNOPENED: usize = 64;

/// The name of a stream: the numbers of its connections from the outermost one, and its own number.
pub(crate) type Name = Vec<u16>;

/// Bytes of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Name of the stream: the numbers of its connections from the outermost one, and its own
    /// number.
    pub stream: Vec<u16>,
    /// The bytes that the stream's writer wrote. Empty if the stream has ended.
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
    /// Streams of the peer that this party has not opened.
    unopened: usize,
    /// Bytes that no stream has read, and the memory that their frames count for.
    unread: usize,
    held: usize,
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
    /// Frames, and the number of bytes of the first frame that are already read.
    frames: VecDeque<Vec<u8>>,
    at: usize,
    is_open: bool,
    has_ended: bool,
    reader: Option<Waker>,
}

fn memory(frame: &[u8]) -> usize {
    frame.len().max(FRAME)
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

    /// Returns true if no frame waits. The carrier should then flush the frames that it has
    /// written.
    pub fn is_idle(&self) -> bool {
        self.state().outgoing.is_empty()
    }

    /// Checks that a frame of `bytes` bytes may be delivered. Call it before the frame takes
    /// memory.
    ///
    /// # Errors
    /// A sentence with the number of bytes that exceeds the limit.
    pub fn admit(&self, bytes: usize) -> Result<(), String> {
        let held = self.state().held;
        if held + bytes.max(FRAME) > MAX_UNREAD {
            return Err(format!(
                "a frame of {bytes} bytes, beside {held} bytes of memory for unread ones, expected \
                 at most {MAX_UNREAD} in all"
            ));
        }
        Ok(())
    }

    /// Gives a frame from the peer to its stream. An empty frame ends the stream.
    ///
    /// # Errors
    /// A sentence that says which rule the frame breaks: the frame follows the end of its stream,
    /// the peer has too many streams that this party has not opened, or too many bytes are unread.
    /// Such a frame is dropped.
    pub fn deliver(&self, frame: Frame) -> Result<(), String> {
        self.admit(frame.bytes.len())?;
        let mut state = self.state();
        let state = &mut *state;
        let is_known = state.incoming.contains_key(&frame.stream);
        if !is_known && state.unopened == MAX_UNOPENED {
            return Err(format!(
                "more than {MAX_UNOPENED} streams that no step has opened"
            ));
        }
        state.unopened += usize::from(!is_known);
        let stream = state.incoming.entry(frame.stream).or_default();
        if stream.has_ended {
            return Err("a frame after the end of its stream".to_owned());
        }
        if frame.bytes.is_empty() {
            stream.has_ended = true;
        } else {
            state.unread += frame.bytes.len();
            state.held += memory(&frame.bytes);
            stream.frames.push_back(frame.bytes);
        }
        if let Some(reader) = stream.reader.take() {
            reader.wake();
        }
        Ok(())
    }

    /// Says that this party reads a stream.
    pub(crate) fn open(&self, stream: &Name) {
        let mut state = self.state();
        let state = &mut *state;
        let is_known = state.incoming.contains_key(stream);
        let incoming = state.incoming.entry(stream.clone()).or_default();
        if is_known && !incoming.is_open {
            state.unopened -= 1;
        }
        incoming.is_open = true;
    }

    /// Drops the frames of a stream that nobody reads any more. The stream's name stays, so that a
    /// later frame opens no new stream. The dropped bytes still count as unread.
    pub(crate) fn shut(&self, stream: &Name) {
        let mut state = self.state();
        let state = &mut *state;
        if let Some(incoming) = state.incoming.get_mut(stream) {
            let left = std::mem::take(&mut incoming.frames);
            state.held -= left.iter().map(|frame| memory(frame)).sum::<usize>();
        }
    }

    /// Ends the writing: the carrier gets the frames that wait, and then `None`.
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
        let state = &mut *state;
        let incoming = state.incoming.entry(stream.clone()).or_default();
        let Some(frame) = incoming.frames.front() else {
            if incoming.has_ended || state.peer_closed {
                return Poll::Ready(Ok(()));
            }
            incoming.reader = Some(context.waker().clone());
            return Poll::Pending;
        };
        let part = &frame[incoming.at..];
        let count = into.remaining().min(part.len());
        into.put_slice(&part[..count]);
        incoming.at += count;
        state.unread -= count;
        if incoming.at == frame.len() {
            state.held -= memory(frame);
            incoming.frames.pop_front();
            incoming.at = 0;
        }
        Poll::Ready(Ok(()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is complete before anything can panic.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
