//! Networks of exact integers.
//!
//! An [`IntNetwork`] is a graph of layers. Each adds up linear maps ([`Conv`], [`Dense`], [`Window`])
//! of earlier ones, and perhaps a [`Product`] of two, into bounded integers, and puts them through a table ([`Lut`]: activation and
//! requantisation in one). `docs/int-network.md` defines both the file and its meaning.
//!
//! An [`Evaluator`] computes it: what an encrypted run decrypts to is compared with that integer by
//! integer. It can add the rounding noise that an encrypted run has before each table, and evaluates
//! single images or [batches](Evaluator::evaluate_batch).
//!
//! Invariant: [`IntNetwork::check`] holds for every network that [`IntNetwork::from_json`] returns
//! and for every one that has an [`Evaluator`], and then no accumulator can leave the range of `i64`.
//! This crate uses nothing of ours.

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
pub use linear::{Conv, Dense, Linear, Sliding, Window};
pub use lut::Lut;
pub use model::{FORMAT, IntNetwork, Layer, Product, Source, Term};
pub use noise::NoiseModel;
pub use place::Shape;
pub use product::partners;
