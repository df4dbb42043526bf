//! Streams for the library of oblivious transfers, over one ordered channel of bytes.
//!
//! `cryprot-ot` talks through the crate `cryprot-net`, which opens a QUIC connection of its own.
//! This crate has the same name and the same interface, as far as `cryprot-ot` uses it, and no
//! network: frames go into a [`Link`], and whoever owns the network carries them. The workspace
//! puts it in the place of the published crate (`docs/adr/0031-shares-by-gmw.md`).
//!
//! A [`Connection`] opens streams and sub-connections. The n-th stream of a connection belongs to
//! the n-th stream of the peer's. Every write becomes one [`Frame`], whole, so the number of bytes
//! depends only on what the protocol writes.

#![forbid(unsafe_code)]

mod link;
mod streams;
mod values;

pub use link::{Frame, Link};
pub use streams::{
    Connection, ConnectionError, ReceiveStream, ReceiveStreamBytes, ReceiveStreamTemp, SendStream,
    SendStreamBytes, SendStreamTemp,
};
