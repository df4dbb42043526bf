//! Vector machines as data: read from TOML, checked, resolved to integers once.

mod energy;
#[cfg(test)]
mod energy_tests;
mod literal;
mod operation;
mod rates;
#[cfg(test)]
mod tests;
mod vary;
#[cfg(test)]
mod vary_tests;

use crate::error::{Error, Result};
use crate::family::built_in;
use literal::{ClusterLiteral, CostShape, Literal, UnitLiteral};
pub use operation::Operation;
pub use vary::{integers, scaling, varied};

/// A checked vector machine: clusters with wide units, a scratchpad and a memory channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    literal: Literal,
    units: Vec<Unit>,
    clusters: Vec<Cluster>,
    /// For each operation, the indices of its units in `units`.
    uses: [Vec<usize>; Operation::ALL.len()],
}

/// A kind of unit, with the cost of a pass over a limb.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Name from the machine's file.
    pub name: String,
    /// Words that the unit accepts at once, every `interval` cycles.
    pub lanes: u64,
    interval: u64,
    /// Cycles from the last word in to the last word out.
    pub latency: u64,
    shape: CostShape,
    /// Area of one unit, in square millimetres.
    pub area_mm2: f64,
    /// Energy of a word that passes the unit once, in joules, at the voltage of the file's energies.
    joules_per_word: f64,
}

/// One cluster: units around a register file, and ports to the scratchpad.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Name from the machine's file, with a number if the file asks for several clusters of this
    /// kind.
    pub name: String,
    /// Number of units of each kind, in the order of [`Machine::units`].
    pub units: Vec<usize>,
    /// Bytes per cycle between the scratchpad and this cluster, both directions together. The lower
    /// of two limits: the width of the cluster's ports, and the cluster's share of the width of all
    /// banks, in proportion to its ports.
    pub bytes_per_cycle: u64,
    /// Index of the cluster's kind in [`Machine::kinds`]. Clusters of one table of the file are of
    /// one kind.
    pub kind: usize,
    register_file_bytes: u64,
    /// For each operation, true if this cluster executes it.
    executes: [bool; Operation::ALL.len()],
}

impl Cluster {
    /// Returns true if the cluster executes `operation`: it has the units, and its list in the file
    /// allows the operation.
    pub fn executes(&self, operation: Operation) -> bool {
        self.executes[operation as usize]
    }
}

impl Unit {
    /// Cycles that an instruction of `terms` terms over limbs of `n` words occupies the unit.
    pub fn cycles(&self, n: usize, terms: usize) -> u64 {
        self.pass(n) * self.passes(terms)
    }

    /// Number of passes of an instruction of `terms` terms: one for each term, and one altogether
    /// for a unit that gathers.
    pub fn passes(&self, terms: usize) -> u64 {
        match self.shape {
            CostShape::Gather {} => 1,
            CostShape::Stream {} | CostShape::Stages { .. } | CostShape::Square {} => terms as u64,
        }
    }

    /// Words that pass the unit in an instruction of `terms` terms over limbs of `n` words. They do
    /// not depend on lanes.
    pub fn words(&self, n: usize, terms: usize) -> u64 {
        let words = n as u64 * self.passes(terms);
        match self.shape {
            CostShape::Stages { radix } => words * stages(n as u64, radix),
            CostShape::Stream {} | CostShape::Square {} | CostShape::Gather {} => words,
        }
    }

    /// Cycles that one pass over a limb of `n` words occupies the unit.
    pub fn pass(&self, n: usize) -> u64 {
        let n = n as u64;
        let stream = n.div_ceil(self.lanes);
        self.interval
            * match self.shape {
                CostShape::Stream {} | CostShape::Gather {} => stream,
                CostShape::Stages { radix } => stages(n, radix) * stream,
                CostShape::Square {} => 2 * (self.lanes + stream),
            }
    }
}

impl Unit {
    /// Cost of a pass relative to a stream of as many words through as many lanes, which costs 1.
    /// The cost does not depend on lanes. A square unit counts as a square matrix of 2^14 words.
    pub(in crate::vector) fn weight(&self, n: usize) -> u64 {
        self.interval
            * match self.shape {
                CostShape::Stream {} | CostShape::Gather {} => 1,
                CostShape::Stages { radix } => stages(n as u64, radix),
                CostShape::Square {} => 4,
            }
    }
}

