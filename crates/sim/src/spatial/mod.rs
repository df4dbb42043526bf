//! Spatial machines: arrays of tiles joined by streams, beside programmable logic.
//!
//! *Concept.* A [`Machine`] is a file. A design on a machine is a network of tiles that read and
//! write streams of words. One description gives both every word that the array would compute and
//! the cycle in which the word is written. [`Products`] and [`BlindRotation`] are the designs of
//! ATHENA. [`Bootstrapping`] is a whole bootstrapping, with the memory and the processor beside the
//! array.
//!
//! *Invariant*: time follows from the description of tiles and streams, never from data.

mod array;
mod machine;
mod network;
mod placement;
mod schedule;

pub use array::{
    BlindRotation, Bootstrapped, Bootstrapping, Device, Emitted, Emulated, Floorplan, Keys, Kind,
    Multiplier, Order, Parameters, Part, Products, SampleEmulated, Simulated, Timing,
};
pub use machine::{Grid, Latency, Machine, Mapping, Memory, Power, Processor, Tile};
pub use placement::{Placed, Placement};
