//! The interface of `cryprot-net` 0.2: connections, streams of bytes, streams of values.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::task::{Context, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_serde::SymmetricallyFramed;
use tokio_util::codec::length_delimited::Builder;
use tokio_util::codec::{FramedRead, FramedWrite, LengthDelimitedCodec};

use crate::link::{Link, Name};
use crate::values::Values;

/// Longest value that is read, in bytes. A longer one is an error before memory is taken for it.
const MAX_VALUE: usize = 16 << 20;

/// The reason why a stream could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// A connection has no number left for another stream or sub-connection.
    #[error("a connection has 65,536 streams and sub-connections: open another")]
    TooMany,
}

/// A group of streams. Sub-connections make groups within groups.
#[derive(Debug)]
pub struct Connection {
    link: Link,
    name: Name,
    sub_connections: Arc<AtomicU16>,
    streams: u16,
}

/// The sending half of a stream of bytes.
#[derive(Debug)]
pub struct SendStreamBytes {
    link: Link,
    name: Name,
}

/// The receiving half of a stream of bytes.
#[derive(Debug)]
pub struct ReceiveStreamBytes {
    link: Link,
    name: Name,
}

/// The sending half of a stream of values.
pub type SendStream<T> =
    SymmetricallyFramed<FramedWrite<SendStreamBytes, LengthDelimitedCodec>, T, Values<T>>;

/// A stream of values that borrows a [`SendStreamBytes`].
pub type SendStreamTemp<'a, T> =
    SymmetricallyFramed<FramedWrite<&'a mut SendStreamBytes, LengthDelimitedCodec>, T, Values<T>>;

/// The receiving half of a stream of values.
pub type ReceiveStream<T> =
    SymmetricallyFramed<FramedRead<ReceiveStreamBytes, LengthDelimitedCodec>, T, Values<T>>;

/// A stream of values that borrows a [`ReceiveStreamBytes`].
pub type ReceiveStreamTemp<'a, T> =
    SymmetricallyFramed<FramedRead<&'a mut ReceiveStreamBytes, LengthDelimitedCodec>, T, Values<T>>;

/// The first half of a stream's number space is for sub-connections, so that a name says which of
/// the two it ends with.
const STREAMS: u16 = 1 << 15;

impl Connection {
    /// The outermost connection over a link. Both parties make one.
    pub fn new(link: Link) -> Self {
        Self {
            link,
            name: Name::new(),
            sub_connections: Arc::default(),
            streams: 0,
        }
    }

    /// A connection within this one. The n-th call is paired with the peer's n-th call. Nothing is
    /// sent.
    ///
    /// # Panics
    /// After 32,768 calls.
    pub fn sub_connection(&mut self) -> Self {
        let number = self.sub_connections.fetch_add(1, Ordering::Relaxed);
        assert!(number < STREAMS, "a connection has 32,768 sub-connections");
        Self {
            link: self.link.clone(),
            name: self.named(number),
            sub_connections: Arc::default(),
            streams: 0,
        }
    }

    /// Opens a stream of bytes. The n-th call is paired with the peer's n-th call to this or one of
    /// the other functions that open streams.
    ///
    /// # Errors
    /// [`ConnectionError::TooMany`].
    pub async fn byte_stream(
        &mut self,
    ) -> Result<(SendStreamBytes, ReceiveStreamBytes), ConnectionError> {
        if self.streams == STREAMS {
            return Err(ConnectionError::TooMany);
        }
        let name = self.named(STREAMS | self.streams);
        self.streams += 1;
        self.link.open(&name);
        let send = SendStreamBytes {
            link: self.link.clone(),
            name: name.clone(),
        };
        let receive = ReceiveStreamBytes {
            link: self.link.clone(),
            name,
        };
        Ok((send, receive))
    }

    /// Opens a stream of values.
    ///
    /// # Errors
    /// [`ConnectionError::TooMany`].
    pub async fn stream<T: Serialize + DeserializeOwned>(
        &mut self,
    ) -> Result<(SendStream<T>, ReceiveStream<T>), ConnectionError> {
        self.request_response_stream().await
    }

    /// Opens a stream that sends values of one type and receives values of another.
    ///
    /// # Errors
    /// [`ConnectionError::TooMany`].
    pub async fn request_response_stream<T: Serialize, S: DeserializeOwned>(
        &mut self,
    ) -> Result<(SendStream<T>, ReceiveStream<S>), ConnectionError> {
        let (send, receive) = self.byte_stream().await?;
        let send = SymmetricallyFramed::new(codec().new_write(send), Values::default());
        let receive = SymmetricallyFramed::new(codec().new_read(receive), Values::default());
        Ok((send, receive))
    }

    fn named(&self, number: u16) -> Name {
        let mut name = self.name.clone();
        name.push(number);
        name
    }
}

impl SendStreamBytes {
    /// Sends values over this stream.
    pub fn as_stream<T: Serialize>(&mut self) -> SendStreamTemp<'_, T> {
        SymmetricallyFramed::new(codec().new_write(self), Values::default())
    }
}

impl Drop for SendStreamBytes {
    /// Ends the stream. Some readers of the library read until it has ended.
    fn drop(&mut self) {
        self.link.end(&self.name);
    }
}

impl Drop for ReceiveStreamBytes {
    fn drop(&mut self) {
        self.link.shut(&self.name);
    }
}

impl ReceiveStreamBytes {
    /// Receives values over this stream.
    pub fn as_stream<T: DeserializeOwned>(&mut self) -> ReceiveStreamTemp<'_, T> {
        SymmetricallyFramed::new(codec().new_read(self), Values::default())
    }
}

impl AsyncWrite for SendStreamBytes {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.link.poll_write(&self.name, bytes, context)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The carrier of the link flushes whenever no frame waits.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for ReceiveStreamBytes {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.link.poll_read(&self.name, into, context)
    }
}

fn codec() -> Builder {
    let mut codec = LengthDelimitedCodec::builder();
    codec.max_frame_length(MAX_VALUE);
    codec
}
