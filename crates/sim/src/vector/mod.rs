//! Vector machines: wide units over limbs, a scratchpad, and a memory channel.
//!
//! *Concept.* A [`Machine`] is data. A [`Work`] is a trace flattened to instructions on single limbs. The
//! [passes](schedule()) order them, plan the scratchpad, and give each a unit and a cycle. [`check()`] replays a schedule
//! against machine and work, and shares no code with the passes. [`Report`] says what the schedule takes,
//! [`Component`] and [`Series`] what each part does when, and [`timeline()`] writes it for a viewer.
//!
//! *May use* the trace. No cryptography is known here. *Invariant*: what is scheduled is each instruction of the trace,
//! once.

mod check;
mod machine;
mod passes;
mod report;
#[cfg(test)]
mod testing;
mod timeline;
mod tracks;
mod words;
mod work;

pub use check::{Violation, check};
pub use machine::{Cluster, Machine, Operation, Unit, integers, scaling, varied};
pub use passes::{Event, Eviction, Options, Order, Place, Schedule, Spread, Stall, schedule};
pub use report::{Bound, Component, Report, Series, StepReport, Together, Traffic};
pub use timeline::{MAX_SLICES, timeline};
pub use work::{Input, Kind, MAX_TERMS, Source, Work};
