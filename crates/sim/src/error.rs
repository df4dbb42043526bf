//! Errors of the simulator.

use thiserror::Error;

/// Result of the simulator.
pub type Result<T> = std::result::Result<T, Error>;

/// What can be wrong with a machine, or with what it is to run.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// No machine of this name comes with the program.
    #[error("no machine is called {found:?}, expected one of {}", expected.join(", "))]
    UnknownMachine {
        /// Name found.
        found: String,
        /// Names that there are.
        expected: Vec<&'static str>,
    },
    /// A file that is no TOML, lacks a key, or has one too many.
    #[error("the machine's file: {0}")]
    Toml(String),
    /// A value out of its range.
    #[error("the machine's {key} is {found}, expected {expected}")]
    Value {
        /// Key of the value.
        key: &'static str,
        /// Value found.
        found: String,
        /// What it may be.
        expected: String,
    },
    /// As [`Error::Value`], for keys whose names stand in the file.
    #[error("the machine's {key} is {found}, expected {expected}")]
    Key {
        /// Key of the value.
        key: String,
        /// What was found.
        found: String,
        /// What it may be.
        expected: String,
    },
    /// A machine of the other family.
    #[error(
        "the machine is of the family {found:?}, expected {expected:?}: spatial machines run `simulate pbs`, vector machines \
         run `simulate run`"
    )]
    Family {
        /// Family found.
        found: String,
        /// Family that is asked for.
        expected: &'static str,
    },
    /// A trace that a machine cannot run.
    #[error("{machine} cannot run this trace: {what} is {found}, expected {expected}")]
    Unfit {
        /// Name of the machine.
        machine: String,
        /// What does not fit.
        what: String,
        /// What was found.
        found: String,
        /// What the machine can, and the way out.
        expected: String,
    },
    /// A trace with more instructions than can be numbered.
    #[error(
        "the trace has {found} {what} when its calls are written out, expected at most {limit}"
    )]
    TooLong {
        /// What is counted.
        what: &'static str,
        /// Number found.
        found: u64,
        /// Largest number.
        limit: u64,
    },
    /// A schedule of ours that the checker refuses: a mistake of the passes.
    #[error(transparent)]
    Violation(#[from] crate::vector::Violation),
    /// The caller asked for an end.
    #[error("the simulation was stopped")]
    Stopped,
    /// No mapping for a ring degree.
    #[error("{machine} has no mapping for N = {n}, only for {known:?}")]
    NoMapping {
        /// Name of the machine.
        machine: String,
        /// Ring degree.
        n: usize,
        /// Ring degrees that it has mappings for.
        known: Vec<usize>,
    },
    /// A design that does not fit the machine.
    #[error("the design needs {needed} {what}, {machine} has {available}")]
    TooSmall {
        /// Name of the machine.
        machine: String,
        /// What is short.
        what: &'static str,
        /// What the design needs.
        needed: usize,
        /// What there is.
        available: usize,
    },
    /// Parameters that no graph can be made for.
    #[error("{what} is {found}, expected {expected}")]
    Parameters {
        /// Name of the parameter.
        what: &'static str,
        /// Value found.
        found: usize,
        /// What it may be.
        expected: String,
    },
    /// Data of the wrong length.
    #[error("{found} words of {what}, expected {expected}")]
    Words {
        /// What the words are.
        what: &'static str,
        /// Number found.
        found: usize,
        /// Number expected.
        expected: usize,
    },
    /// Tiles wait for each other: streams are too short for the design.
    #[error("{tile} waits for ever at its turn {turn}: streams are too short for this design")]
    Deadlock {
        /// Name of the tile.
        tile: String,
        /// Turn that it cannot end.
        turn: usize,
    },
    /// Elements or digits that do not exist.
    #[error(transparent)]
    Ring(#[from] ring::Error),
}
