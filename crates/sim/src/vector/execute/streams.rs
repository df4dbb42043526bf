//! Instruction streams.

use crate::vector::machine::{Machine, Operation};
use crate::vector::tracks::Part;

/// A place from which an operand is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A row of the scratchpad.
    Row(u32),
    /// A register of the unit's cluster.
    Register(u32),
}

/// An operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Where its words are.
    pub from: Place,
    /// The register that keeps them while they pass, if any.
    pub keep: Option<u32>,
}

/// An action of a part of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A unit computes a limb.
    Execute {
        /// The operation.
        kind: Operation,
        /// Number of the instruction of the [work](crate::vector::Work). It stands for what an
        /// operation needs besides its operands: modulus, factors, permutation.
        instruction: u32,
        /// Number of instructions that the cluster begins earlier in the same cycle.
        turn: u32,
        /// The operands, in the order of the work.
        operands: Vec<Operand>,
        /// The row for the result, unless the result stays in the register file.
        row: Option<u32>,
        /// The register that keeps the result, if any.
        register: Option<u32>,
    },
    /// A second unit is occupied by an instruction of another stream.
    Join {
        /// Number of the instruction.
        instruction: u32,
    },
    /// A limb is read from memory.
    Load {
        /// Its number in the work, which is its address.
        limb: u32,
        /// The row for it.
        row: u32,
    },
    /// A limb is expanded from its seed.
    Generate {
        /// Its number in the work.
        limb: u32,
        /// The row for it.
        row: u32,
    },
    /// A limb is written to memory.
    Write {
        /// Its number in the work, which is its address.
        limb: u32,
        /// The row in which it lies.
        row: u32,
    },
}

/// An instruction of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Cycles that the part waits, from the end of the entry before, or from cycle 0.
    pub stall: u64,
    /// Cycles that the part is busy.
    pub busy: u64,
    /// The action of the part.
    pub action: Action,
}

/// The instructions of one part of a machine, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Name of the part, as in [`Component::name`](crate::vector::Component::name).
    pub name: String,
    /// The instructions.
    pub entries: Vec<Entry>,
}

/// The instruction streams of all parts of a machine that begin something by themselves: units,
/// the memory channel, the generators. Ports follow from the operands of units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streams {
    /// Name of the machine.
    pub machine: String,
    /// Ring degree: words of a row.
    pub n: usize,
    /// The streams: cluster by cluster the units, then memory, then the generators.
    pub streams: Vec<Stream>,
}

impl Streams {
    /// Number of instructions.
    pub fn entries(&self) -> usize {
        self.streams.iter().map(|stream| stream.entries.len()).sum()
    }
}

impl Stream {
    /// Entries with the cycles in which they begin and end. `None` if a cycle has more than 64
    /// bits.
    pub(super) fn timed(&self) -> impl Iterator<Item = Option<(u64, u64, &Entry)>> {
        let mut free = Some(0u64);
        self.entries.iter().map(move |entry| {
            let start = free.and_then(|free| free.checked_add(entry.stall));
            free = start.and_then(|start| start.checked_add(entry.busy));
            Some((start?, free?, entry))
        })
    }
}

/// The parts of a machine that have a stream, in order.
pub(super) fn parts(machine: &Machine) -> Vec<Part> {
    let mut parts = Vec::new();
    for (cluster, of) in machine.clusters().iter().enumerate() {
        for (unit, &count) in of.units.iter().enumerate() {
            parts.extend((0..count).map(|number| Part::Unit {
                cluster,
                unit,
                number,
            }));
        }
    }
    parts.push(Part::Memory);
    if !machine.uses(Operation::Sample).is_empty() {
        parts.push(Part::Generators);
    }
    parts
}

/// Name of a part's stream.
pub(super) fn name_of(part: Part, machine: &Machine) -> String {
    let name = part.name(machine);
    match part.cluster(machine) {
        Some(cluster) => format!("{cluster}: {name}"),
        None => name,
    }
}
