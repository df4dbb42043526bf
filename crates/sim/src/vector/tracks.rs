//! Tracks of a schedule: for each unit, port set and channel of a machine, the cycles in which it
//! is busy.

use super::machine::{Machine, Operation};
use super::passes::{Event, Schedule};
use super::work::Work;

/// A part of a machine that serves one instruction or transfer at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// One unit of a cluster.
    Unit {
        /// Index of the cluster in [`Machine::clusters`].
        cluster: usize,
        /// Index of the kind of unit in [`Machine::units`].
        unit: usize,
        /// Number of the unit among the cluster's units of this kind, from 0.
        number: usize,
    },
    /// The ports of a cluster.
    Ports {
        /// Index of the cluster in [`Machine::clusters`].
        cluster: usize,
    },
    /// The memory channel.
    Memory,
    /// All generators together. They expand seeds to words.
    Generators,
}

impl Part {
    /// Name of the part's cluster, or `None` for the memory channel and the generators.
    pub(super) fn cluster(self, machine: &Machine) -> Option<&str> {
        match self {
            Self::Unit { cluster, .. } | Self::Ports { cluster } => {
                Some(&machine.clusters()[cluster].name)
            }
            Self::Memory | Self::Generators => None,
        }
    }

    /// Name of the part within its cluster. Units have a number if the cluster has several of the
    /// kind.
    pub(super) fn name(self, machine: &Machine) -> String {
        match self {
            Self::Unit {
                cluster,
                unit,
                number,
            } => {
                let name = &machine.units()[unit].name;
                match machine.clusters()[cluster].units[unit] {
                    1 => name.clone(),
                    _ => format!("{name} {number}"),
                }
            }
            Self::Ports { .. } => "ports".into(),
            Self::Memory => "memory".into(),
            Self::Generators => "generators".into(),
        }
    }
}

/// A range of cycles in which one event occupies a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// The first cycle.
    pub(super) start: u64,
    /// The cycle after the last.
    pub(super) end: u64,
    /// The event that occupies the part.
    pub(super) event: Event,
}

/// All slices of one part, in order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Track {
    pub(super) part: Part,
    pub(super) slices: Vec<Slice>,
}

/// Lists the tracks of a schedule: cluster by cluster the units and then the ports, and at the end
/// the memory channel and the generators. Machines that load limbs of seeds from memory have no
/// track of generators.
pub(super) fn tracks(machine: &Machine, work: &Work, schedule: &Schedule) -> Vec<Track> {
    let mut tracks = Vec::new();
    // For each cluster, the index of the first track of each kind of unit, then the index of the
    // track of its ports.
    let mut places: Vec<Vec<usize>> = Vec::new();
    for (cluster, of) in machine.clusters().iter().enumerate() {
        let mut own = Vec::new();
        for (unit, &count) in of.units.iter().enumerate() {
            own.push(tracks.len());
            tracks.extend((0..count).map(|number| Part::Unit {
                cluster,
                unit,
                number,
            }));
        }
        own.push(tracks.len());
        tracks.push(Part::Ports { cluster });
        places.push(own);
    }
    let (memory, generators) = (tracks.len(), tracks.len() + 1);
    tracks.extend([Part::Memory, Part::Generators]);
    let new = |part| Track {
        part,
        slices: Vec::new(),
    };
    let mut tracks: Vec<Track> = tracks.into_iter().map(new).collect();

    let (n, units) = (work.n(), machine.units().len());
    let (transfer, generation) = (machine.transfer(n), machine.generation(n));
    for (event, start) in schedule.events() {
        let mut add = |track: usize, cycles: u64| {
            if cycles > 0 {
                let end = start + cycles;
                tracks[track].slices.push(Slice { start, end, event });
            }
        };
        match event {
            Event::Issue(instruction) => {
                let i = instruction as usize;
                let place = schedule.place(i);
                let own = &places[usize::from(place.cluster)];
                for (&unit, number) in machine.uses(work.kind(i)).iter().zip(place.units) {
                    add(own[unit] + usize::from(number), schedule.busy(i));
                }
                add(own[units], schedule.ports(i));
            }
            Event::Fetch(limb) => {
                let input = work.input(limb);
                let sampled = input.is_some_and(|input| input.source.sampled());
                match generation {
                    Some((cycles, _)) if sampled => add(generators, cycles),
                    _ => add(memory, transfer),
                }
            }
            Event::WriteBack(_) => add(memory, transfer),
            Event::Release(_) => {}
        }
    }
    if machine.uses(Operation::Sample).is_empty() {
        tracks.pop();
    }
    for track in &mut tracks {
        track.slices.sort_by_key(|slice| slice.start);
    }
    tracks
}

/// Number of limbs in the scratchpad over time: pairs of a cycle and the number from this cycle on,
/// in order of cycles.
pub(super) fn occupancy(schedule: &Schedule) -> Vec<(u64, i64)> {
    let changes = schedule.events().filter_map(|(event, cycle)| match event {
        Event::Issue(_) | Event::Fetch(_) => Some((cycle, 1)),
        Event::Release(_) => Some((cycle, -1)),
        Event::WriteBack(_) => None,
    });
    // Within a cycle, releases (-1) sort before arrivals (+1), because limbs that leave make room.
    let mut changes: Vec<(u64, i64)> = changes.collect();
    changes.sort_unstable();
    let mut counts: Vec<(u64, i64)> = Vec::new();
    let mut limbs = 0;
    for (cycle, change) in changes {
        limbs += change;
        match counts.last_mut() {
            Some(last) if last.0 == cycle => last.1 = limbs,
            _ => counts.push((cycle, limbs)),
        }
    }
    counts
}
