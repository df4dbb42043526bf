//! The content of a machine's file. Any values may stand here; [`Literal::check`] decides.

use crate::error::{Error, Result};
use crate::voltage::Voltage;
use ring::torus::Wavefront;
use ring::torus::wavefront::LANES;
use serde::Deserialize;
use std::fmt::Display;
use std::ops::RangeInclusive;

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Literal {
    /// `spatial`, or absent.
    #[serde(rename = "family")]
    _family: Option<String>,
    pub(super) name: String,
    pub(super) array: Array,
    pub(super) grid: Grid,
    pub(super) streams: Streams,
    pub(super) tile: Tile,
    pub(super) latency: Latency,
    pub(super) logic: Logic,
    pub(super) memory: Memory,
    pub(super) processor: Processor,
    pub(super) power: PowerLiteral,
    pub(super) mapping: Vec<Mapping>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Array {
    pub(super) tiles: usize,
    pub(super) clock_mhz: u64,
    pub(super) data_memory_bytes: usize,
    program_memory_bytes: usize,
    pub(super) streams_in: usize,
    pub(super) streams_out: usize,
    stream_bits: u64,
    cascade_bits: u64,
}

/// The places of the tiles. Below row 0 of a column is its shim tile, beside the logic.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Columns of tiles.
    pub columns: usize,
    /// Rows of tiles.
    pub rows: usize,
    /// The first column whose shim tile has streams to the logic.
    pub first_shim: usize,
    /// The last such column.
    pub last_shim: usize,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Streams {
    pub(super) fifo_words: usize,
    pub(super) switches: u64,
    pub(super) switch_cycles: u64,
    pub(super) access_cycles: u64,
}

/// The instructions that a tile issues in one cycle.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Tile {
    /// Words of a vector.
    pub lanes: usize,
    /// Reads from memory.
    pub loads: usize,
    /// Moves between registers.
    pub moves: usize,
    /// Writes to memory.
    pub stores: usize,
    /// Scalar operations.
    pub scalars: usize,
    /// Vector operations.
    pub vectors: usize,
    /// True if inner loops of multiplications are software-pipelined.
    pub pipelined: bool,
}

/// Cycles until the result of an instruction can be read.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// A load from memory.
    pub load: u64,
    /// A copy of a word into all lanes.
    pub broadcast: u64,
    /// A shift of a word into a vector.
    pub shift: u64,
    /// Eight products added to an accumulator.
    pub multiply_accumulate: u64,
    /// Eight products, sums or differences in single precision.
    pub float: u64,
    /// A conversion of an accumulator to a vector.
    pub narrow: u64,
    /// A store to memory.
    pub store: u64,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Logic {
    pub(super) clock_mhz: u64,
    pub(super) channels: usize,
    pub(super) channel_bits: u64,
}

/// The memory behind the logic. All channels into the array read it, in bursts.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Megabytes per second of the interface.
    pub peak_megabytes_per_second: u64,
    /// Share of this rate that reads get, in percent.
    pub efficiency_percent: u64,
    /// Words of a burst. A shorter read takes the time of a burst.
    pub burst_words: usize,
    /// Nanoseconds from the end of a read to its arrival in the logic.
    pub latency_ns: u64,
    /// Words that a channel has requested or received, and not yet sent to the array.
    pub buffer_words: usize,
}

/// The processor beside the array. One core does all the work that is not on the array.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Clock, in MHz.
    pub clock_mhz: u64,
    /// Cycles to read, compute and write a word of a sample or an accumulator.
    pub cycles_per_word: f64,
    /// Cycles to subtract the product of a digit and a word of key.
    pub cycles_per_product: f64,
    /// Megabytes of keys that one core reads in a second.
    pub megabytes_per_second: u64,
    /// Microseconds to start a channel of the logic, or the graph of the array.
    pub start_us: f64,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct PowerLiteral {
    pub(super) static_watts: f64,
    /// Clock of the array at which a tile takes `tile_watts`.
    pub(super) tile_mhz: u64,
    /// Voltage of the array, or `None` for that of the watts.
    pub(super) voltage: Option<Voltage>,
    pub(super) tile_watts: f64,
    pub(super) channel_picojoules_per_bit: f64,
}

/// The layout of bootstrapping for one ring degree.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// Ring degree.
    pub n: usize,
    /// Elements of a multiplier.
    pub elements: usize,
    /// Components of a ciphertext that are composed and accumulated on one stream.
    pub components_per_stream: usize,
}

/// Range of clocks, in MHz. With the largest, ticks of both clocks together fit 64 bits for hours.
const CLOCKS: RangeInclusive<u64> = 1..=10_000;
const CYCLES: RangeInclusive<u64> = 0..=1000;
const ISSUE: RangeInclusive<usize> = 1..=16;

