//! Vector machines: wide units over limbs, a scratchpad, and a memory channel.
//!
//! *Concept.* A [`Machine`] is data. [`Work`] is a trace flattened to instructions on single limbs.
//! The [passes](schedule()) order the instructions, plan the contents of the scratchpad, and give
//! each instruction its units and its first cycle. [`check()`] replays a schedule against machine
//! and work, and shares no code with the passes. [`Streams`] are the instruction streams of a
//! schedule with rows and registers, and [`execute()`] runs them on words. [`Report`] has the time,
//! energy and traffic of a schedule. [`Component`] and [`Series`] say when each unit and channel is
//! busy, and [`timeline()`] writes a schedule to a file for a viewer.
//!
//! *May use* the trace. No cryptography is known here. *Invariant*: a schedule has each instruction
//! of the flattened trace exactly once.

mod check;
mod execute;
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
pub use execute::{
    Action, Entry, Failure, Fault, Limb, Operand, Place, Stream, Streams, Words, execute,
};
pub use machine::{Cluster, Machine, Operation, Unit, integers, scaling, varied};
pub use passes::{Assignment, Event, Eviction, Options, Order, Schedule, Spread, Stall, schedule};
pub use report::{Bound, Component, Report, Series, StepReport, Together, Traffic};
pub use timeline::{MAX_SLICES, timeline};
pub use work::{Input, Kind, MAX_TERMS, Origin, Source, Work};
