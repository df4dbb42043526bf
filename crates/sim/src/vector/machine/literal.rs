//! The content of the file of a vector machine. Any values may stand here; [`Literal::check`]
//! decides.

use super::energy::{Amount, Energy, check_energy};
use super::operation::Operation;
use crate::error::{Error, Result};
use crate::voltage::Voltage;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The file of a vector machine. Fields are the keys of the file.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Literal {
    #[serde(rename = "family")]
    _family: String,
    pub(super) name: String,
    pub(super) word_bits: u64,
    pub(super) clock_mhz: u64,
    pub(super) max_n: u64,
    pub(super) static_watts: f64,
    /// Leakage of an area, in watts per square millimetre, or `None` for no leakage.
    pub(super) leakage_watts_per_mm2: Option<f64>,
    pub(super) voltage: Option<Voltage>,
    pub(super) scratchpad: Scratchpad,
    pub(super) network: Network,
    pub(super) memory: Memory,
    pub(super) cluster: Vec<ClusterLiteral>,
    pub(super) unit: BTreeMap<String, UnitLiteral>,
    pub(super) operations: BTreeMap<String, Vec<String>>,
    /// Powers for a sweep of other sizes, or `None` for the default.
    pub(super) scaling: Option<Scaling>,
}

/// The powers of a size with which areas and powers grow. Keys that the file lacks are 1.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Scaling {
    pub(super) lanes: f64,
    pub(super) ports: f64,
    pub(super) bytes: f64,
    pub(super) bandwidth: f64,
    pub(super) clock: f64,
}

impl Default for Scaling {
    fn default() -> Self {
        Self {
            lanes: 1.0,
            ports: 1.0,
            bytes: 1.0,
            bandwidth: 1.0,
            clock: 1.0,
        }
    }
}

/// The table `scratchpad`. Each of its banks has `ports` ports of `port_bytes` bytes per cycle.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Scratchpad {
    pub(super) bytes: u64,
    pub(super) banks: u64,
    pub(super) ports: u64,
    pub(super) port_bytes: u64,
    pub(super) area_mm2: f64,
    pub(super) energy: Option<Energy>,
    /// Refused: [`check_energy`] says what replaces it.
    watts: Option<f64>,
}

/// The table `network`: the connections between scratchpad and clusters.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Network {
    pub(super) buffer_bytes: Option<u64>,
    pub(super) area_mm2: f64,
    pub(super) energy: Option<Energy>,
    /// Refused: [`check_energy`] says what replaces it.
    watts: Option<f64>,
}

/// The table `memory`: the memory and its channel. The latency is in cycles.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Memory {
    pub(super) bytes_per_second: u64,
    pub(super) latency: u64,
    pub(super) area_mm2: f64,
    pub(super) energy: Option<Energy>,
    /// Refused: [`check_energy`] says what replaces it.
    watts: Option<f64>,
}

/// A table `cluster`: a kind of clusters, with the number of its units of each kind.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterLiteral {
    pub(super) name: String,
    pub(super) count: u64,
    pub(super) ports: u64,
    pub(super) port_bytes: u64,
    pub(super) register_file_bytes: u64,
    pub(super) register_file_area_mm2: f64,
    pub(super) register_file_energy: Option<Energy>,
    /// Refused: [`check_energy`] says what replaces it.
    register_file_watts: Option<f64>,
    pub(super) units: BTreeMap<String, u64>,
    pub(super) operations: Option<Executed>,
}

/// The operations that the clusters of a kind execute.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub(super) enum Executed {
    /// A word. The only allowed one is `"all"`: every operation whose units the clusters have.
    Word(String),
    /// A list of operations.
    Listed(Vec<String>),
}

/// A table `unit`: a kind of unit. Interval and latency are in cycles.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct UnitLiteral {
    pub(super) lanes: u64,
    pub(super) interval: u64,
    pub(super) latency: i64,
    pub(super) shape: CostShape,
    pub(super) area_mm2: f64,
    pub(super) energy: Option<Energy>,
    /// Refused: [`check_energy`] says what replaces it.
    watts: Option<f64>,
}

/// The formula for the cycles of a pass over a limb of `N` words.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum CostShape {
    /// Each word passes once: `N / lanes`.
    Stream {},
    /// Each word passes once for each stage of butterflies of `radix` points:
    /// `ceil(log N / log radix) N / lanes`.
    Stages { radix: u64 },
    /// A matrix with rows of `lanes` words, whose rows and columns pass on the way in and on the
    /// way out: `2 (lanes + N / lanes)`.
    Square {},
    /// Each word of the result passes once, from however many limbs: `N / lanes` for all terms
    /// together.
    Gather {},
}

const WATTS: RangeInclusive<f64> = 0.0..=1e6;
/// Range of counts: large enough for any chip, and small enough that no product of keys exceeds 64
/// bits.
const COUNT: RangeInclusive<u64> = 1..=1 << 16;
const BYTES: RangeInclusive<u64> = 1..=1 << 40;

