//! The execution of a schedule: instruction streams with places, run on words in cycle order.
//!
//! *Concept.* [`Streams`] has an instruction stream for each unit, for the memory channel and for
//! the generators. Every operand is named by its place: a row of the scratchpad or a register.
//! `assign` chooses the places, from the events of a schedule alone. [`execute()`] runs streams
//! in order of their cycles. It knows no limb by its name: a row that was written again holds the
//! new words, so a wrong schedule gives wrong words or a [`Fault`]. The arithmetic comes from
//! outside, as [`Words`]. [`Streams::to_bytes`] and [`Streams::to_texts`] write the files.
//!
//! *May use* the schedule, the machine and the work. It shares no code with the passes or with the
//! checker.

mod assign;
mod binary;
mod fault;
mod run;
mod streams;
mod text;
mod verify;

pub use fault::{Failure, Fault};
pub use run::{Limb, Words, execute};
pub use streams::{Action, Entry, Operand, Place, Stream, Streams};
