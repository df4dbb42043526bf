//! A channel within one process.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::Duplex;

/// Creates two connected channels. Each end may move to a thread of its own.
pub fn memory_pair() -> (Duplex, Duplex) {
    let (to_second, second) = channel();
    let (to_first, first) = channel();
    (end(to_second, first), end(to_first, second))
}

fn end(to: Sender<Vec<u8>>, from: Receiver<Vec<u8>>) -> Duplex {
    let writer = MemoryWriter {
        to,
        waiting: Vec::new(),
    };
    let reader = MemoryReader {
        from,
        bytes: Vec::new(),
        at: 0,
    };
    Duplex::new(writer, reader)
}

struct MemoryWriter {
    to: Sender<Vec<u8>>,
    waiting: Vec<u8>,
}

impl Write for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let message = std::mem::take(&mut self.waiting);
        self.to
            .send(message)
            .map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "the other end is gone"))
    }
}

struct MemoryReader {
    from: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
    at: usize,
}

impl Read for MemoryReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while self.at == self.bytes.len() {
            // An empty read tells the caller that the other end is gone.
            let Ok(bytes) = self.from.recv() else {
                return Ok(0);
            };
            (self.bytes, self.at) = (bytes, 0);
        }
        let count = into.len().min(self.bytes.len() - self.at);
        into[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
