//! Protocols of two parties on shared values: each party holds a share, and neither knows a value.
//!
//! The shares of the server and of the client are words, and the value is their sum modulo
//! `2^bits`. Each party computes linear maps on its own words. This crate computes the other
//! operations, exactly: requantisation, tables, maxima, conversions, products. Both parties are
//! semi-honest: they follow the protocol and try to learn from the messages that they see.
//!
//! - A [`Protocol`] is a function of shared values. It is built from public numbers, and knows its
//!   [`Needs`] and its [`Cost`].
//! - [`preprocess`] generates [`Material`] for the sum of all needs, before there is any input. It
//!   takes random oblivious transfers from the library `cryprot-ot`.
//! - A [`Party`] runs protocols over a [`Channel`]. It moves material out of the store and erases
//!   it after use, so no material is used twice.
//!
//! Inside, values are cut into bits, 64 values in a word, and evaluated as Boolean circuits by the
//! protocol of Goldreich, Micali and Wigderson (1987). Messages have lengths that both parties
//! know; the lengths do not depend on values. `docs/adr/0031-shares-by-gmw.md` records the
//! decision.
//!
//! A share is a word. Functions ignore the bits above the modulus in the shares that they take, and
//! return shares in which these bits are zero.

#![forbid(unsafe_code)]

mod channel;
mod circuit;
mod cost;
mod error;
mod material;
mod party;
mod protocol;
mod slices;
#[cfg(test)]
mod tests;

pub use channel::{
    Channel, Clients, Duplex, Fingerprint, Identity, Incoming, Outgoing, Patience, Traffic, accept,
    connect, memory_pair,
};
pub use cost::{Cost, Role};
pub use error::{Error, Result};
pub use material::{Material, Needs, Squares, Triples, preprocess};
pub use party::Party;
pub use protocol::{Piece, Protocol, Requantisation};
