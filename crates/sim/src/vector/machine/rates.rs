//! Rates of the parts of a machine that are always busy, and the power and energies that follow.

use super::literal::{ClusterLiteral, Literal};
use super::{Machine, Operation, Unit};

impl Operation {
    /// Limbs that an instruction of one term reads and writes.
    fn accesses(self) -> u64 {
        match self {
            Self::Add | Self::Mul | Self::Dot => 3,
            Self::Ntt
            | Self::Intt
            | Self::Scale
            | Self::Combine
            | Self::Permute
            | Self::Extract
            | Self::Quotient
            | Self::Convert
            | Self::Round
            | Self::Digit => 2,
            Self::Sample => 1,
        }
    }
}

impl Literal {
    fn hertz(&self) -> f64 {
        self.clock_mhz as f64 * 1e6
    }

    /// Bytes in a second over all ports of the banks.
    pub(super) fn bank_rate(&self) -> f64 {
        let pad = &self.scratchpad;
        (pad.banks * pad.ports) as f64 * pad.port_bytes as f64 * self.hertz()
    }

    /// Bytes in a second between banks and clusters: what the narrower side passes.
    pub(super) fn network_rate(&self) -> f64 {
        let clusters = self.cluster.iter();
        let bytes: u64 = clusters
            .map(|one| one.count * one.ports * one.port_bytes)
            .sum();
        (bytes as f64 * self.hertz()).min(self.bank_rate())
    }

    /// Words in a second through one unit of the kind `name`, on limbs of `max_n` words.
    pub(super) fn unit_rate(&self, name: &str) -> f64 {
        let (unit, n) = (Unit::new(name, &self.unit[name]), self.max_n as usize);
        unit.words(n, 1) as f64 / unit.pass(n) as f64 * self.hertz()
    }

    /// Bytes in a second at the register file of a cluster, all units of which are busy on limbs of
    /// `max_n` words. A unit counts with the operation that reads and writes the most limbs.
    pub(super) fn file_rate(&self, cluster: &ClusterLiteral) -> f64 {
        let n = self.max_n as usize;
        let words = cluster.units.iter().map(|(name, &count)| {
            let executed = Operation::ALL.into_iter().filter(|operation| {
                let units = &self.operations[operation.name()];
                units.contains(name) && cluster.executes(operation.name(), units)
            });
            let accesses = executed.map(Operation::accesses).max().unwrap_or(0);
            let pass = Unit::new(name, &self.unit[name]).pass(n);
            (count * accesses) as f64 * n as f64 / pass as f64
        });
        words.sum::<f64>() * self.word_bits as f64 / 8.0 * self.hertz()
    }
}

impl Machine {
    /// Power of the parts that are always on, in watts.
    pub fn static_watts(&self) -> f64 {
        self.literal.static_watts
    }

    /// Leakage of the whole area, in watts. It grows linearly with the voltage.
    pub fn leakage_watts(&self) -> f64 {
        let area: f64 = self.areas().iter().map(|(_, area)| area).sum();
        self.literal.leakage_watts_per_mm2.unwrap_or(0.0) * area * self.volts_ratio()
    }

    /// The voltage divided by that at which the file's energies hold.
    pub fn volts_ratio(&self) -> f64 {
        let voltage = self.literal.voltage.as_ref();
        voltage.map_or(1.0, |voltage| voltage.ratio(self.literal.clock_mhz))
    }

    /// The square of [`Machine::volts_ratio`], with which the energy of switching grows.
    fn switching(&self) -> f64 {
        self.volts_ratio().powi(2)
    }

    /// For each kind of unit, the energy of a word that passes it once, in joules.
    pub fn word_joules(&self) -> Vec<f64> {
        let units = self.units.iter();
        units
            .map(|unit| unit.joules_per_word * self.switching())
            .collect()
    }

    /// For each kind of clusters, the energy of a byte at its register file, in joules.
    pub fn file_joules(&self) -> Vec<f64> {
        let kinds = self.literal.cluster.iter();
        kinds
            .map(|kind| kind.register_file_energy.unwrap_or_default().joules() * self.switching())
            .collect()
    }

    /// Energies of a byte of scratchpad, network and memory, in joules. The memory has its own
    /// voltage.
    pub fn byte_joules(&self) -> [f64; 3] {
        let literal = &self.literal;
        [
            literal.scratchpad.energy.unwrap_or_default().joules() * self.switching(),
            literal.network.energy.unwrap_or_default().joules() * self.switching(),
            literal.memory.energy.unwrap_or_default().joules(),
        ]
    }

    /// For each kind of unit, the power of one unit that is always busy on limbs of
    /// [`Machine::max_n`] words, in watts.
    pub fn unit_watts(&self) -> Vec<f64> {
        let units = self.units.iter().zip(self.word_joules());
        units
            .map(|(unit, joules)| joules * self.literal.unit_rate(&unit.name))
            .collect()
    }

    /// Names of the parts other than units, with their power in watts while they are always busy.
    pub fn part_watts(&self) -> [(&'static str, f64); 4] {
        let kinds = self.literal.cluster.iter().zip(self.file_joules());
        let files =
            kinds.map(|(kind, joules)| joules * self.literal.file_rate(kind) * kind.count as f64);
        let [pad, network, memory] = self.byte_joules();
        [
            ("register files", files.sum()),
            ("scratchpad", pad * self.literal.bank_rate()),
            ("network", network * self.literal.network_rate()),
            ("memory", memory * self.bytes_per_second() as f64),
        ]
    }
}
