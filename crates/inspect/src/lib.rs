//! Looks into an encrypted run with the client's secret, and compares it with exact integers.
//!
//! *Concept.* An [`Inspector`] holds a [`Client`](client::Client) and observes a run of the server
//! step by step. It decrypts the accumulators that enter each table and the slots that leave it,
//! and keeps, per layer,
//!
//! - the *noise* of each accumulator: what entered the table minus what the layer makes, exactly,
//!   of the activations that the layer before really gave;
//! - *wrong* slots: those that differ from the table's value for the accumulator that entered it;
//! - *changed* activations: those that differ from the exact network's on the same image, by how
//!   much.
//!
//! Noise and wrong slots are a layer's own; changes come through all layers before it.
//!
//! *May use* both halves, `client` and `runtime`: it is for people who have both, and nothing of it
//! belongs to a server. *Invariant*: it reads a run and changes nothing of it.

#![forbid(unsafe_code)]

mod compare;
mod error;
mod exact;
mod findings;
mod inspector;
mod noise;

pub use error::{Error, Result};
pub use exact::Exact;
pub use findings::{LayerFindings, Moments};
pub use inspector::Inspector;
pub use noise::StepNoise;
