//! Programs that papers measure: written once, for whoever runs, predicts, records or simulates them.
//!
//! *Concept.* An application is a function from [arithmetic](program::circuit::Arithmetic) to a circuit. A [`Benchmark`] is an
//! application with parameters, as F1's evaluation has it: in words of 32 bits. It gives what a recording is made of.
//!
//! *May use* the circuits. Keys, runs and traces are for those above.

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
