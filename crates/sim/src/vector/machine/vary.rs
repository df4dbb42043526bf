//! A machine's file with other integers, as a sweep tries them.
//!
//! A path names a key: `memory.latency`, `unit.ntt.lanes`. `cluster.ports` sets the ports of all
//! clusters, `cluster.NAME.ports` the ports of one. `lanes` sets the lanes of all units: the widest
//! units get this number, the others keep their proportion to them.
//!
//! Areas follow, because the file has figures for one size. They grow with the power of the size
//! that `[scaling]` names. The default power is 1. The watts of a part that is always busy grow
//! with the same power, and it passes more in a second, so the energy of a byte or of a word grows
//! with the power less 1: with powers of 1 it stays. Capacity passes nothing, so energies grow
//! with the whole power of bytes.
//!
//! | changed sizes | figures that grow with them |
//! |---|---|
//! | lanes of a unit | the unit |
//! | bytes, and the width of all ports, of the scratchpad | the scratchpad |
//! | bytes of a register file | the register file |
//! | lanes of all units of a cluster | energies of its register file, which serves them |
//! | width of all ports of the clusters | the network |
//! | bytes in a second | the memory |
//! | clock | energies of all but the memory, no area |

use super::literal::{Literal, Scaling};
use crate::error::{Error, Result};
use toml::{Table, Value};

/// The path that sets the lanes of all units.
const LANES: &str = "lanes";

/// Replaces integers in the file of a machine, and scales the areas and energies that depend on
/// them.
/// `changes` has paths with their new values.
///
/// # Errors
/// [`Error::Key`] for a path that names no integer of the file, and the errors of
/// [`Machine::from_toml`](super::Machine::from_toml) for the file before and after the changes.
pub fn varied(text: &str, changes: &[(String, i64)]) -> Result<String> {
    super::Machine::from_toml(text)?;
    let mut table = parsed(text)?;
    let before = literal(text)?;
    for (path, value) in changes {
        if path == LANES {
            set_lanes(&mut table, *value)?;
            continue;
        }
        let parts: Vec<&str> = path.split('.').collect();
        let mut root = Value::Table(std::mem::take(&mut table));
        let changed = set(&mut root, &parts, *value);
        if let Value::Table(back) = root {
            table = back;
        }
        if changed == 0 {
            return Err(Error::Key {
                key: format!("key {path:?}"),
                found: "no integer of its file".into(),
                expected: format!("{LANES}, or one of {}", integers(text)?.join(", ")),
            });
        }
    }
    let changed = table.to_string();
    super::Machine::from_toml(&changed)?;
    scale(&mut table, &before, &literal(&changed)?);
    let changed = table.to_string();
    super::Machine::from_toml(&changed)?;
    Ok(changed)
}

/// Lists the paths of all integers of a machine's file.
///
/// # Errors
/// [`Error::Toml`] for a text that is no TOML.
pub fn integers(text: &str) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    list(&Value::Table(parsed(text)?), "", &mut paths);
    Ok(paths)
}

fn parsed(text: &str) -> Result<Table> {
    toml::from_str(text).map_err(|error| Error::Toml(error.to_string()))
}

fn literal(text: &str) -> Result<Literal> {
    toml::from_str(text).map_err(|error| Error::Toml(error.to_string()))
}

fn list(value: &Value, path: &str, paths: &mut Vec<String>) {
    let behind = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match value {
        Value::Integer(_) => paths.push(path.to_owned()),
        Value::Table(table) => table
            .iter()
            .filter(|(name, _)| {
                !path.is_empty() || !["scaling", "voltage"].contains(&name.as_str())
            })
            .filter(|(name, _)| !name.ends_with("energy"))
            .for_each(|(name, value)| list(value, &behind(name), paths)),
        Value::Array(several) => {
            for one in several {
                let name = one.get("name").and_then(Value::as_str);
                list(one, &behind(name.unwrap_or("")), paths);
            }
        }
        _ => {}
    }
}

/// Sets all integers that a path names. Returns their number.
fn set(value: &mut Value, path: &[&str], to: i64) -> usize {
    match (value, path) {
        (Value::Integer(integer), []) => {
            *integer = to;
            1
        }
        (Value::Table(table), [name, rest @ ..]) => {
            let inner = table.get_mut(*name);
            inner.map_or(0, |inner| set(inner, rest, to))
        }
        (Value::Array(several), [name, rest @ ..]) => {
            let named = |one: &Value| one.get("name").and_then(Value::as_str) == Some(name);
            let only_one = several.iter().any(named);
            let rest = if only_one { rest } else { path };
            let chosen = several.iter_mut().filter(|one| !only_one || named(one));
            chosen.map(|one| set(one, rest, to)).sum()
        }
        _ => 0,
    }
}

fn set_lanes(table: &mut Table, to: i64) -> Result<()> {
    let units = table.get_mut("unit").and_then(Value::as_table_mut);
    let mut lanes: Vec<&mut Value> = units
        .into_iter()
        .flat_map(|units| units.iter_mut())
        .filter_map(|(_, unit)| unit.get_mut(LANES))
        .collect();
    let widest = lanes.iter().filter_map(|one| one.as_integer()).max();
    let widest = i128::from(widest.unwrap_or(1));
    if to < 1 {
        return Err(Error::Key {
            key: LANES.into(),
            found: to.to_string(),
            expected: "1 or more".into(),
        });
    }
    for one in &mut lanes {
        if let Value::Integer(integer) = one {
            *integer = (i128::from(*integer) * i128::from(to) / widest).max(1) as i64;
        }
    }
    Ok(())
}

