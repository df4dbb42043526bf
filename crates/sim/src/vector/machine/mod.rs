//! Vector machines as data: read from TOML, checked, resolved to integers once.

mod literal;
mod operation;
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

/// A machine of clusters with wide units, a scratchpad and a memory channel, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    literal: Literal,
    units: Vec<Unit>,
    clusters: Vec<Cluster>,
    /// For each operation the places of its units in `units`.
    uses: [Vec<usize>; Operation::ALL.len()],
}

/// A kind of unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Name, as the file has it.
    pub name: String,
    /// Words that it takes at once.
    pub lanes: u64,
    interval: u64,
    /// Cycles from the last word in to the last word out.
    pub latency: u64,
    shape: CostShape,
    /// Square millimetres of one.
    pub area_mm2: f64,
    /// Watts of one that is always busy.
    pub watts: f64,
}

/// One cluster: units around a register file, and ports to the scratchpad.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Name, as the file has it, with a number where there are several.
    pub name: String,
    /// Number of units of each kind, in the order of [`Machine::units`].
    pub units: Vec<usize>,
    /// Bytes in a cycle between the scratchpad and this cluster, both ways together: what its ports pass, and at most
    /// its part of what the banks pass, divided as the ports are.
    pub bytes_per_cycle: u64,
    /// Number of its kind: clusters of one table of the file have the same.
    pub kind: usize,
    register_file_bytes: u64,
    /// For each operation whether it is executed here.
    executes: [bool; Operation::ALL.len()],
}

impl Cluster {
    /// Whether an operation is executed here: the units are there, and the file lists it.
    pub fn executes(&self, operation: Operation) -> bool {
        self.executes[operation as usize]
    }
}

impl Unit {
    /// Cycles that an instruction of so many terms over `n` words occupies the unit.
    pub fn cycles(&self, n: usize, terms: usize) -> u64 {
        self.pass(n) * self.passes(terms)
    }

    /// Passes of an instruction of so many terms.
    pub fn passes(&self, terms: usize) -> u64 {
        match self.shape {
            CostShape::Gather {} => 1,
            CostShape::Stream {} | CostShape::Stages { .. } | CostShape::Square {} => terms as u64,
        }
    }

    /// Cycles that one pass over `n` words occupies the unit.
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
    /// Cycles of a pass over those of a stream of words through as many lanes. It does not depend on lanes: a matrix
    /// counts as one that is as wide as high, of 2^14 words.
    pub(in crate::vector) fn weight(&self, n: usize) -> u64 {
        self.interval
            * match self.shape {
                CostShape::Stream {} | CostShape::Gather {} => 1,
                CostShape::Stages { radix } => stages(n as u64, radix),
                CostShape::Square {} => 4,
            }
    }
}

/// Stages of butterflies of `radix` points that a transform of `n` points takes.
fn stages(n: u64, radix: u64) -> u64 {
    let (mut reach, mut stages) = (1, 0);
    while reach < n {
        reach *= radix;
        stages += 1;
    }
    stages
}

impl Machine {
    /// A machine that comes with the program.
    ///
    /// # Errors
    /// [`Error::UnknownMachine`]; [`Error::Family`] for a spatial one.
    pub fn named(name: &str) -> Result<Self> {
        Self::from_toml(built_in(name)?)
    }

    /// Reads and checks a machine.
    ///
    /// # Errors
    /// [`Error::Toml`] for missing and unknown keys, [`Error::Key`] for values out of range, [`Error::Family`] for a file
    /// that describes a spatial array.
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

    /// Name, as its file has it.
    pub fn name(&self) -> &str {
        &self.literal.name
    }

    /// Bits of a word: moduli have at most as many.
    pub fn word_bits(&self) -> u64 {
        self.literal.word_bits
    }

    /// Largest ring degree.
    pub fn max_n(&self) -> u64 {
        self.literal.max_n
    }

    /// Cycles in a second.
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

    /// Units that an operation occupies, one of each kind at once: places in [`Machine::units`]. None for words from seeds,
    /// if the machine loads them.
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

    /// Bytes that the memory channel moves in a second.
    pub fn bytes_per_second(&self) -> u64 {
        self.literal.memory.bytes_per_second
    }

    /// Limbs that the scratchpad holds.
    pub fn scratchpad_limbs(&self, n: usize) -> usize {
        (self.literal.scratchpad.bytes / self.limb_bytes(n)) as usize
    }

    /// Limbs that the register file of a cluster holds, 4,096 at most: more would be searched for longer than they are
    /// worth.
    pub fn register_limbs(&self, cluster: usize, n: usize) -> usize {
        (self.clusters[cluster].register_file_bytes / self.limb_bytes(n)).min(4096) as usize
    }

    /// Names of the kinds of clusters, by [`Cluster::kind`].
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.literal.cluster.iter().map(|kind| kind.name.as_str())
    }

    /// Limbs in the buffer between clusters of different kinds, 4,096 at most. What a cluster reads from there does not
    /// pass its ports.
    pub fn buffer_limbs(&self, n: usize) -> usize {
        let bytes = self.literal.network.buffer_bytes.expect("checked");
        (bytes / self.limb_bytes(n)).min(4096) as usize
    }

    /// Cycles in which the memory channel passes a limb, without its latency.
    pub fn transfer(&self, n: usize) -> u64 {
        let bits = u128::from(self.limb_bytes(n)) * u128::from(self.literal.clock_mhz) * 1_000_000;
        bits.div_ceil(u128::from(self.literal.memory.bytes_per_second)) as u64
    }

    /// Cycles from the end of a transfer to the use of what was loaded.
    pub fn memory_latency(&self) -> u64 {
        self.literal.memory.latency
    }

    /// Cycles in which all generators together make a limb from a seed; `None` if the machine loads such limbs.
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

    /// Watts of what is always on.
    pub fn static_watts(&self) -> f64 {
        self.literal.static_watts
    }

    /// Watts of the parts beside the units that are always busy: by name.
    pub fn part_watts(&self) -> [(&'static str, f64); 4] {
        let files = self.literal.cluster.iter();
        let files = files
            .map(|cluster| cluster.register_file_watts * cluster.count as f64)
            .sum();
        [
            ("register files", files),
            ("scratchpad", self.literal.scratchpad.watts),
            ("network", self.literal.network.watts),
            ("memory", self.literal.memory.watts),
        ]
    }

    /// Square millimetres by component.
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
            watts: unit.watts,
        }
    }
}

impl Cluster {
    /// So many clusters like this one, with numbers where there are several.
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
