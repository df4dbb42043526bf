//! One-time material: made before there is any input, moved out and erased when it is used.

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
