//! Networks of exact integers.
//!
//! An [`IntNetwork`] is a graph of layers. Each layer adds up linear maps ([`Conv`], [`Dense`],
//! [`Window`]) of earlier layers, and perhaps a [`Product`] of two, into bounded integers. It then
//! applies a table ([`Lut`]: activation and requantisation in one). `docs/int-network.md` defines
//! both the file and its meaning.
//!
//! An [`Evaluator`] computes a network. The decrypted result of an encrypted run is compared with
//! its result, integer by integer. The evaluator can add the rounding noise that an encrypted run
//! has before each table. It evaluates single images or [batches](Evaluator::evaluate_batch).
//!
//! Invariant: every network that [`IntNetwork::from_json`] returns, and every network that has an
//! [`Evaluator`], has passed [`IntNetwork::check`]. Then no accumulator can leave the range of
//! `i64`. This crate uses no other crate of this repository.

#![forbid(unsafe_code)]

mod batch;
mod check;
mod error;
mod evaluator;
mod input;
mod linear;
mod lut;
mod model;
mod noise;
mod patches;
mod place;
mod product;
mod shape;
#[cfg(test)]
mod tests;
mod worst_case;

pub use batch::{Batch, LayerStatistics, Simulation};
pub use error::{Error, Result};
pub use evaluator::{Evaluator, LayerTrace, Trace};
pub use input::Input;
pub use linear::{Conv, Dense, Grouped, Linear, Sliding, Window};
pub use lut::Lut;
pub use model::{FORMAT, IntNetwork, Layer, Product, Source, Term};
pub use noise::NoiseModel;
pub use place::Shape;
pub use product::partners;
