//! One-time material: generated before there is any input, moved out of the store and erased after
//! use.

mod carrier;
#[cfg(test)]
pub(crate) mod dealer;
mod needs;
mod preprocess;
mod random;
mod squares;
mod store;
mod transfers;

pub use needs::Needs;
pub use preprocess::preprocess;
pub use store::{Material, Squares, Triples};
