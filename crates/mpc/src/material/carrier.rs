//! The carrier of the library of oblivious transfers: its streams, over a channel.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use cryprot_net::{Connection, Frame, Link};
use rayon::ThreadPoolBuilder;

use crate::channel::{Channel, Incoming, Outgoing};
use crate::{Error, Result};

/// Marks the end of frames, in place of the length of a stream's name.
const END: u8 = 0xff;
/// Marks the end of frames after an error.
const FAILED: u8 = 0xfe;
/// Largest number of parts of a stream's name: about twice the longest name of the library.
const MAX_NAME: usize = 8;

/// Number of threads for the library: one polls, and one computes for each direction. They are
/// separate, since the library's computations wait for messages and would block a shared pool.
const THREADS: usize = 3;

/// Number of bytes of a frame, which carries one write of `bytes` bytes to a stream whose name has
/// `depth` numbers.
pub(super) fn frame_bytes(depth: usize, bytes: usize) -> usize {
    1 + 2 * depth + 4 + bytes
}

/// Number of bytes that each party sends after the last frame.
pub(super) const END_BYTES: usize = 1;

/// Runs a protocol of the library to its end. The other party sends `expected` bytes for it.
pub(super) fn carry<T, F>(
    channel: &mut dyn Channel,
    expected: u64,
    protocol: impl FnOnce(Connection) -> F + Send,
) -> Result<T>
where
    T: Send,
    F: Future<Output = Result<T>>,
{
    let pool = ThreadPoolBuilder::new().num_threads(THREADS).build();
    let pool = pool.map_err(|e| Error::Transfers {
        reason: format!("no threads: {e}"),
    })?;
    let link = Link::new();
    let (outgoing, incoming) = channel.halves();
    let no_thread = |e| Error::Transfers {
        reason: format!("no threads: {e}"),
    };
    let (result, sent, received) = thread::scope(|scope| {
        let writer = thread::Builder::new().spawn_scoped(scope, || {
            let written = write(outgoing, &link);
            if let Err(error) = &written {
                link.fail(&error.to_string());
            }
            written
        });
        let writer = writer.map_err(no_thread)?;
        let reader = thread::Builder::new().spawn_scoped(scope, || {
            let read = read(incoming, &link, expected);
            if let Err(error) = &read {
                link.fail(&error.to_string());
            }
            read
        });
        let reader = reader.map_err(|e| {
            link.fail("no threads");
            no_thread(e)
        })?;
        let run = || {
            let connection = Connection::new(link.clone());
            pool.install(|| futures::executor::block_on(protocol(connection)))
        };
        // The library panics if the other party's messages break its assertions.
        let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
            Err(Error::Transfers {
                reason: "the library refused the other party's messages".to_owned(),
            })
        });
        match &result {
            Ok(_) => link.close(),
            Err(error) => link.fail(&error.to_string()),
        }
        Ok((result, writer.join(), reader.join()))
    })?;
    let broken = || Error::Transfers {
        reason: "a thread of the connection broke".to_owned(),
    };
    // The other party's message is the first cause of an error. An error of the connection is the
    // cause of the library's error.
    received.map_err(|_| broken())??;
    sent.map_err(|_| broken())??;
    let result = result?;
    match link.unread() {
        0 => Ok(result),
        bytes => Err(Error::message(
            format!("{bytes} bytes that no step reads"),
            "the messages of the oblivious transfers alone",
        )),
    }
}

fn write(outgoing: &mut Outgoing, link: &Link) -> Result<()> {
    while let Some(Frame { stream, bytes }) = link.next_frame() {
        let mut head = vec![stream.len() as u8];
        head.extend(stream.iter().flat_map(|number| number.to_le_bytes()));
        head.extend((bytes.len() as u32).to_le_bytes());
        outgoing.send(&head)?;
        outgoing.send(&bytes)?;
        if link.is_idle() {
            outgoing.flush()?;
        }
    }
    outgoing.send(&[if link.has_failed() { FAILED } else { END }])?;
    outgoing.flush()
}

fn read(incoming: &mut Incoming, link: &Link, expected: u64) -> Result<()> {
    let mut left = expected;
    loop {
        let mut length = [0];
        incoming.receive(&mut length)?;
        let depth = match length[0] {
            END => {
                link.end_peer();
                return Ok(());
            }
            FAILED => {
                return Err(Error::Transfers {
                    reason: "the other party met an error".to_owned(),
                });
            }
            depth if usize::from(depth) <= MAX_NAME => usize::from(depth),
            depth => {
                let expected = format!("at most {MAX_NAME}");
                return Err(Error::message(
                    format!("a stream's name of {depth} numbers"),
                    expected,
                ));
            }
        };
        let mut head = vec![0; 2 * depth + 4];
        incoming.receive(&mut head)?;
        let (name, length) = head.split_at(2 * depth);
        let stream = name
            .chunks(2)
            .map(|n| u16::from_le_bytes([n[0], n[1]]))
            .collect();
        let length = length
            .iter()
            .rev()
            .fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        let refused =
            |found| Error::message(found, "the messages of the oblivious transfers alone");
        let whole = frame_bytes(depth, length) as u64;
        let Some(rest) = left.checked_sub(whole) else {
            let found = format!("a frame of {whole} bytes after all but {left} of {expected}");
            return Err(refused(found));
        };
        left = rest;
        link.admit(length).map_err(refused)?;
        let mut bytes = vec![0; length];
        incoming.receive(&mut bytes)?;
        link.deliver(Frame { stream, bytes }).map_err(refused)?;
    }
}
