//! Executors, which run the instructions of a trace.
//!
//! *Concept.* An [`Executor`] loads a [trace](trace::Trace) once and runs it for each query. Values
//! come from an [`Outside`] and go to it, by name. [`Replay`] is the executor of the CPU. Its
//! [`replay()`] defines what a trace means, and all other backends give the same words. A backend
//! with a store of rows, such as a GPU, implements [`RowMachine`] alone, and [`Rows`] makes an
//! executor of it. `docs/backends.md` says how to write a backend.
//!
//! [`execute`] runs the instruction streams of a schedule on a simulated machine.
//!
//! *May use* `sim` for the streams, `lower` for the names of keys, `exchange` for the keys of
//! circuits, and `waves`. It knows no program and no checkpoint: these are outsides of the crate
//! `runtime`.

#![forbid(unsafe_code)]

mod circuit;
mod error;
mod executor;
mod kept;
mod outside;
mod replay;
mod results;
mod rows;

pub use circuit::{CircuitOutside, replay_circuit};
pub use error::{Error, Result};
pub use executor::{Executor, Progress, Replay, Replayed};
pub use outside::{Limb, Outside, Values};
pub use replay::{Progress as ReplayProgress, Sources, execute, replay};
pub use results::{Results, SwitchKeys, limbs_of, no_seed};
pub use rows::{OnRows, RowMachine, Rows, cost, run_plan, type_of};