/// Scales areas and energies by the sizes that differ between `before` and `after`.
fn scale(table: &mut Table, before: &Literal, after: &Literal) {
    let by = after.scaling.unwrap_or_default();
    let clock = Growth::of(before.clock_mhz, after.clock_mhz, by.clock).joules;
    for (name, unit) in &before.unit {
        let growth = Growth::of(unit.lanes, after.unit[name].lanes, by.lanes);
        let units = table.get_mut("unit");
        growth.apply(units.and_then(|units| units.get_mut(name)), "", clock);
    }
    let width = |of: &Literal| {
        let pad = &of.scratchpad;
        pad.banks * pad.ports * pad.port_bytes
    };
    let pads = [&before.scratchpad, &after.scratchpad];
    let bytes = Growth::of_capacity(pads[0].bytes, pads[1].bytes, by.bytes);
    let growth = bytes.times(Growth::of(width(before), width(after), by.ports));
    growth.apply(table.get_mut("scratchpad"), "", clock);
    let width = |of: &Literal| -> u64 {
        let clusters = of.cluster.iter();
        clusters
            .map(|one| one.count * one.ports * one.port_bytes)
            .sum()
    };
    let growth = Growth::of(width(before), width(after), by.ports);
    growth.apply(table.get_mut("network"), "", clock);
    let rates = [before, after].map(|of| of.memory.bytes_per_second);
    let growth = Growth::of(rates[0], rates[1], by.bandwidth);
    growth.apply(table.get_mut("memory"), "", 1.0);
    let lanes = |of: &Literal, cluster: usize| -> u64 {
        let units = of.cluster[cluster].units.iter();
        units.map(|(name, count)| count * of.unit[name].lanes).sum()
    };
    for (place, (old, new)) in before.cluster.iter().zip(&after.cluster).enumerate() {
        let bytes = [old.register_file_bytes, new.register_file_bytes].map(|bytes| bytes.max(1));
        let bytes = Growth::of_capacity(bytes[0], bytes[1], by.bytes);
        let served = Growth::of(lanes(before, place), lanes(after, place), by.lanes).joules;
        let clusters = table.get_mut("cluster").and_then(Value::as_array_mut);
        let cluster = clusters.and_then(|all| all.get_mut(place));
        bytes.apply(cluster, "register_file_", served * clock);
    }
}

/// Factors of the area of a part and of the energy of what it passes.
#[derive(Clone, Copy)]
struct Growth {
    area: f64,
    joules: f64,
}

impl Growth {
    /// A size that a part passes more with. Its watts grow with the power, and so does its area.
    fn of(before: u64, after: u64, power: f64) -> Self {
        let ratio = after as f64 / before as f64;
        Self {
            area: ratio.powf(power),
            joules: ratio.powf(power - 1.0),
        }
    }

    /// A size that changes what an access takes and not how many there are.
    fn of_capacity(before: u64, after: u64, power: f64) -> Self {
        let factor = (after as f64 / before as f64).powf(power);
        Self {
            area: factor,
            joules: factor,
        }
    }

    fn times(self, other: Self) -> Self {
        Self {
            area: self.area * other.area,
            joules: self.joules * other.joules,
        }
    }

    /// Multiplies the area of a part, and its energies by `more` too.
    fn apply(self, part: Option<&mut Value>, prefix: &str, more: f64) {
        let Some(part) = part.and_then(Value::as_table_mut) else {
            return;
        };
        if let Some(area) = part.get_mut(&format!("{prefix}area_mm2")) {
            multiply(area, self.area);
        }
        let energy = part.get_mut(&format!("{prefix}energy"));
        let Some(energy) = energy.and_then(Value::as_table_mut) else {
            return;
        };
        for name in ["picojoules_per_byte", "picojoules_per_word", "watts"] {
            if let Some(value) = energy.get_mut(name) {
                multiply(value, self.joules * more);
            }
        }
    }
}

fn multiply(value: &mut Value, factor: f64) {
    let old = match value {
        Value::Integer(old) => *old as f64,
        Value::Float(old) => *old,
        _ => return,
    };
    *value = Value::Float(old * factor);
}

impl Scaling {
    /// Describes the powers in one line, for reports.
    fn words(self) -> String {
        let all = [
            ("lanes", self.lanes),
            ("ports", self.ports),
            ("bytes", self.bytes),
            ("bandwidth", self.bandwidth),
            ("clock (watts alone)", self.clock),
        ];
        let words = all.map(|(name, power)| match power {
            1.0 => name.to_owned(),
            power => format!("{name}^{power}"),
        });
        words.join(", ")
    }
}

/// Describes the powers of sizes with which the areas and watts of a machine grow in a
/// sweep.
///
/// # Errors
/// The errors of [`Machine::from_toml`](super::Machine::from_toml).
pub fn scaling(text: &str) -> Result<String> {
    super::Machine::from_toml(text)?;
    Ok(literal(text)?.scaling.unwrap_or_default().words())
}
