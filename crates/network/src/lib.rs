//! Networks of exact integers.
//!
//! An [`IntNetwork`] alternates *linear groups* (a convolution or a dense layer, accumulating into
//! bounded integers) with *tables* ([`Lut`]: activation and requantisation in one). Its
//! [`evaluate`](IntNetwork::evaluate) is the oracle of the whole project: what an encrypted run
//! decrypts to is compared with it integer by integer. [`evaluate_noisy`](IntNetwork::evaluate_noisy)
//! adds the rounding noise that an encrypted run has before each table.
//!
//! Invariant: [`IntNetwork::check`] holds for every network that [`IntNetwork::from_json`] returns,
//! and then no accumulator can leave the range of `i64`. This crate uses nothing of ours.

mod check;
mod error;
mod evaluate;
mod linear;
mod model;
mod noise;
#[cfg(test)]
mod tests;

pub use error::{Error, Result};
pub use evaluate::{LayerTrace, Trace};
pub use linear::{Conv, Dense, Linear};
pub use model::{FORMAT, Input, IntNetwork, Layer, Lut};
pub use noise::NoiseModel;
