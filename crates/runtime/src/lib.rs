//! The server's half of a run, on the CPU.
//!
//! *Concept.* A [`Server`] runs a [`Prepared`] program with a client's evaluation keys: a query
//! goes in, an answer comes out. A run reports every step to an observer, which may stop it. After
//! each layer the run may be [saved](Checkpoint) and resumed later. A run can be
//! [recorded](Prepared::record), lowered to a trace and [replayed](replay). This crate also runs
//! [circuits](circuit) of CKKS, BGV and BFV, and circuits on [samples](torus) of TFHE.
//!
//! *May use* `circuits` and `lower`, with the layers beneath. *Invariant*: no type here can hold a
//! client's secret. `scripts/check_layers.py` checks this. An object read from a file has the
//! fingerprint of the program that it is used with.

#![forbid(unsafe_code)]

mod checkpoint;
pub mod circuit;
mod error;
mod memory;
mod prepared;
mod record;
mod rehearse;
pub mod replay;
mod server;
pub mod torus;
mod trace_text;

pub use checkpoint::Checkpoint;
pub use error::{Error, Result};
pub use memory::Memory;
pub use prepared::Prepared;
pub use server::{Event, Report, Server, StepReport, StepResult};
pub use trace_text::{trace_from_text, trace_to_text};
