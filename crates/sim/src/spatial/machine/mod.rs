//! Machines as data: read from TOML, checked, and resolved to integers once.

mod literal;
mod missing;

use crate::error::{Error, Result};
use crate::family::{built_in, expect_family};
use literal::Literal;
pub use literal::{Grid, Latency, Mapping, Memory, Processor, Tile};
use ring::torus::wavefront::LANES;

/// A spatial array beside programmable logic, checked.
///
/// Time is counted in *ticks*. A cycle of either clock is a whole number of ticks, and a multiple
/// of the lanes of a vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    literal: Literal,
    ticks_per_microsecond: u64,
}

impl Machine {
    /// Reads a built-in machine by its name.
    ///
    /// # Errors
    /// [`Error::UnknownMachine`], and [`Error::Family`] for a vector machine.
    pub fn named(name: &str) -> Result<Self> {
        Self::from_toml(built_in(name)?)
    }

    /// Reads and checks the file of a machine.
    ///
    /// # Errors
    /// [`Error::Missing`] for missing keys, [`Error::Toml`] for unknown ones, [`Error::Value`] for
    /// values out of range, [`Error::Family`] for the file of a vector machine.
    pub fn from_toml(text: &str) -> Result<Self> {
        expect_family(text, "spatial")?;
        missing::check(text)?;
        let literal: Literal =
            toml::from_str(text).map_err(|error| Error::Toml(error.to_string()))?;
        literal.check()?;
        let (a, b) = (literal.array.clock_mhz, literal.logic.clock_mhz);
        Ok(Self {
            // The words of a vector share its cycles evenly.
            ticks_per_microsecond: a / gcd(a, b) * b * LANES as u64,
            literal,
        })
    }

    /// Name from the machine's file.
    pub fn name(&self) -> &str {
        &self.literal.name
    }

    /// Number of tiles of the array.
    pub fn tiles(&self) -> usize {
        self.literal.array.tiles
    }

    /// The places of the tiles.
    pub fn grid(&self) -> Grid {
        self.literal.grid
    }

    /// Bytes of data memory of a tile.
    pub fn data_memory(&self) -> usize {
        self.literal.array.data_memory_bytes
    }

    /// Number of streams into a tile, and out of it.
    pub fn streams(&self) -> (usize, usize) {
        (
            self.literal.array.streams_in,
            self.literal.array.streams_out,
        )
    }

    /// Number of channels between programmable logic and array.
    pub fn channels(&self) -> usize {
        self.literal.logic.channels
    }

    /// Gigabits per second over all channels: equation 11 of the paper.
    pub fn channel_gigabits(&self) -> f64 {
        let logic = &self.literal.logic;
        (logic.clock_mhz * logic.channel_bits) as f64 * logic.channels as f64 / 1000.0
    }

    /// Clocks of the array and of the logic, in MHz.
    pub fn clocks(&self) -> (u64, u64) {
        (self.literal.array.clock_mhz, self.literal.logic.clock_mhz)
    }

    /// Ticks of a cycle of the array.
    pub fn array_cycle(&self) -> u64 {
        self.ticks_per_microsecond / self.literal.array.clock_mhz
    }

    /// Ticks of a cycle of the logic.
    pub fn logic_cycle(&self) -> u64 {
        self.ticks_per_microsecond / self.literal.logic.clock_mhz
    }

    /// Converts ticks to microseconds.
    pub fn microseconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_microsecond as f64
    }

    /// Words that a stream holds.
    pub fn fifo(&self) -> usize {
        self.literal.streams.fifo_words
    }

    /// Ticks from the write of a word to its read by a neighbour.
    pub fn hop(&self) -> u64 {
        self.hops(1)
    }

    /// Ticks from the write of a word to its read by a tile that is `length` columns and rows away. A
    /// word passes one more switch for each after the first.
    pub fn hops(&self, length: usize) -> u64 {
        let streams = &self.literal.streams;
        let switches = streams.switches + (length as u64).saturating_sub(1);
        (switches * streams.switch_cycles + streams.access_cycles) * self.array_cycle()
    }

    /// The instructions that a tile issues in a cycle.
    pub fn tile(&self) -> &Tile {
        &self.literal.tile
    }

    /// Latencies of the instructions of a tile.
    pub fn latency(&self) -> &Latency {
        &self.literal.latency
    }

    /// The memory behind the logic.
    pub fn memory(&self) -> &Memory {
        &self.literal.memory
    }

    /// Ticks in which the memory reads a burst, rounded up.
    pub fn burst(&self) -> u64 {
        let memory = self.memory();
        let bytes = 4 * memory.burst_words as u128;
        // Microseconds are bytes divided by megabytes per second.
        let rate = u128::from(memory.peak_megabytes_per_second * memory.efficiency_percent);
        let ticks = 100 * bytes * u128::from(self.ticks_per_microsecond);
        ticks.div_ceil(rate) as u64
    }

    /// Ticks from the end of a read of the memory to its arrival in the logic, rounded up.
    pub fn memory_latency(&self) -> u64 {
        let ticks = u128::from(self.memory().latency_ns) * u128::from(self.ticks_per_microsecond);
        ticks.div_ceil(1000) as u64
    }

    /// The processor beside the array.
    pub fn processor(&self) -> &Processor {
        &self.literal.processor
    }

    /// The layout of bootstrapping for a ring degree.
    ///
    /// # Errors
    /// [`Error::NoMapping`] if the machine's file has no layout for this degree.
    pub fn mapping(&self, n: usize) -> Result<Mapping> {
        let mapping = self.literal.mapping.iter().find(|m| m.n == n);
        mapping.copied().ok_or_else(|| Error::NoMapping {
            machine: self.name().to_owned(),
            n,
            known: self.literal.mapping.iter().map(|m| m.n).collect(),
        })
    }

    /// Power in watts with `tiles` tiles in use and `gigabits` gigabits per second over the
    /// channels.
    ///
    /// The power of a tile is switching: it grows linearly with the clock of the array and with the
    /// square of its voltage. The static power covers parts with other clocks and supplies, and
    /// stays.
    pub fn watts(&self, tiles: usize, gigabits: f64) -> Power {
        let power = &self.literal.power;
        let array = self.literal.array.clock_mhz;
        let clock = array as f64 / power.tile_mhz as f64;
        let volts = power
            .voltage
            .as_ref()
            .map_or(1.0, |voltage| voltage.ratio(array));
        Power {
            static_watts: power.static_watts,
            tile_watts: power.tile_watts * tiles as f64 * clock * volts.powi(2),
            channel_watts: power.channel_picojoules_per_bit * gigabits / 1000.0,
        }
    }
}

/// Power by component.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Processing system, logic, memory and leakage: the part that does not depend on the design.
    pub static_watts: f64,
    /// Tiles in use.
    pub tile_watts: f64,
    /// Keys from memory through the logic into the array.
    pub channel_watts: f64,
}

impl Power {
    /// All components.
    pub fn watts(&self) -> f64 {
        self.static_watts + self.tile_watts + self.channel_watts
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests;
