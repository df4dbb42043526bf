//! Numbers of a recording's operations.

use super::ir::{Recording, Type};
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};

/// Number of runs of each operation, by the level of its result. Samples are at level 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By name and level.
    pub operations: BTreeMap<&'static str, BTreeMap<usize, u64>>,
}

impl Recording {
    /// Counts the operations.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for step in &self.steps {
            let level = match step.ty {
                Type::Ciphertext(ty) => ty.level,
                Type::Samples => 0,
            };
            let levels = counts.operations.entry(step.op.name()).or_default();
            *levels.entry(level).or_default() += 1;
        }
        counts
    }
}

/// Writes a line for each operation: its name, how often it runs, then how often at each level, the
/// highest first.
impl Display for Counts {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{:<14}{:>8}  of each level", "operation", "all")?;
        for (name, levels) in &self.operations {
            write!(f, "{name:<14}{:>8}  ", levels.values().sum::<u64>())?;
            for (place, (level, count)) in levels.iter().rev().enumerate() {
                let comma = if place > 0 { ", " } else { "" };
                write!(f, "{comma}{level}: {count}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
