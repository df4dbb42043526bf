//! An independent check of a schedule.
//!
//! *Concept.* The checker knows what a machine can do and what a trace needs, and nothing of how a schedule was found. It
//! shares no code with the passes. It replays the events by their cycles and reports the first thing that cannot be:
//! a limb that is read before it is there, a unit, port or channel that is used twice at once, a scratchpad that is
//! too full, an instruction that is missing or comes twice.

mod files;
mod intervals;
mod issue;
mod replay;
#[cfg(test)]
mod tests;

use super::machine::Machine;
use super::passes::Schedule;
use super::work::Work;
use thiserror::Error;

/// What a schedule does that the machine or the trace does not allow.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// The lists of a schedule do not belong to the work.
    #[error("the schedule has {found} {what}, expected {expected}")]
    Length {
        /// What is listed.
        what: &'static str,
        /// Number found.
        found: usize,
        /// Number expected.
        expected: usize,
    },
    /// A number of a limb or an instruction that is not there.
    #[error("event {event} names {what} {number}, of {count}")]
    Number {
        /// Place of the event.
        event: usize,
        /// What is named.
        what: &'static str,
        /// Its number.
        number: u32,
        /// How many there are.
        count: usize,
    },
    /// An instruction is issued never, or more than once.
    #[error("instruction {instruction} ({kind}) is issued {times} times, expected once")]
    Times {
        /// Instruction.
        instruction: usize,
        /// What it does.
        kind: &'static str,
        /// How often.
        times: usize,
    },
    /// A cluster or a unit that cannot execute an instruction.
    #[error("instruction {instruction} ({kind}) is placed on {found}, expected {expected}")]
    Place {
        /// Instruction.
        instruction: usize,
        /// What it does.
        kind: &'static str,
        /// Where it is placed.
        found: String,
        /// What would do.
        expected: String,
    },
    /// An instruction occupies its units or ports for another time than its closed form.
    #[error(
        "instruction {instruction} ({kind}) occupies its {what} for {found} cycles, expected {expected}"
    )]
    Duration {
        /// Instruction.
        instruction: usize,
        /// What it does.
        kind: &'static str,
        /// Units or ports.
        what: &'static str,
        /// Cycles found.
        found: u64,
        /// Cycles expected.
        expected: u64,
    },
    /// A limb that is not there when it is used.
    #[error("{reader} uses the limb {limb} in cycle {cycle}: {state}")]
    Dependence {
        /// What uses the limb.
        reader: String,
        /// The limb.
        limb: u32,
        /// The cycle.
        cycle: u64,
        /// Why it cannot.
        state: String,
    },
    /// Two users of one resource at the same time.
    #[error("{resource} is used by {first} until cycle {until}, and by {second} from cycle {from}")]
    Busy {
        /// Unit, ports or channel.
        resource: String,
        /// Who uses it first.
        first: String,
        /// Until which cycle.
        until: u64,
        /// Who uses it next.
        second: String,
        /// From which cycle.
        from: u64,
    },
    /// More limbs than the scratchpad holds.
    #[error("the scratchpad holds {found} limbs in cycle {cycle}, expected at most {capacity}")]
    Capacity {
        /// The cycle.
        cycle: u64,
        /// Limbs in it.
        found: usize,
        /// Limbs that fit.
        capacity: usize,
    },
    /// More limbs than a register file holds.
    #[error("the register file of {cluster} keeps {found} limbs, expected at most {capacity}")]
    Registers {
        /// The cluster.
        cluster: String,
        /// Most limbs that are kept between two of its instructions.
        found: usize,
        /// Limbs that fit.
        capacity: usize,
    },
    /// An output that is not in memory at the end.
    #[error("the output limb {limb} is not in memory at the end")]
    Output {
        /// The limb.
        limb: u32,
    },
    /// The schedule says that it ends when it does not.
    #[error(
        "the schedule says that it takes {found} cycles, its last event ends in cycle {expected}"
    )]
    End {
        /// What it says.
        found: u64,
        /// When it ends.
        expected: u64,
    },
}

/// Checks a schedule of this work on this machine.
///
/// # Errors
/// The first [`Violation`].
pub fn check(machine: &Machine, work: &Work, schedule: &Schedule) -> Result<(), Violation> {
    replay::Replay::new(machine, work, schedule)?.run()
}
