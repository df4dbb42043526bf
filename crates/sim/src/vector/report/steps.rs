//! Time, energy and traffic by step of the program.

use super::activity::Activity;
use super::together::Together;
use super::traffic::Traffic;
use crate::vector::machine::Machine;
use crate::vector::work::Work;

/// What a step of the program takes.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReport {
    /// Its name, as the trace has it.
    pub name: String,
    /// Cycle in which the first of its loads and instructions begins.
    pub begins: u64,
    /// Cycle in which the last of its results is there.
    pub ends: u64,
    /// Cycles from the end of all steps before it to its own end. Steps overlap; what two of them do at once counts for the
    /// earlier one. These cycles add up to those of the program.
    pub cycles: u64,
    /// The same in seconds.
    pub seconds: f64,
    /// Energy of all components, in joules. What is always on counts for `cycles`.
    pub joules: f64,
    /// Bytes between memory and scratchpad. A load counts for the step that reads it next, what is written for the step
    /// that made it.
    pub traffic: Traffic,
    /// Instructions on limbs.
    pub instructions: u64,
    /// Cycles in which clusters work for it.
    pub together: Together,
    /// Cycles from the beginning of the first instruction of a later step to its own end.
    pub overlap: u64,
}

impl StepReport {
    /// All steps that have instructions, in order; together they take `cycles`.
    pub(super) fn all(
        machine: &Machine,
        work: &Work,
        (activities, together): (&[Activity], Vec<Together>),
        cycles: u64,
    ) -> Vec<Self> {
        let with_work =
            |&((_, activity), _): &((&String, &Activity), Together)| activity.instructions > 0;
        let named = work.steps().iter().zip(activities).zip(together);
        let named: Vec<_> = named.filter(with_work).collect();
        // For each step the first cycle of an instruction of a later one, from the last step on.
        let mut later = u64::MAX;
        let mut nexts: Vec<u64> = named
            .iter()
            .rev()
            .map(|(_, together)| {
                let first = later.min(together.begins);
                std::mem::replace(&mut later, first)
            })
            .collect();
        let mut frontier = 0;
        named
            .into_iter()
            .map(|((name, activity), together)| {
                let next = nexts.pop().expect("one for each step");
                let end = activity.ends.min(cycles).max(frontier);
                let own = end - frontier;
                frontier = end;
                Self {
                    name: name.clone(),
                    begins: activity.begins,
                    ends: activity.ends,
                    cycles: own,
                    seconds: own as f64 / machine.hertz(),
                    joules: activity.joules(machine, own).iter().map(|(_, j)| j).sum(),
                    traffic: activity.traffic,
                    instructions: activity.instructions,
                    overlap: together.ends.saturating_sub(next.max(together.begins)),
                    together,
                }
            })
            .collect()
    }
}
