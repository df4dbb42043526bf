//! What the passes give: events in order, each with a cycle.

/// What happens on a machine, in the order in which resources serve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An instruction begins. Its result takes room in the scratchpad.
    Issue(u32),
    /// A limb is loaded from memory, or made from its seed, and takes room in the scratchpad.
    Fetch(u32),
    /// A limb is written to memory.
    WriteBack(u32),
    /// A limb leaves the scratchpad once it has been read by what was issued, and written if it was to be.
    Release(u32),
}

/// Where an instruction is executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Place of the cluster in the machine.
    pub cluster: u16,
    /// Which of the units of each kind that the instruction occupies.
    pub units: [u8; 2],
}

/// What an instruction waited for.
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

/// Work on a machine, cycle by cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Events, packed: see [`Schedule::event`].
    pub(in crate::vector) events: Vec<u32>,
    /// Cycle in which each event begins; for a release, the one in which it is done.
    pub(in crate::vector) starts: Vec<u64>,
    /// For each instruction where it is executed.
    pub(in crate::vector) places: Vec<Place>,
    /// For each instruction the cycles in which it occupies its units.
    pub(in crate::vector) busy: Vec<u64>,
    /// For each instruction the cycles in which it occupies the ports of its cluster.
    pub(in crate::vector) ports: Vec<u64>,
    /// For each instruction a bit for each operand that its cluster's register file holds, and [`INSIDE`] if the result
    /// leaves the register file neither for the scratchpad nor for another cluster.
    pub(in crate::vector) held: Vec<u64>,
    /// Cycle in which everything is done.
    pub(in crate::vector) cycles: u64,
    /// Cycles between the instructions of a cluster, summed over clusters, by what the later one waited for.
    pub(in crate::vector) stalls: [u64; Stall::ALL.len()],
}

/// Marks a result that does not leave the register file.
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
    /// Cycle in which everything is done.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Events in order, with their cycles.
    pub fn events(&self) -> impl Iterator<Item = (Event, u64)> + '_ {
        let events = self.events.iter().map(|&packed| Event::unpack(packed));
        events.zip(self.starts.iter().copied())
    }

    /// Where an instruction is executed.
    pub fn place(&self, instruction: usize) -> Place {
        self.places[instruction]
    }

    /// Cycles in which an instruction occupies its units: those of its passes, or of its operands' way over the ports of
    /// its cluster, whichever takes longer.
    pub fn busy(&self, instruction: usize) -> u64 {
        self.busy[instruction]
    }

    /// Cycles in which an instruction occupies the ports of its cluster.
    pub fn ports(&self, instruction: usize) -> u64 {
        self.ports[instruction]
    }

    /// Whether the register file of an instruction's cluster holds an operand, by its place among the operands.
    pub fn holds(&self, instruction: usize, operand: usize) -> bool {
        self.held[instruction] >> operand & 1 == 1
    }

    /// Whether the result of an instruction stays in the register file of its cluster: all that read it find it there.
    pub fn inside(&self, instruction: usize) -> bool {
        self.held[instruction] & INSIDE != 0
    }

    /// Cycles between the instructions of a cluster, summed over clusters, by what the later one waited for.
    pub fn stalls(&self) -> impl Iterator<Item = (Stall, u64)> + '_ {
        Stall::ALL.into_iter().zip(self.stalls)
    }
}
