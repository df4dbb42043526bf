//! Errors of the simulator.

use thiserror::Error;

/// Result of the simulator.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors in a machine, or in the design or trace that it runs.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// No machine of this name comes with the program.
    #[error("no machine is called {found:?}, expected one of {}", expected.join(", "))]
    UnknownMachine {
        /// Name found.
        found: String,
        /// Names of the machines that exist.
        expected: Vec<&'static str>,
    },
    /// The file is not TOML, lacks a key, or has an unknown one.
    #[error("the machine's file: {0}")]
    Toml(String),
    /// The file of a spatial machine lacks a key or a section.
    #[error(
        "the machine's file: missing field `{field}`: the file of `palladion simulate machine versal` has\n{write}"
    )]
    Missing {
        /// The key or the section.
        field: String,
        /// The lines of a file that has it.
        write: String,
    },
    /// A value is out of range.
    #[error("the machine's {key} is {found}, expected {expected}")]
    Value {
        /// Key of the value.
        key: &'static str,
        /// Value found.
        found: String,
        /// The values allowed, in words.
        expected: String,
    },
    /// As [`Error::Value`], for keys whose names are chosen in the file.
    #[error("the machine's {key} is {found}, expected {expected}")]
    Key {
        /// Key of the value.
        key: String,
        /// The value found.
        found: String,
        /// The values allowed, in words.
        expected: String,
    },
    /// The machine is of the other family.
    #[error(
        "the machine is of the family {found:?}, expected {expected:?}: spatial machines run `simulate pbs`, vector machines \
         run `simulate run`"
    )]
    Family {
        /// Family found.
        found: String,
        /// The family expected.
        expected: &'static str,
    },
    /// The machine cannot run the trace.
    #[error("{machine} cannot run this trace: {what} is {found}, expected {expected}")]
    Unfit {
        /// Name of the machine.
        machine: String,
        /// The part that does not fit.
        what: String,
        /// The value found.
        found: String,
        /// The values that the machine supports, and the remedy.
        expected: String,
    },
    /// The trace has more instructions than can be numbered.
    #[error(
        "the trace has {found} {what} when its calls are written out, expected at most {limit}"
    )]
    TooLong {
        /// The items that are counted.
        what: &'static str,
        /// Number found.
        found: u64,
        /// Largest number.
        limit: u64,
    },
    /// The checker refuses a schedule of this crate. A pass has a fault.
    #[error(transparent)]
    Violation(#[from] crate::vector::Violation),
    /// The caller asked to stop.
    #[error("the simulation was stopped")]
    Stopped,
    /// The machine has no mapping for a ring degree.
    #[error("{machine} has no mapping for N = {n}, only for {known:?}")]
    NoMapping {
        /// Name of the machine.
        machine: String,
        /// Ring degree.
        n: usize,
        /// Ring degrees for which it has mappings.
        known: Vec<usize>,
    },
    /// The design does not fit the machine.
    #[error(
        "the design needs {needed} {what}, {machine} has {available}{}",
        way_out(what)
    )]
    TooSmall {
        /// Name of the machine.
        machine: String,
        /// The resource that is short.
        what: &'static str,
        /// The amount that the design needs.
        needed: usize,
        /// The amount that the machine has.
        available: usize,
    },
    /// No graph can be made for these parameters.
    #[error("{what} is {found}, expected {expected}")]
    Parameters {
        /// Name of the parameter.
        what: &'static str,
        /// Value found.
        found: usize,
        /// The values allowed, in words.
        expected: String,
    },
    /// The multiplier gives wrong words.
    #[error(
        "the FFT multiplier as printed, of {found} passes, gives wrong words: only the exact one can be emulated"
    )]
    Inexact {
        /// Number of passes of a product.
        found: usize,
    },
    /// A tile has no kernel in C++.
    #[error(
        "no kernel is written for the tile {tile}: only designs of direct multipliers are emitted"
    )]
    NoSource {
        /// Name of the tile.
        tile: String,
    },
    /// Data has the wrong length.
    #[error("{found} words of {what}, expected {expected}")]
    Words {
        /// The kind of words.
        what: &'static str,
        /// Number found.
        found: usize,
        /// Number expected.
        expected: usize,
    },
    /// Tiles wait for each other: streams are too short for the design.
    #[error("{tile} waits forever at its turn {turn}: streams are too short for this design")]
    Deadlock {
        /// Name of the tile.
        tile: String,
        /// The turn that it cannot finish.
        turn: usize,
    },
    /// The elements or digits do not exist.
    #[error(transparent)]
    Ring(#[from] ring::Error),
}

/// The way out for a design for which a machine has too little of the resource `what`, as the end
/// of the message. Empty for other resources.
fn way_out(what: &str) -> &'static str {
    match what {
        "tiles" => {
            ": fewer `elements` in the [[mapping]] of its ring degree take fewer tiles and more time, and `array.tiles` \
             is the number that the machine has"
        }
        "shim tiles" => {
            ": each channel takes one, and `first_shim` and `last_shim` of [grid] are the columns that have them"
        }
        "channels" => ": `logic.channels` is the number that the machine has",
        "bytes of memory of a tile" => {
            ": more `elements` in the [[mapping]] of its ring degree take less memory each, and \
             `array.data_memory_bytes` is what a tile has"
        }
        _ => "",
    }
}
