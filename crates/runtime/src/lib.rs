//! The server's half of a run, on the CPU.
//!
//! *Concept.* A [`Server`] runs a [`Prepared`] program with a client's evaluation keys: a query
//! goes in, an answer comes out. A run reports every step to an observer, which may stop it. After
//! each layer the run may be [saved](Checkpoint) and resumed later. A run can be
//! [recorded](Prepared::record), lowered to a trace and [replayed](replay_run).
//!
//! *May use* `circuits`, `lower` and `executor`, with the layers beneath. *Invariant*: no type here
//! can hold a client's secret. `scripts/check_layers.py` checks this. An object read from a file
//! has the fingerprint of the program that it is used with.

#![forbid(unsafe_code)]

mod ahead;
mod checkpoint;
mod error;
mod memory;
mod prepared;
mod record;
mod rehearse;
mod run_outside;
mod server;
mod stored_keys;
mod trace_text;

pub use circuits::{PublicRun, Refusal};

pub use checkpoint::Checkpoint;
pub use error::{Error, Result};
pub use memory::Memory;
pub use prepared::Prepared;
pub use run_outside::{RunOutside, Save, answer_of, replay_run, scheduled_run};
pub use server::{Event, Report, Server, StepReport, StepResult};
pub use stored_keys::{KeyMemory, StoredKeys};
pub use trace_text::{trace_from_text, trace_to_text};
