//! Machines as data: read from TOML, checked, and resolved to integers once.

mod family;
mod literal;

use crate::error::{Error, Result};
pub use family::Family;
pub(crate) use family::{built_in, expect_family};
use literal::Literal;
pub use literal::{Latency, Mapping, Tile};

/// A spatial array beside programmable logic, checked.
///
/// Time is counted in *ticks*. A cycle of either clock is a whole number of ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    literal: Literal,
    ticks_per_microsecond: u64,
}

impl Machine {
    /// Names of the machines that come with the program, of both [families](Family).
    pub fn names() -> Vec<&'static str> {
        family::names()
    }

    /// The file of a machine that comes with the program.
    ///
    /// # Errors
    /// [`Error::UnknownMachine`].
    pub fn file(name: &str) -> Result<&'static str> {
        built_in(name)
    }

    /// A machine that comes with the program.
    ///
    /// # Errors
    /// [`Error::UnknownMachine`], and [`Error::Family`] for a vector machine.
    pub fn named(name: &str) -> Result<Self> {
        Self::from_toml(Self::file(name)?)
    }

    /// Reads and checks a machine.
    ///
    /// # Errors
    /// [`Error::Toml`] for missing and unknown keys, [`Error::Value`] for values out of range,
    /// [`Error::Family`] for the file of a vector machine.
    pub fn from_toml(text: &str) -> Result<Self> {
        expect_family(text, "spatial")?;
        let literal: Literal =
            toml::from_str(text).map_err(|error| Error::Toml(error.to_string()))?;
        literal.check()?;
        let (a, b) = (literal.array.clock_mhz, literal.logic.clock_mhz);
        Ok(Self {
            ticks_per_microsecond: a / gcd(a, b) * b,
            literal,
        })
    }

    /// The name, from its file.
    pub fn name(&self) -> &str {
        &self.literal.name
    }

    /// Number of tiles of the array.
    pub fn tiles(&self) -> usize {
        self.literal.array.tiles
    }

    /// Bytes of data memory of a tile.
    pub fn data_memory(&self) -> usize {
        self.literal.array.data_memory_bytes
    }

    /// Numbers of streams into and out of a tile.
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

    /// The clocks of array and logic, in MHz.
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
        let streams = &self.literal.streams;
        (streams.switches * streams.switch_cycles + streams.access_cycles) * self.array_cycle()
    }

    /// The instructions that a tile issues in a cycle.
    pub fn tile(&self) -> &Tile {
        &self.literal.tile
    }

    /// Latencies of the instructions of a tile.
    pub fn latency(&self) -> &Latency {
        &self.literal.latency
    }

    /// The layout of bootstrapping for a ring degree.
    ///
    /// # Errors
    /// [`Error::NoMapping`].
    pub fn mapping(&self, n: usize) -> Result<Mapping> {
        let found = self.literal.mapping.iter().find(|m| m.n == n);
        found.copied().ok_or_else(|| Error::NoMapping {
            machine: self.name().to_owned(),
            n,
            known: self.literal.mapping.iter().map(|m| m.n).collect(),
        })
    }

    /// Power in watts with `tiles` tiles in use and `gigabits` gigabits per second over the
    /// channels.
    pub fn watts(&self, tiles: usize, gigabits: f64) -> Power {
        let power = &self.literal.power;
        Power {
            static_watts: power.static_watts,
            tile_watts: power.tile_watts * tiles as f64,
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
mod tests {
    use super::*;

    #[test]
    fn the_built_in_machine_is_that_of_the_paper() {
        let machine = Machine::named("versal").expect("built in");
        assert_eq!(machine.name(), "versal-vck190");
        assert_eq!((machine.tiles(), machine.data_memory()), (400, 32 << 10));
        assert!(
            (machine.channel_gigabits() - 149.76).abs() < 1e-9,
            "equation 11"
        );
        assert_eq!((machine.array_cycle(), machine.logic_cycle()), (52, 125));
        assert_eq!(machine.microseconds(52 * 1250), 1.0);
    }

    #[test]
    fn unknown_names_and_degrees_are_refused_by_name() {
        let error = Machine::named("f2").expect_err("unknown").to_string();
        assert!(
            error.contains("\"f2\"") && error.contains("versal"),
            "{error}"
        );
        let machine = Machine::named("versal").expect("built in");
        let error = machine.mapping(4096).expect_err("none").to_string();
        assert!(error.contains("4096") && error.contains("1024"), "{error}");
    }

    #[test]
    fn missing_unknown_and_absurd_values_are_refused_by_name() {
        let text = Machine::file("versal").expect("built in");
        for (from, to, words) in [
            ("tiles = 400\n", "", &["missing", "tiles"][..]),
            (
                "tiles = 400",
                "tiles = 400\nrows = 8",
                &["unknown", "rows", "tiles"],
            ),
            ("tiles = 400", "tiles = 0", &["array.tiles", "0", "1 to"]),
            ("tiles = 400", "tiles = -1", &["tiles", "-1"]),
            (
                "fifo_words = 1024",
                "fifo_words = 0",
                &["streams.fifo_words", "0"],
            ),
            (
                "clock_mhz = 520",
                "clock_mhz = 1000000",
                &["logic.clock_mhz", "1000000"],
            ),
            (
                "stream_bits = 32",
                "stream_bits = 64",
                &["array.stream_bits", "64", "32"],
            ),
            (
                "streams_in = 2",
                "streams_in = 1",
                &["array.streams_in", "1", "2"],
            ),
            ("lanes = 8", "lanes = 16", &["tile.lanes", "16", "8"]),
            (
                "static_watts = 23.55",
                "static_watts = nan",
                &["power.static_watts", "NaN"],
            ),
            ("elements = 8", "elements = 0", &["mapping.elements", "0"]),
            ("elements = 8", "elements = 7", &["7", "512"]),
            ("n = 1024", "n = 512", &["mapping.n", "512", "once"]),
            (
                "components_per_stream = 1",
                "components_per_stream = 3",
                &["3", "1 to 2"],
            ),
            ("name = \"versal-vck190\"", "name = \"\"", &["name"]),
        ] {
            assert!(text.contains(from), "{from}");
            let error = Machine::from_toml(&text.replacen(from, to, 1));
            let error = error.expect_err(to).to_string();
            for word in words {
                assert!(error.contains(word), "{to}: {error}");
            }
        }
    }
}
