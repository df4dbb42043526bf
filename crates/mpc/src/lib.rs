//! Two parties compute on values that neither of them knows.
//!
//! A value is shared: the server and the client each hold a word, and the value is their sum modulo
//! `2^bits`. Linear maps are computed by each party on its own words. This crate computes the rest,
//! exactly: requantisation, tables, maxima, conversions, products. Both parties are semi-honest:
//! they follow the protocol and try to learn from what they see.
//!
//! - A [`Protocol`] is a function of shared values. It is made from public numbers, and knows its
//!   [`Needs`] and its [`Cost`].
//! - [`preprocess`] makes [`Material`] for the sum of all needs, before there is any input. It takes
//!   random oblivious transfers from the library `cryprot-ot`.
//! - A [`Party`] runs protocols over a [`Channel`]. Material is moved out and erased when it is used,
//!   so nothing is used twice.
//!
//! Inside, values are cut into bits, 64 values in a word, and evaluated as Boolean circuits by the
//! protocol of Goldreich, Micali and Wigderson (1987). Messages have lengths that both parties know;
//! nothing about them depends on values. `docs/adr/0031-shares-by-gmw.md` says why.
//!
//! A share is a word whose bits above the modulus are ignored where it comes in, and zero where it
//! comes out.

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
