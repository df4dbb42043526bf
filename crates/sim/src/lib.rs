//! Machines as data: the words they compute, and the cycles and energy they take.
//!
//! *Concept.* A [`Machine`] is a file. A design on it is a network of tiles that read and write
//! streams of words. One description gives both every word that the array would compute and the
//! cycle in which it is written. [`Products`] and [`BlindRotation`] are the designs of ATHENA, and
//! [`Bootstrapping`] is a whole one with the memory and the processor beside the array. The other
//! [family](Family) are [vector machines](vector), which run traces.
//!
//! *May use* the program and the ring: an emulated array and a multiplier share their elements
//! (docs/adr/0013). This crate knows no scheme and no key: emulations take plain words.
//! *Invariant*: time follows from the description of tiles and streams, never from data.

#![forbid(unsafe_code)]

mod array;
mod error;
mod machine;
mod network;
mod schedule;
pub mod vector;

pub use array::{
    BlindRotation, Bootstrapped, Bootstrapping, Emulated, Floorplan, Keys, Kind, Multiplier, Order,
    Parameters, Part, Place, Products, SampleEmulated, Simulated, Timing,
};
pub use error::{Error, Result};
pub use machine::{Family, Latency, Machine, Mapping, Memory, Power, Processor, Tile};
