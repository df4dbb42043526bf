//! Channels: ordered bytes between the two parties, counted.
//!
//! Both parties know the length of every message beforehand, so a message has no header. `send`
//! never blocks because the other party is sending too: implementations read ahead.

mod ahead;
mod identity;
mod memory;
mod tls;
mod verify;

use std::io::{self, ErrorKind, Read, Write};

use crate::{Error, Result};

use ahead::Ahead;
pub use identity::{Fingerprint, Identity};
pub use memory::memory_pair;
pub use tls::{Patience, accept, connect};
pub use verify::Clients;

/// Counts of the bytes and rounds of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes that this party has sent.
    pub sent: u64,
    /// Bytes that this party has received.
    pub received: u64,
    /// Number of times that this party waited for an answer after it had sent something.
    pub rounds: u64,
}

/// A connection of two parties: ordered bytes in both directions.
pub trait Channel: Send {
    /// Sends all bytes. They may stay in a buffer until [`Channel::flush`].
    ///
    /// # Errors
    /// [`Error::Connection`].
    fn send(&mut self, bytes: &[u8]) -> Result<()>;

    /// Fills `bytes`, and waits until all are received.
    ///
    /// # Errors
    /// [`Error::Connection`], also if the other party has closed the connection.
    fn receive(&mut self, bytes: &mut [u8]) -> Result<()>;

    /// Sends the bytes of the buffer.
    ///
    /// # Errors
    /// [`Error::Connection`].
    fn flush(&mut self) -> Result<()>;

    /// The bytes and rounds so far, without the additions of TLS or framing.
    fn traffic(&self) -> Traffic;

    /// Both directions, for use from two threads at once. They count bytes, but no rounds.
    fn halves(&mut self) -> (&mut Outgoing, &mut Incoming);

    /// Adds rounds to the count, for messages through [`Channel::halves`].
    fn add_rounds(&mut self, rounds: u64);

    /// Sets the length of the longest message, which bounds the bytes that are read ahead.
    fn limit_ahead(&mut self, _bytes: usize) {}

    /// Exchanges messages: sends `bytes`, then receives `expected` bytes.
    ///
    /// # Errors
    /// [`Error::Connection`].
    fn exchange(&mut self, bytes: &[u8], expected: usize) -> Result<Vec<u8>> {
        self.send(bytes)?;
        self.flush()?;
        let mut received = vec![0; expected];
        self.receive(&mut received)?;
        Ok(received)
    }
}

impl<C: Channel + ?Sized> Channel for &mut C {
    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        (**self).send(bytes)
    }

    fn receive(&mut self, bytes: &mut [u8]) -> Result<()> {
        (**self).receive(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        (**self).flush()
    }

    fn traffic(&self) -> Traffic {
        (**self).traffic()
    }

    fn halves(&mut self) -> (&mut Outgoing, &mut Incoming) {
        (**self).halves()
    }

    fn add_rounds(&mut self, rounds: u64) {
        (**self).add_rounds(rounds);
    }

    fn limit_ahead(&mut self, bytes: usize) {
        (**self).limit_ahead(bytes);
    }
}

/// The sending direction of a channel.
pub struct Outgoing {
    writer: Box<dyn Write + Send>,
    bytes: u64,
}

impl Outgoing {
    /// Sends bytes, as [`Channel::send`].
    ///
    /// # Errors
    /// [`Error::Connection`].
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let doing = "sending";
        self.writer
            .write_all(bytes)
            .map_err(|source| Error::Connection { doing, source })?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Sends the bytes of the buffer, as [`Channel::flush`].
    ///
    /// # Errors
    /// [`Error::Connection`].
    pub fn flush(&mut self) -> Result<()> {
        let doing = "sending";
        self.writer
            .flush()
            .map_err(|source| Error::Connection { doing, source })
    }
}

/// The receiving direction of a channel.
pub struct Incoming {
    reader: Box<dyn Read + Send>,
    bytes: u64,
}

impl Incoming {
    /// Fills `bytes`, as [`Channel::receive`].
    ///
    /// # Errors
    /// [`Error::Connection`].
    pub fn receive(&mut self, bytes: &mut [u8]) -> Result<()> {
        let doing = "receiving";
        self.reader.read_exact(bytes).map_err(|source| {
            let source = match source.kind() {
                ErrorKind::UnexpectedEof => {
                    io::Error::new(ErrorKind::UnexpectedEof, "it closed the connection")
                }
                _ => source,
            };
            Error::Connection { doing, source }
        })?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// A channel over any writer and any reader.
///
/// The reader must take bytes from the network even while no caller reads. Otherwise two parties
/// that send long messages at once would wait for each other.
pub struct Duplex {
    outgoing: Outgoing,
    incoming: Incoming,
    rounds: u64,
    has_sent: bool,
    ahead: Option<Ahead>,
}

impl Duplex {
    /// Creates a channel of a writer and a reader.
    pub fn new(writer: impl Write + Send + 'static, reader: impl Read + Send + 'static) -> Self {
        let outgoing = Outgoing {
            writer: Box::new(writer),
            bytes: 0,
        };
        let incoming = Incoming {
            reader: Box::new(reader),
            bytes: 0,
        };
        Self {
            outgoing,
            incoming,
            rounds: 0,
            has_sent: false,
            ahead: None,
        }
    }

    /// Creates a channel whose reader takes bytes from a queue.
    fn reading_ahead(
        writer: impl Write + Send + 'static,
        reader: impl Read + Send + 'static,
        ahead: Ahead,
    ) -> Self {
        Self {
            ahead: Some(ahead),
            ..Self::new(writer, reader)
        }
    }
}

impl Channel for Duplex {
    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.has_sent |= !bytes.is_empty();
        self.outgoing.send(bytes)
    }

    fn receive(&mut self, bytes: &mut [u8]) -> Result<()> {
        if std::mem::take(&mut self.has_sent) {
            self.rounds += 1;
        }
        self.incoming.receive(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.outgoing.flush()
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            sent: self.outgoing.bytes,
            received: self.incoming.bytes,
            rounds: self.rounds,
        }
    }

    fn halves(&mut self) -> (&mut Outgoing, &mut Incoming) {
        (&mut self.outgoing, &mut self.incoming)
    }

    fn add_rounds(&mut self, rounds: u64) {
        self.rounds += rounds;
    }

    fn limit_ahead(&mut self, bytes: usize) {
        if let Some(ahead) = &self.ahead {
            ahead.limit(bytes);
        }
    }
}