/// Number of stages of a transform of `n` points with butterflies of `radix` points.
fn stages(n: u64, radix: u64) -> u64 {
    let (mut reach, mut stages) = (1, 0);
    while reach < n {
        reach *= radix;
        stages += 1;
    }
    stages
}

impl Machine {
    /// Reads a built-in machine by its name.
    ///
    /// # Errors
    /// [`Error::UnknownMachine`]; [`Error::Family`] for a spatial machine.
    pub fn named(name: &str) -> Result<Self> {
        Self::from_toml(built_in(name)?)
    }

    /// Reads and checks the file of a machine.
    ///
    /// # Errors
    /// [`Error::Toml`] for missing and unknown keys, [`Error::Key`] for values out of range,
    /// [`Error::Family`] for a file that describes a spatial array.
    pub fn from_toml(text: &str) -> Result<Self> {
        crate::family::expect_family(text, "vector")?;
        let literal: Literal =
            toml::from_str(text).map_err(|error| Error::Toml(error.to_string()))?;
        literal.check()?;
        let units: Vec<Unit> = literal
            .unit
            .iter()
            .map(|(name, unit)| Unit::new(name, unit))
            .collect();
        let ports = |cluster: &ClusterLiteral| u128::from(cluster.ports * cluster.port_bytes);
        let all: u128 = literal
            .cluster
            .iter()
            .map(|cluster| ports(cluster) * u128::from(cluster.count))
            .sum();
        let pad = &literal.scratchpad;
        let banks = u128::from(pad.banks * pad.ports) * u128::from(pad.port_bytes);
        let clusters = literal.cluster.iter().enumerate();
        let clusters = clusters.flat_map(|(kind, cluster)| {
            let own = ports(cluster);
            let executes = Operation::ALL.map(|operation| {
                cluster.executes(operation.name(), &literal.operations[operation.name()])
            });
            let one = Cluster {
                name: cluster.name.clone(),
                units: units
                    .iter()
                    .map(|unit| cluster.count_of(&unit.name))
                    .collect(),
                bytes_per_cycle: own.min(banks * own / all).max(1) as u64,
                kind,
                register_file_bytes: cluster.register_file_bytes,
                executes,
            };
            one.repeated(cluster.count)
        });
        let clusters = clusters.collect();
        let uses = Operation::ALL.map(|operation| {
            let names = &literal.operations[operation.name()];
            let place = |name: &String| {
                units
                    .iter()
                    .position(|unit| unit.name == *name)
                    .expect("checked")
            };
            names.iter().map(place).collect()
        });
        Ok(Self {
            clusters,
            uses,
            units,
            literal,
        })
    }

    /// Name from the machine's file.
    pub fn name(&self) -> &str {
        &self.literal.name
    }

    /// Bits of a word, the largest size of a modulus.
    pub fn word_bits(&self) -> u64 {
        self.literal.word_bits
    }

    /// Largest ring degree.
    pub fn max_n(&self) -> u64 {
        self.literal.max_n
    }

    /// Clock frequency in hertz.
    pub fn hertz(&self) -> f64 {
        self.literal.clock_mhz as f64 * 1e6
    }

    /// Kinds of units.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Clusters.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// Machines with fewer units of one kind in all clusters: half of them, a quarter, and so on
    /// down to one.
    pub(in crate::vector) fn with_fewer_units(&self) -> Vec<Self> {
        let most = |unit: usize| {
            self.clusters
                .iter()
                .map(move |cluster| cluster.units[unit])
                .max()
        };
        let halved = |unit: usize| {
            let halves = std::iter::successors(most(unit), |&most| Some(most / 2));
            halves
                .skip(1)
                .take_while(|&most| most > 0)
                .map(move |most| {
                    let mut fewer = self.clone();
                    for cluster in &mut fewer.clusters {
                        cluster.units[unit] = cluster.units[unit].min(most);
                    }
                    fewer
                })
        };
        (0..self.units.len()).flat_map(halved).collect()
    }

    /// Indices in [`Machine::units`] of the units that an operation occupies, one unit of each kind
    /// at once. [`Operation::Sample`] has none if the machine loads the limbs of seeds from memory.
    pub fn uses(&self, operation: Operation) -> &[usize] {
        &self.uses[operation as usize]
    }

