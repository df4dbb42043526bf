//! What each part of a machine does when: one list of slices for each unit, port and channel.

use super::machine::{Machine, Operation};
use super::passes::{Event, Schedule};
use super::work::Work;

/// A part of a machine that does one thing at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// One unit of a cluster.
    Unit {
        /// Place of the cluster in the machine.
        cluster: usize,
        /// Place of the kind of unit in the machine.
        unit: usize,
        /// Which of the units of this kind.
        number: usize,
    },
    /// The ports of a cluster.
    Ports {
        /// Place of the cluster in the machine.
        cluster: usize,
    },
    /// The memory channel.
    Memory,
    /// All generators of words from seeds.
    Generators,
}

impl Part {
    /// The cluster's name, if it is in one.
    pub(super) fn cluster(self, machine: &Machine) -> Option<&str> {
        match self {
            Self::Unit { cluster, .. } | Self::Ports { cluster } => {
                Some(&machine.clusters()[cluster].name)
            }
            Self::Memory | Self::Generators => None,
        }
    }

    /// Its name within its cluster: a unit has a number where there are several.
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

/// Cycles in which a part is occupied, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// The first cycle.
    pub(super) start: u64,
    /// The cycle behind the last.
    pub(super) end: u64,
    /// By what.
    pub(super) event: Event,
}

/// All that a part does, by time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Track {
    pub(super) part: Part,
    pub(super) slices: Vec<Slice>,
}

/// The parts of a machine, cluster by cluster, each with what it does in a schedule.
pub(super) fn tracks(machine: &Machine, work: &Work, schedule: &Schedule) -> Vec<Track> {
    let mut tracks = Vec::new();
    // For each cluster and kind of unit the place of its first track, then that of the ports.
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

/// Changes of the number of limbs in the scratchpad: cycles in order, each with the number from then on.
pub(super) fn occupancy(schedule: &Schedule) -> Vec<(u64, i64)> {
    let changes = schedule.events().filter_map(|(event, cycle)| match event {
        Event::Issue(_) | Event::Fetch(_) => Some((cycle, 1)),
        Event::Release(_) => Some((cycle, -1)),
        Event::WriteBack(_) => None,
    });
    // Limbs leave before others take their room.
    let mut changes: Vec<(u64, i64)> = changes.collect();
    changes.sort_unstable();
    let mut found: Vec<(u64, i64)> = Vec::new();
    let mut limbs = 0;
    for (cycle, change) in changes {
        limbs += change;
        match found.last_mut() {
            Some(last) if last.0 == cycle => last.1 = limbs,
            _ => found.push((cycle, limbs)),
        }
    }
    found
}
