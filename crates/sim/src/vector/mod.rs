//! Vector machines: wide units over limbs, a scratchpad, and a memory channel.
//!
//! *Concept.* A [`Machine`] is data. A [`Work`] is a trace flattened to instructions on single limbs. The
//! [passes](schedule()) order them, plan the scratchpad, and give each a unit and a cycle. [`check()`] replays a schedule
//! against machine and work, and shares no code with the passes. [`Report`] says what the schedule takes.
//!
//! *May use* the trace. No cryptography is known here. *Invariant*: what is scheduled is each instruction of the trace,
//! once.

mod check;
mod machine;
mod passes;
mod report;
#[cfg(test)]
mod testing;
mod work;

pub use check::{Violation, check};
pub use machine::{Cluster, Machine, Operation, Unit};
pub use passes::{Event, Eviction, Options, Order, Place, Schedule, Spread, Stall, schedule};
pub use report::{Bound, Report, Traffic};
pub use work::{Input, Kind, MAX_TERMS, Source, Work};
