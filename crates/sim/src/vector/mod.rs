//! Vector machines: wide units over limbs, a scratchpad, and a memory channel.
//!
//! *Concept.* A [`Machine`] is data. A [`Work`] is a trace flattened to instructions on single limbs.
//!
//! *May use* the trace. No cryptography is known here. *Invariant*: what is scheduled is each instruction of the trace,
//! once.

mod machine;
mod work;

pub use machine::{Cluster, Machine, Operation, Unit};
pub use work::{Input, Kind, MAX_TERMS, Source, Work};
