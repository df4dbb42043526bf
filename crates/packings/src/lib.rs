//! Packings of linear layers, as circuits.
//!
//! *Concept.* A layer's values lie in the slots of ciphertexts, its weights in the slots of
//! plaintexts. Their places decide how many products and rotations the layer takes. A [`Packing`]
//! says where every value lies, builds the [circuit](program::circuit) that computes the layer,
//! says where the results lie, and gives a closed formula for the cost. Hyena (IEEE S&P 2024)
//! compares nine packings; each is a file here. [`choose`] prices all of them for a layer's shape
//! and takes the cheapest.
//!
//! The paper's dataflows compute part of the outputs: whole tiles, no padding, and for a 3x3 kernel
//! 5 of 9 windows. Ours compute all outputs of any kernel, stride, padding, dilation and number of
//! groups. [`Packing::published`] is the paper's own count.
//!
//! *May use* `runtime`, `network` and the crates below them. *Invariant*: a circuit's counts equal
//! the counts of the formula, on every shape (`tests/packings/clear.rs`). No secret is held here:
//! encrypted trials are in `inspect::packing`.

#![forbid(unsafe_code)]

mod a_plus_w;
mod batchwise;
mod batchwise_plus;
mod blocks;
mod c2pc;
mod cells;
mod channel;
mod counts;
mod diagonals;
mod error;
mod frame;
mod gala;
mod hyena;
mod hyena_plus;
mod layer;
mod lola;
mod packed;
mod packing;
mod planner;
mod price;
mod scalars;
mod slice;
mod tiles;
mod writer;

pub use a_plus_w::APlusW;
pub use batchwise::BatchWise;
pub use batchwise_plus::BatchWisePlus;
pub use c2pc::C2pc;
pub use channel::Channel;
pub use counts::{Counts, Published};
pub use error::{Error, Result};
pub use frame::{Arith, Frame};
pub use gala::Gala;
pub use hyena::Hyena;
pub use hyena_plus::HyenaPlus;
pub use layer::Layer;
pub use lola::Lola;
pub use packed::{Contents, Messages, Packed};
pub use packing::{ALL, Packing, by_name};
pub use planner::{Candidate, Choice, choose};
pub use price::{Passes, Prices, Traffic};
pub use slice::slice;
pub use tiles::{Tile, tiles};
