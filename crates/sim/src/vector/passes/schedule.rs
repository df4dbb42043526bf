//! Schedules, the result of the passes: events in order, each with its cycle.

/// An event on a machine. Events are in the order in which resources serve them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An instruction begins. Its result takes room in the scratchpad.
    Issue(u32),
    /// A limb is loaded from memory, or expanded from its seed, and takes room in the scratchpad.
    Fetch(u32),
    /// A limb is written to memory.
    WriteBack(u32),
    /// A limb leaves the scratchpad, after the instructions that were issued have read it and any
    /// write of it has ended.
    Release(u32),
}

/// The cluster and the units that execute an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    /// Index of the cluster in the machine.
    pub cluster: u16,
    /// For each kind of unit that the instruction occupies, the number of the unit in the cluster.
    pub units: [u8; 2],
}

/// The cause for which an instruction waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stall {
    /// A unit.
    Unit,
    /// The ports of its cluster.
    Network,
    /// A result of another instruction.
    Dependence,
    /// A limb from memory.
    Memory,
    /// Room in the scratchpad.
    Scratchpad,
}

impl Stall {
    /// All causes, in order.
    pub const ALL: [Self; 5] = [
        Self::Unit,
        Self::Network,
        Self::Dependence,
        Self::Memory,
        Self::Scratchpad,
    ];

    /// Name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unit => "unit",
            Self::Network => "network",
            Self::Dependence => "dependence",
            Self::Memory => "memory",
            Self::Scratchpad => "scratchpad",
        }
    }
}

/// A schedule of work on a machine, cycle by cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Packed events: see [`Event::unpack`].
    pub(in crate::vector) events: Vec<u32>,
    /// Cycle in which each event begins. For a release, the cycle in which the limb has left.
    pub(in crate::vector) starts: Vec<u64>,
    /// For each instruction, its cluster and units.
    pub(in crate::vector) places: Vec<Assignment>,
    /// For each instruction, the cycles that it occupies its units.
    pub(in crate::vector) busy: Vec<u64>,
    /// For each instruction, the cycles that it occupies the ports of its cluster.
    pub(in crate::vector) ports: Vec<u64>,
    /// For each instruction, one bit for each operand that its cluster's register file holds, and
    /// [`INSIDE`] if the result leaves the register file neither for the scratchpad nor for another
    /// cluster.
    pub(in crate::vector) held: Vec<u64>,
    /// Cycle in which the last event has ended.
    pub(in crate::vector) cycles: u64,
    /// Cycles between successive instructions of a cluster, summed over clusters, by the cause for
    /// which the later one waited.
    pub(in crate::vector) stalls: [u64; Stall::ALL.len()],
}

/// The bit of a result that never leaves its register file.
pub(in crate::vector) const INSIDE: u64 = 1 << 63;

const BITS: u32 = 30;
const MASK: u32 = (1 << BITS) - 1;

impl Event {
    pub(in crate::vector) fn pack(self) -> u32 {
        let (tag, number) = match self {
            Self::Issue(number) => (0, number),
            Self::Fetch(number) => (1, number),
            Self::WriteBack(number) => (2, number),
            Self::Release(number) => (3, number),
        };
        debug_assert!(number <= MASK, "work is shorter");
        (tag << BITS) | number
    }

    pub(in crate::vector) fn unpack(packed: u32) -> Self {
        let number = packed & MASK;
        match packed >> BITS {
            0 => Self::Issue(number),
            1 => Self::Fetch(number),
            2 => Self::WriteBack(number),
            _ => Self::Release(number),
        }
    }
}

impl Schedule {
    /// Cycle in which the last event has ended.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Events in order, each with its cycle.
    pub fn events(&self) -> impl Iterator<Item = (Event, u64)> + '_ {
        let events = self.events.iter().map(|&packed| Event::unpack(packed));
        events.zip(self.starts.iter().copied())
    }

    /// The cluster and the units that execute an instruction.
    pub fn place(&self, instruction: usize) -> Assignment {
        self.places[instruction]
    }

    /// Cycles that an instruction occupies its units: the cycles of its passes, or of its operands'
    /// way over the ports of its cluster, whichever is more.
    pub fn busy(&self, instruction: usize) -> u64 {
        self.busy[instruction]
    }

    /// Cycles that an instruction occupies the ports of its cluster.
    pub fn ports(&self, instruction: usize) -> u64 {
        self.ports[instruction]
    }

    /// Returns true if the register file of an instruction's cluster holds an operand. `operand` is
    /// the index among the operands.
    pub fn holds(&self, instruction: usize, operand: usize) -> bool {
        self.held[instruction] >> operand & 1 == 1
    }

    /// Returns true if the result of an instruction stays in the register file of its cluster,
    /// where all its readers find it.
    pub fn inside(&self, instruction: usize) -> bool {
        self.held[instruction] & INSIDE != 0
    }

    /// Cycles between successive instructions of a cluster, summed over clusters, by the cause for
    /// which the later one waited.
    pub fn stalls(&self) -> impl Iterator<Item = (Stall, u64)> + '_ {
        Stall::ALL.into_iter().zip(self.stalls)
    }
}
