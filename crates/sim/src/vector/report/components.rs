//! The instruction streams of the parts of a machine, with their stalls.

use crate::vector::machine::Machine;
use crate::vector::passes::Schedule;
use crate::vector::tracks::tracks;
use crate::vector::work::Work;

/// Counts for a unit, the ports of a cluster or a channel, from cycle 0 to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Name, after the name of its cluster if it has one.
    pub name: String,
    /// Number of instructions or transfers.
    pub instructions: u64,
    /// Cycles in which the part is busy.
    pub busy: u64,
    /// Number of stalls: idle times before the first instruction, or between two instructions.
    pub stalls: u64,
    /// Cycles of all stalls.
    pub stalled: u64,
    /// Cycles of the longest stall.
    pub longest: u64,
}

impl Component {
    /// Counts for all parts of a machine, cluster by cluster.
    pub fn all(machine: &Machine, work: &Work, schedule: &Schedule) -> Vec<Self> {
        let tracks = tracks(machine, work, schedule).into_iter();
        tracks
            .map(|track| {
                let name = track.part.name(machine);
                let name = match track.part.cluster(machine) {
                    Some(cluster) => format!("{cluster}: {name}"),
                    None => name,
                };
                let mut component = Self {
                    name,
                    instructions: track.slices.len() as u64,
                    busy: 0,
                    stalls: 0,
                    stalled: 0,
                    longest: 0,
                };
                let mut free = 0;
                for slice in &track.slices {
                    let stall = slice.start.saturating_sub(free);
                    component.stalls += u64::from(stall > 0);
                    component.stalled += stall;
                    component.longest = component.longest.max(stall);
                    component.busy += slice.end - slice.start;
                    free = slice.end;
                }
                component
            })
            .collect()
    }
}
