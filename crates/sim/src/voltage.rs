//! The voltage of a machine, with which its energies grow. Files of both families have it.

use crate::error::{Error, Result};
use serde::Deserialize;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The table `voltage`. A file without it is at the voltage of its energies.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Voltage {
    /// Volts at which the energies and the leakage of the file hold.
    energies: f64,
    /// Volts of the machine.
    volts: Volts,
}

/// The volts of a machine: a number, or pairs of a clock in megahertz and the volts that it needs.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Volts {
    /// The same at every clock.
    Fixed(f64),
    /// Pairs by rising clock. Between two of them the voltage is on a line.
    ByClock(Vec<[f64; 2]>),
}

impl Voltage {
    pub(crate) fn check(&self, clock_mhz: u64) -> Result<()> {
        within("voltage.energies", self.energies, 0.1..=10.0)?;
        match &self.volts {
            Volts::Fixed(volts) => within("voltage.volts", *volts, 0.1..=10.0),
            Volts::ByClock(pairs) => {
                let rising = |pair: &[[f64; 2]]| pair[0][0] < pair[1][0];
                if pairs.is_empty() || !pairs.windows(2).all(rising) {
                    return Err(wrong(
                        "voltage.volts",
                        format!("{pairs:?}"),
                        "a number, or pairs [megahertz, volts] by rising clock",
                    ));
                }
                for [_, volts] in pairs {
                    within("voltage.volts", *volts, 0.1..=10.0)?;
                }
                let ends = pairs[0][0]..=pairs[pairs.len() - 1][0];
                within(
                    "clock_mhz, of which voltage.volts has",
                    clock_mhz as f64,
                    ends,
                )
            }
        }
    }

    /// The machine's voltage divided by that of its energies.
    pub(crate) fn ratio(&self, clock_mhz: u64) -> f64 {
        let clock = clock_mhz as f64;
        let volts = match &self.volts {
            Volts::Fixed(volts) => *volts,
            Volts::ByClock(pairs) => {
                let place = pairs.partition_point(|pair| pair[0] < clock);
                match place.checked_sub(1) {
                    None => pairs[0][1],
                    Some(before) => {
                        let ([from, low], [to, high]) = (pairs[before], pairs[place]);
                        low + (high - low) * (clock - from) / (to - from)
                    }
                }
            }
        };
        volts / self.energies
    }
}

fn within(key: &str, found: f64, range: RangeInclusive<f64>) -> Result<()> {
    if range.contains(&found) {
        return Ok(());
    }
    let expected = format!("{} to {}", range.start(), range.end());
    Err(wrong(key, found, expected))
}

fn wrong(key: &str, found: impl Display, expected: impl Into<String>) -> Error {
    Error::Key {
        key: key.to_owned(),
        found: found.to_string(),
        expected: expected.into(),
    }
}
