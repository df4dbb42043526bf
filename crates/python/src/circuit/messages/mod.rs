//! Circuits of TFHE on bits and small integers: written, foretold and run.

mod builder;
mod run;
mod written;

pub(super) use builder::MessageBuilder;
pub(super) use written::MessageCircuit;
