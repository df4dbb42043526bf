//! Traces as *waves*: batches of independent instructions on *rows*, for machines that are fast on
//! many limbs at once.
//!
//! *Concept.* A machine such as a GPU has one store of rows. A row holds `N` words of 32 bits: a
//! limb. A [`Plan`] tells it what to do: a list of waves, each of which runs one [`Kernel`] on many
//! rows. The instructions of a wave do not depend on each other. Rows are numbers, and what an
//! instruction needs besides rows are words and tables. So a machine compiles each
//! [shape](Shape) of a kernel once, whatever the level of a ciphertext and the size of a wave.
//!
//! A trace becomes a plan in four passes:
//!
//! 1. `work` writes out the calls, limb by limb. Selecting and joining limbs cost nothing.
//! 2. `tables` collects what instructions share: matrices, conversions, permutations, places.
//! 3. `order` makes waves of instructions that are ready at the same time, within a window.
//! 4. `rows` gives each limb a row, from the wave that makes it to the last one that reads it.
//!
//! *May use* `program`, and `kernels` for arithmetic modulo one prime. This crate handles no keys
//! and no ciphertexts: values from outside are named by the instruction that asks for them.
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