impl Literal {
    pub(super) fn check(&self) -> Result<()> {
        if self.name.is_empty() || self.name.len() > 64 {
            return Err(wrong("name", format!("{:?}", self.name), "1 to 64 bytes"));
        }
        within("word_bits", self.word_bits, 1..=64)?;
        within("clock_mhz", self.clock_mhz, 1..=100_000)?;
        within("max_n", self.max_n, 16..=1 << 20)?;
        within("static_watts", self.static_watts, WATTS)?;
        let pad = &self.scratchpad;
        within("scratchpad.bytes", pad.bytes, BYTES)?;
        within("scratchpad.banks", pad.banks, COUNT)?;
        within("scratchpad.ports", pad.ports, COUNT)?;
        within("scratchpad.port_bytes", pad.port_bytes, COUNT)?;
        within(
            "memory.bytes_per_second",
            self.memory.bytes_per_second,
            1..=1 << 50,
        )?;
        within("memory.latency", self.memory.latency, 1..=1 << 20)?;
        let buffer = required(
            "network.buffer_bytes",
            self.network.buffer_bytes,
            "0 where clusters of different names share no buffer",
        )?;
        within("network.buffer_bytes", buffer, 0..=1 << 40)?;
        for (key, area) in [
            ("scratchpad", pad.area_mm2),
            ("network", self.network.area_mm2),
            ("memory", self.memory.area_mm2),
        ] {
            within(&format!("{key}.area_mm2"), area, WATTS)?;
        }
        let leakage = self.leakage_watts_per_mm2.unwrap_or(0.0);
        within("leakage_watts_per_mm2", leakage, 0.0..=1e3)?;
        if let Some(voltage) = &self.voltage {
            voltage.check(self.clock_mhz)?;
        }
        self.check_clusters()?;
        for (name, unit) in &self.unit {
            unit.check(name)?;
        }
        let scaling = self.scaling.unwrap_or_default();
        for (key, power) in [
            ("lanes", scaling.lanes),
            ("ports", scaling.ports),
            ("bytes", scaling.bytes),
            ("bandwidth", scaling.bandwidth),
            ("clock", scaling.clock),
        ] {
            within(&format!("scaling.{key}"), power, 0.0..=4.0)?;
        }
        self.check_operations()?;
        self.check_energies()
    }

    /// Checks the energies of all parts. Sizes and operations are checked before, since the rates
    /// that errors name follow from them.
    fn check_energies(&self) -> Result<()> {
        let (pad, net, memory) = (&self.scratchpad, &self.network, &self.memory);
        for (key, energy, watts, rate) in [
            ("scratchpad", pad.energy, pad.watts, self.bank_rate()),
            ("network", net.energy, net.watts, self.network_rate()),
            (
                "memory",
                memory.energy,
                memory.watts,
                memory.bytes_per_second as f64,
            ),
        ] {
            check_energy(
                (&format!("{key}.energy"), energy),
                (&format!("{key}.watts"), watts),
                (Amount::Byte, rate),
            )?;
        }
        for cluster in &self.cluster {
            let key = |of: &str| format!("cluster {:?}.register_file_{of}", cluster.name);
            check_energy(
                (&key("energy"), cluster.register_file_energy),
                (&key("watts"), cluster.register_file_watts),
                (Amount::Byte, self.file_rate(cluster)),
            )?;
        }
        for (name, unit) in &self.unit {
            check_energy(
                (&format!("unit.{name}.energy"), unit.energy),
                (&format!("unit.{name}.watts"), unit.watts),
                (Amount::Word, self.unit_rate(name)),
            )?;
        }
        Ok(())
    }

    fn check_clusters(&self) -> Result<()> {
        let mut clusters = 0;
        for cluster in &self.cluster {
            let key = |of: &str| format!("cluster {:?}.{of}", cluster.name);
            within(&key("count"), cluster.count, 1..=1024)?;
            clusters += cluster.count;
            within(&key("ports"), cluster.ports, COUNT)?;
            within(&key("port_bytes"), cluster.port_bytes, COUNT)?;
            within(
                &key("register_file_bytes"),
                cluster.register_file_bytes,
                0..=1 << 40,
            )?;
            within(
                &key("register_file_area_mm2"),
                cluster.register_file_area_mm2,
                WATTS,
            )?;
            for (name, &count) in &cluster.units {
                if !self.unit.contains_key(name) {
                    let known: Vec<_> = self.unit.keys().map(String::as_str).collect();
                    return Err(wrong(
                        &key("units"),
                        name,
                        format!("a unit of the file: {}", known.join(", ")),
                    ));
                }
                within(&key(&format!("units.{name}")), count, 1..=256)?;
            }
            let expected = "\"all\", or a list of operations";
            let executed = required(
                &key("operations"),
                cluster.operations.as_ref(),
                "operations = \"all\", or a list as [\"ntt\", \"add\"]",
            )?;
            match executed {
                Executed::Word(word) if word == "all" => {}
                Executed::Word(word) => {
                    return Err(wrong(&key("operations"), format!("{word:?}"), expected));
                }
                Executed::Listed(names) => {
                    for name in names {
                        self.check_listed(&key("operations"), cluster, name)?;
                    }
                }
            }
        }
        within("cluster: number of all", clusters, 1..=1024)
    }