impl Literal {
    pub(super) fn check(&self) -> Result<()> {
        let Self {
            _family,
            name,
            array,
            grid,
            streams,
            tile,
            latency,
            logic,
            memory,
            processor,
            power,
            mapping,
        } = self;
        if name.is_empty() || name.len() > 64 {
            return Err(value("name", format!("{name:?}"), "1 to 64 bytes"));
        }
        within("array.tiles", array.tiles, 1..=1 << 16)?;
        within("array.clock_mhz", array.clock_mhz, CLOCKS)?;
        within(
            "array.data_memory_bytes",
            array.data_memory_bytes,
            1..=1 << 30,
        )?;
        within(
            "array.program_memory_bytes",
            array.program_memory_bytes,
            1..=1 << 30,
        )?;
        // Kernels have two streams in each direction, of one word each.
        within("array.streams_in", array.streams_in, 2..=2)?;
        within("array.streams_out", array.streams_out, 2..=2)?;
        within("array.stream_bits", array.stream_bits, 32..=32)?;
        within("array.cascade_bits", array.cascade_bits, 0..=1 << 16)?;
        grid.check(array.tiles)?;
        within("streams.fifo_words", streams.fifo_words, 1..=1 << 20)?;
        within("streams.switches", streams.switches, CYCLES)?;
        within("streams.switch_cycles", streams.switch_cycles, CYCLES)?;
        within("streams.access_cycles", streams.access_cycles, CYCLES)?;
        // The memory of a simulation is proportional to these.
        let most = (1 << 31) / array.tiles;
        within("array.data_memory_bytes", array.data_memory_bytes, 1..=most)?;
        within(
            "streams.fifo_words",
            streams.fifo_words,
            1..=(1 << 24) / array.tiles,
        )?;
        within("tile.lanes", tile.lanes, LANES..=LANES)?;
        within("tile.loads", tile.loads, ISSUE)?;
        within("tile.moves", tile.moves, ISSUE)?;
        within("tile.stores", tile.stores, ISSUE)?;
        within("tile.scalars", tile.scalars, ISSUE)?;
        within("tile.vectors", tile.vectors, ISSUE)?;
        within("latency.load", latency.load, CYCLES)?;
        within("latency.broadcast", latency.broadcast, CYCLES)?;
        within("latency.shift", latency.shift, CYCLES)?;
        within(
            "latency.multiply_accumulate",
            latency.multiply_accumulate,
            CYCLES,
        )?;
        within("latency.float", latency.float, CYCLES)?;
        within("latency.narrow", latency.narrow, CYCLES)?;
        within("latency.store", latency.store, CYCLES)?;
        within("logic.clock_mhz", logic.clock_mhz, CLOCKS)?;
        within("logic.channels", logic.channels, 1..=1 << 16)?;
        within("logic.channel_bits", logic.channel_bits, 32..=32)?;
        memory.check()?;
        processor.check()?;
        within("power.tile_mhz", power.tile_mhz, CLOCKS)?;
        if let Some(voltage) = &power.voltage {
            voltage.check(array.clock_mhz)?;
        }
        for (key, watts) in [
            ("power.static_watts", power.static_watts),
            ("power.tile_watts", power.tile_watts),
            (
                "power.channel_picojoules_per_bit",
                power.channel_picojoules_per_bit,
            ),
        ] {
            // NaN lies in no range, so it is refused too.
            within(key, watts, 0.0..=1e6)?;
        }
        for (i, one) in mapping.iter().enumerate() {
            if mapping[..i].iter().any(|other| other.n == one.n) {
                return Err(value("mapping.n", one.n, "each degree once"));
            }
            within("mapping.n", one.n, 16..=1 << 17)?;
            within("mapping.elements", one.elements, 1..=1 << 16)?;
            within(
                "mapping.components_per_stream",
                one.components_per_stream,
                1..=2,
            )?;
            Wavefront::new(one.n, one.elements)?;
        }
        Ok(())
    }
}

impl Grid {
    fn check(&self, tiles: usize) -> Result<()> {
        const SIDES: RangeInclusive<usize> = 1..=1 << 10;
        within("grid.columns", self.columns, SIDES)?;
        within("grid.rows", self.rows, SIDES)?;
        within("grid.last_shim", self.last_shim, 0..=self.columns - 1)?;
        within("grid.first_shim", self.first_shim, 0..=self.last_shim)?;
        if tiles <= self.columns * self.rows {
            return Ok(());
        }
        let places = format!(
            "1 to columns * rows of [grid], {}",
            self.columns * self.rows
        );
        Err(value("array.tiles", tiles, places))
    }
}

impl Memory {
    fn check(&self) -> Result<()> {
        const RATES: RangeInclusive<u64> = 1..=100_000_000;
        const WORDS: RangeInclusive<usize> = 1..=1 << 16;
        let peak = self.peak_megabytes_per_second;
        within("memory.peak_megabytes_per_second", peak, RATES)?;
        let efficiency = self.efficiency_percent;
        within("memory.efficiency_percent", efficiency, 1..=100)?;
        within("memory.burst_words", self.burst_words, WORDS)?;
        within("memory.latency_ns", self.latency_ns, 0..=1_000_000)?;
        within("memory.buffer_words", self.buffer_words, WORDS)
    }
}

impl Processor {
    fn check(&self) -> Result<()> {
        const RATES: RangeInclusive<u64> = 1..=100_000_000;
        within("processor.clock_mhz", self.clock_mhz, CLOCKS)?;
        let per_word = self.cycles_per_word;
        within("processor.cycles_per_word", per_word, 0.0..=1e6)?;
        let per_product = self.cycles_per_product;
        within("processor.cycles_per_product", per_product, 0.0..=1e6)?;
        let rate = self.megabytes_per_second;
        within("processor.megabytes_per_second", rate, RATES)?;
        within("processor.start_us", self.start_us, 0.0..=1e6)
    }
}

fn within<T: PartialOrd + Display>(
    key: &'static str,
    found: T,
    range: RangeInclusive<T>,
) -> Result<()> {
    if range.contains(&found) {
        return Ok(());
    }
    Err(value(
        key,
        found,
        format!("{} to {}", range.start(), range.end()),
    ))
}

fn value(key: &'static str, found: impl ToString, expected: impl Into<String>) -> Error {
    Error::Value {
        key,
        found: found.to_string(),
        expected: expected.into(),
    }
}