    /// Bytes of a limb of `n` words.
    pub fn limb_bytes(&self, n: usize) -> u64 {
        (n as u64 * self.literal.word_bits).div_ceil(8)
    }

    /// Bytes of the scratchpad.
    pub fn scratchpad_bytes(&self) -> u64 {
        self.literal.scratchpad.bytes
    }

    /// Bandwidth of the memory channel, in bytes per second.
    pub fn bytes_per_second(&self) -> u64 {
        self.literal.memory.bytes_per_second
    }

    /// Capacity of the scratchpad, in limbs of `n` words.
    pub fn scratchpad_limbs(&self, n: usize) -> usize {
        (self.literal.scratchpad.bytes / self.limb_bytes(n)) as usize
    }

    /// Capacity of a cluster's register file, in limbs of `n` words and at most 4,096. A larger
    /// limit costs more time to search than it gains.
    pub fn register_limbs(&self, cluster: usize, n: usize) -> usize {
        (self.clusters[cluster].register_file_bytes / self.limb_bytes(n)).min(4096) as usize
    }

    /// Names of the kinds of clusters, by [`Cluster::kind`].
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.literal.cluster.iter().map(|kind| kind.name.as_str())
    }

    /// Capacity of the buffer between clusters of different kinds, in limbs of `n` words and at
    /// most 4,096. Operands that a cluster reads from the buffer do not pass its ports.
    pub fn buffer_limbs(&self, n: usize) -> usize {
        let bytes = self.literal.network.buffer_bytes.expect("checked");
        (bytes / self.limb_bytes(n)).min(4096) as usize
    }

    /// Cycles that a limb of `n` words occupies the memory channel, without the latency.
    pub fn transfer(&self, n: usize) -> u64 {
        let bits = u128::from(self.limb_bytes(n)) * u128::from(self.literal.clock_mhz) * 1_000_000;
        bits.div_ceil(u128::from(self.literal.memory.bytes_per_second)) as u64
    }

    /// Cycles from the end of a load to the first use of its limb.
    pub fn memory_latency(&self) -> u64 {
        self.literal.memory.latency
    }

    /// Cycles and latency of one limb that all generators together expand from a seed, or `None` if
    /// the machine loads such limbs from memory.
    pub fn generation(&self, n: usize) -> Option<(u64, u64)> {
        let &unit = self.uses(Operation::Sample).first()?;
        let count: usize = self
            .clusters
            .iter()
            .filter(|cluster| cluster.executes(Operation::Sample))
            .map(|cluster| cluster.units[unit])
            .sum();
        let unit = &self.units[unit];
        Some((unit.pass(n).div_ceil(count as u64), unit.latency))
    }

    /// Names of all components with their areas in square millimetres, all units of a kind
    /// together.
    pub fn areas(&self) -> Vec<(String, f64)> {
        let count = |unit: usize| {
            self.clusters
                .iter()
                .map(|cluster| cluster.units[unit])
                .sum::<usize>()
        };
        let mut areas: Vec<(String, f64)> = Vec::new();
        for (place, unit) in self.units.iter().enumerate() {
            areas.push((unit.name.clone(), unit.area_mm2 * count(place) as f64));
        }
        let files = self.literal.cluster.iter();
        let files = files
            .map(|cluster| cluster.register_file_area_mm2 * cluster.count as f64)
            .sum();
        areas.push(("register files".into(), files));
        areas.push(("scratchpad".into(), self.literal.scratchpad.area_mm2));
        areas.push(("network".into(), self.literal.network.area_mm2));
        areas.push(("memory".into(), self.literal.memory.area_mm2));
        areas
    }
}

impl Unit {
    fn new(name: &str, unit: &UnitLiteral) -> Self {
        Self {
            name: name.to_owned(),
            lanes: unit.lanes,
            interval: unit.interval,
            latency: u64::try_from(unit.latency).expect("checked"),
            shape: unit.shape,
            area_mm2: unit.area_mm2,
            joules_per_word: unit.energy.unwrap_or_default().joules(),
        }
    }
}

impl Cluster {
    /// `count` copies of this cluster. Copies have a number in their name if there are several.
    fn repeated(self, count: u64) -> impl Iterator<Item = Self> {
        (0..count).map(move |number| Self {
            name: match count {
                1 => self.name.clone(),
                _ => format!("{} {number}", self.name),
            },
            ..self.clone()
        })
    }
}
