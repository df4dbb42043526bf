//! Time, energy and traffic by step of the program.

use super::activity::Activity;
use super::together::Together;
use super::traffic::Traffic;
use crate::vector::machine::Machine;
use crate::vector::work::Work;

/// The figures of one step of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReport {
    /// Name from the trace.
    pub name: String,
    /// Cycle in which the first load or instruction of the step begins.
    pub begins: u64,
    /// Cycle in which the last result of the step is available.
    pub ends: u64,
    /// Cycles from the end of all earlier steps to the end of this one. Steps overlap, and cycles
    /// in which two steps run count for the earlier one, so the cycles of all steps add up to the
    /// cycles of the program.
    pub cycles: u64,
    /// The cycles in seconds.
    pub seconds: f64,
    /// Energy of all components, in joules. Parts that are always on count for `cycles`.
    pub joules: f64,
    /// Bytes between memory and scratchpad. A load counts for the step that reads the limb next, a
    /// write for the step that produced the limb.
    pub traffic: Traffic,
    /// Number of instructions on limbs.
    pub instructions: u64,
    /// Cycles in which clusters work for the step.
    pub together: Together,
    /// Cycles of overlap: from the first instruction of any later step to the end of this step.
    pub overlap: u64,
}

impl StepReport {
    /// The reports of all steps that have instructions, in order. Their cycles add up to `cycles`.
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
        // For each step, from the last to the first: the first cycle of an instruction of a later
        // step.
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
