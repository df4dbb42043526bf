//! Evaluation of circuits: of [slots](circuit) in CKKS, BGV and BFV, and of [samples](torus) in
//! TFHE.
//!
//! *Concept.* A circuit is run in the clear, encrypted, or dry: for the precision, noise or failure
//! probability of its results. A run can be recorded, lowered to a trace and replayed.
//!
//! *May use* `circuits`, `lower` and `executor`, with the layers beneath. *Invariant*: no type here
//! can hold a client's secret. `scripts/check_layers.py` checks this.

#![forbid(unsafe_code)]

pub mod circuit;
mod error;
pub mod torus;

pub use error::{Error, Result};
