//! Inspects an encrypted run with the client's secret, and compares it with exact integers.
//!
//! *Concept.* An [`Inspector`] holds a [`Client`](client::Client) and observes a run of the server
//! step by step. It decrypts the accumulators that enter each table and the slots that leave it.
//! For each layer it keeps
//!
//! - the *noise* of each accumulator: the value that entered the table, minus the layer's exact
//!   value for the actual activations of the layer before;
//! - *wrong* slots: the slots that differ from the table's value for the accumulator that entered
//!   it;
//! - *changed* activations: their differences from the exact network on the same image.
//!
//! Noise and wrong slots come from the layer itself. Changes come from all layers before it too.
//!
//! [`packing`] runs one layer in a packing, encrypted, and compares it with the layer on integers.
//!
//! *May use* both halves, `client` and `runtime`. It is for people who have both, and no part of it
//! belongs on a server. *Invariant*: it reads a run and does not change it.

#![forbid(unsafe_code)]

mod compare;
mod error;
mod exact;
mod findings;
mod inspector;
mod noise;
pub mod packing;

pub use error::{Error, Result};
pub use exact::Exact;
pub use findings::{LayerFindings, Moments};
pub use inspector::Inspector;
pub use noise::StepNoise;
