//! The terms of a program, which client and server share, and the files that they exchange.
//!
//! *Concept.* A [`Verified`] program has its terms of exchange ([`Exchange`]): the parameters, the
//! evaluation keys that the server needs, where inputs and outputs lie, and a fingerprint. The
//! terms are all that a client gets. The client makes [`EvaluationKeys`] and a [`Query`], the
//! server an [`Answer`]. [`files`] has the byte form of each. Circuits of CKKS, BGV and BFV have
//! [keys](circuit::Keys) of their own.
//!
//! *May use* `bfv` and `program`. *Invariant*: nothing here holds or makes a secret, and an
//! [`Answer`] shows its outputs alone. An object read from bytes has the fingerprint of the program
//! that it is used with.

#![forbid(unsafe_code)]

mod answer;
pub mod circuit;
mod encryption_key;
mod error;
pub mod files;
pub mod hex;
mod keys;
mod label;
mod layout;
mod needs;
pub mod packing;
mod params;
mod profile;
mod query;
mod shares;
mod terms;
mod verified;

pub use answer::{Answer, RawAnswer};
pub use encryption_key::EncryptionKey;
pub use error::{Error, Result};
pub use keys::{EvaluationKey, EvaluationKeys, PackingKey};
pub use label::Label;
pub use layout::Layout;
pub use needs::{Need, Needs};
pub use params::{LoopParams, SLACK_BITS};
pub use profile::Profile;
pub use query::{Binding, Query};
pub use terms::Exchange;
pub use verified::Verified;
