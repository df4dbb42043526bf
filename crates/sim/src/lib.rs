//! Machines as data: the words they compute, and the cycles and energy they take.
//!
//! *Concept.* A machine is a file, of one of two [families](Family). [Spatial](spatial) machines
//! are arrays of tiles that run designs. [Vector](vector) machines are wide units that run traces.
//!
//! *May use* traces and the ring: an emulated array and a multiplier share their elements
//! (docs/adr/0013). This crate knows no scheme and no key: emulations take plain words.

#![forbid(unsafe_code)]

mod error;
mod family;
pub mod spatial;
pub mod vector;
mod voltage;

pub use error::{Error, Result};
pub use family::{Family, built_in, names};
