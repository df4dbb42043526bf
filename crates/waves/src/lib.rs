//! Traces as *waves*: batches of independent instructions on *rows*, for machines that are fast on
//! many limbs at once.
//!
//! *Concept.* A machine such as a GPU has one store of rows. A row holds the `N` words of 32 bits
//! of a limb. A [`Plan`] is the machine's schedule: a list of waves, each of which runs one
//! [`Kernel`] on many rows. The instructions of a wave do not depend on each other. The operands of
//! an instruction are rows, given by number, words, and tables. A machine therefore compiles each
//! [shape](Shape) of a kernel only once, for all levels of ciphertexts and all sizes of waves.
//!
//! A trace becomes a plan in four passes:
//!
//! 1. `work` writes out the calls, limb by limb. Selecting and joining limbs cost nothing.
//! 2. `tables` collects the tables that instructions share: matrices, conversions, permutations,
//!    places.
//! 3. `order` makes waves of instructions that are ready at the same time, within a window.
//! 4. `rows` assigns each limb a row, from the wave that computes the limb to the last wave that
//!    reads it.
//!
//! *May use* `program`, and `kernels` for arithmetic modulo one prime. This crate handles no keys
//! and no ciphertexts: the instruction that loads a value names it.
//!
//! *Invariants*: no wave reads a row that it writes. Row [`Plan::ZERO`] is always zero, and nothing
//! reads row [`Plan::SPARE`].

#![forbid(unsafe_code)]

mod build;
mod error;
mod kernel;
mod operations;
mod order;
mod plan;
mod rows;
mod tables;
mod work;

pub use error::{Error, Result};
pub use kernel::{Kernel, Shape};
pub use plan::{Move, Origin, Plan, Stage, Wave, What};
pub use tables::{Conversion, Tables};
