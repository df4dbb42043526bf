//! Applications: the programs that papers measure. Each is written once, for execution, prediction,
//! recording and simulation.
//!
//! *Concept.* An application is a function from [arithmetic](program::circuit::Arithmetic) to a
//! circuit. A [`Benchmark`] is an application with parameters, as F1's evaluation has it: in words
//! of 32 bits. Recordings are built from benchmarks.
//!
//! *May use* the circuits. Keys, runs and traces belong to the layers above.

#![forbid(unsafe_code)]

mod benchmark;
pub mod bootstrapping;
mod error;
pub mod helr;
pub mod lola_cifar;
pub mod lola_mnist;
pub mod lookup;
mod tensors;

pub use benchmark::{Benchmark, Benchmarks, Written};
pub use error::{Error, Result};
