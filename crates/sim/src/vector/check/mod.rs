//! An independent checker of schedules.
//!
//! *Concept.* The checker knows the abilities of the machine and the needs of the trace, and
//! nothing of the search for the schedule. It shares no code with the passes. It replays the events
//! in order of their cycles and reports the first violation: a limb that is read before it is
//! available, a unit, port or channel that is used twice at once, a scratchpad that is too full, an
//! instruction that is missing or repeated.

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

/// A fault of a schedule: something that the machine or the trace does not allow.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// A list of the schedule does not have the length that the work needs.
    #[error("the schedule has {found} {what}, expected {expected}")]
    Length {
        /// Name of the list.
        what: &'static str,
        /// Number found.
        found: usize,
        /// Number expected.
        expected: usize,
    },
    /// An event names a limb or an instruction that does not exist.
    #[error("event {event} names {what} {number}, of {count}")]
    Number {
        /// Index of the event.
        event: usize,
        /// `"limb"` or `"instruction"`.
        what: &'static str,
        /// The number that the event names.
        number: u32,
        /// Number of limbs or instructions in the work.
        count: usize,
    },
    /// An instruction is never issued, or more than once.
    #[error("instruction {instruction} ({kind}) is issued {times} times, expected once")]
    Times {
        /// Number of the instruction.
        instruction: usize,
        /// Name of its operation.
        kind: &'static str,
        /// Number of times that the instruction is issued.
        times: usize,
    },
    /// An instruction is on a cluster or a unit that cannot execute it.
    #[error("instruction {instruction} ({kind}) is placed on {found}, expected {expected}")]
    Place {
        /// Number of the instruction.
        instruction: usize,
        /// Name of its operation.
        kind: &'static str,
        /// Cluster or unit of the schedule.
        found: String,
        /// Clusters or units that can execute it.
        expected: String,
    },
    /// An instruction does not occupy its units or ports for the cycles of the closed form.
    #[error(
        "instruction {instruction} ({kind}) occupies its {what} for {found} cycles, expected {expected}"
    )]
    Duration {
        /// Number of the instruction.
        instruction: usize,
        /// Name of its operation.
        kind: &'static str,
        /// `"units"` or `"ports"`.
        what: &'static str,
        /// Cycles found.
        found: u64,
        /// Cycles expected.
        expected: u64,
    },
    /// A limb is not available in the cycle in which it is used.
    #[error("{reader} uses the limb {limb} in cycle {cycle}: {state}")]
    Dependence {
        /// The user of the limb.
        reader: String,
        /// The limb.
        limb: u32,
        /// The cycle.
        cycle: u64,
        /// The reason why the limb is not available.
        state: String,
    },
    /// Two users have one resource at the same time.
    #[error("{resource} is used by {first} until cycle {until}, and by {second} from cycle {from}")]
    Busy {
        /// Name of the unit, ports or channel.
        resource: String,
        /// The first user.
        first: String,
        /// Cycle in which the first user ends.
        until: u64,
        /// The second user.
        second: String,
        /// Cycle in which the second user begins.
        from: u64,
    },
    /// The scratchpad has more limbs than fit.
    #[error("the scratchpad holds {found} limbs in cycle {cycle}, expected at most {capacity}")]
    Capacity {
        /// The cycle.
        cycle: u64,
        /// Limbs in the scratchpad.
        found: usize,
        /// Limbs that fit.
        capacity: usize,
    },
    /// A register file keeps more limbs than fit.
    #[error("the register file of {cluster} keeps {found} limbs, expected at most {capacity}")]
    Registers {
        /// The cluster.
        cluster: String,
        /// Largest number of limbs kept between two instructions of the cluster.
        found: usize,
        /// Limbs that fit.
        capacity: usize,
    },
    /// An output is not in memory at the end.
    #[error("the output limb {limb} is not in memory at the end")]
    Output {
        /// The limb.
        limb: u32,
    },
    /// The schedule states a wrong number of cycles.
    #[error(
        "the schedule says that it takes {found} cycles, its last event ends in cycle {expected}"
    )]
    End {
        /// Cycles that the schedule states.
        found: u64,
        /// Cycle in which the last event ends.
        expected: u64,
    },
}

/// Checks a schedule of `work` on `machine`.
///
/// # Errors
/// The first [`Violation`] that the replay meets.
pub fn check(machine: &Machine, work: &Work, schedule: &Schedule) -> Result<(), Violation> {
    replay::Replay::new(machine, work, schedule)?.run()
}