    /// Refuses an operation of a cluster's list that is unknown, or that needs units which the
    /// cluster lacks.
    fn check_listed(&self, key: &str, cluster: &ClusterLiteral, name: &str) -> Result<()> {
        if Operation::named(name).is_none() {
            let known = Operation::ALL.map(Operation::name).join(", ");
            return Err(wrong(key, format!("{name:?}"), format!("one of {known}")));
        }
        let units = self.operations.get(name).map_or(&[][..], Vec::as_slice);
        match units.iter().find(|unit| !cluster.units.contains_key(*unit)) {
            None => Ok(()),
            Some(unit) => Err(wrong(
                key,
                format!("{name:?}, which needs the unit {unit:?}"),
                "operations of units that the cluster has",
            )),
        }
    }

    fn check_operations(&self) -> Result<()> {
        for name in self.operations.keys() {
            if Operation::named(name).is_none() {
                let known = Operation::ALL.map(Operation::name).join(", ");
                return Err(wrong(
                    &format!("operations.{name}"),
                    "an unknown operation",
                    format!("one of {known}"),
                ));
            }
        }
        for operation in Operation::ALL {
            let key = format!("operations.{}", operation.name());
            let Some(units) = self.operations.get(operation.name()) else {
                return Err(wrong(&key, "missing", "a list of units"));
            };
            let least = usize::from(operation != Operation::Sample);
            within(&format!("{key}: number of units"), units.len(), least..=2)?;
            for unit in units {
                if !self.unit.contains_key(unit) {
                    return Err(wrong(
                        &key,
                        format!("{unit:?}"),
                        "a unit of the file: a unit that is missing is substituted by another",
                    ));
                }
            }
            if units.len() == 2 && units[0] == units[1] {
                return Err(wrong(
                    &key,
                    format!("{:?} twice", units[0]),
                    "different units",
                ));
            }
            let executed = |cluster: &ClusterLiteral| cluster.executes(operation.name(), units);
            if !units.is_empty() && !self.cluster.iter().any(executed) {
                return Err(wrong(
                    &key,
                    format!("{units:?}, on which no cluster executes it"),
                    "units that a cluster has together whose own list of operations names it",
                ));
            }
        }
        Ok(())
    }
}

impl ClusterLiteral {
    /// Number of units of the kind `unit`.
    pub(super) fn count_of(&self, unit: &str) -> usize {
        self.units.get(unit).map_or(0, |&count| count as usize)
    }

    /// Returns true if the cluster executes `operation`, which occupies `units`.
    pub(super) fn executes(&self, operation: &str, units: &[String]) -> bool {
        let listed = match &self.operations {
            Some(Executed::Listed(names)) => names.iter().any(|name| name == operation),
            Some(Executed::Word(_)) | None => true,
        };
        listed && units.iter().all(|unit| self.units.contains_key(unit))
    }
}

impl UnitLiteral {
    fn check(&self, name: &str) -> Result<()> {
        let key = |of: &str| format!("unit.{name}.{of}");
        within(&key("lanes"), self.lanes, 1..=1 << 20)?;
        within(&key("interval"), self.interval, 1..=1 << 16)?;
        within(&key("latency"), self.latency, 1..=1 << 20)?;
        within(&key("area_mm2"), self.area_mm2, WATTS)?;
        match self.shape {
            CostShape::Stages { radix } => within(&key("shape.radix"), radix, 2..=1 << 20),
            CostShape::Stream {} | CostShape::Square {} | CostShape::Gather {} => Ok(()),
        }
    }
}

pub(super) fn within<T: PartialOrd + Display>(
    key: &str,
    found: T,
    range: RangeInclusive<T>,
) -> Result<()> {
    // No range contains NaN, so it is refused too.
    if range.contains(&found) {
        return Ok(());
    }
    Err(wrong(
        key,
        found,
        format!("{} to {}", range.start(), range.end()),
    ))
}

/// The value of a key, or an error if it is missing. `write` is the line to add to the file.
pub(super) fn required<T>(key: &str, value: Option<T>, write: &str) -> Result<T> {
    value.ok_or_else(|| wrong(key, "missing", write))
}

pub(super) fn wrong(key: &str, found: impl Display, expected: impl Into<String>) -> Error {
    Error::Key {
        key: key.to_owned(),
        found: found.to_string(),
        expected: expected.into(),
    }
}
