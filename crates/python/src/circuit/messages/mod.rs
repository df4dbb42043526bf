//! Circuits of TFHE on bits and small integers: builder, predictions and runs.

mod builder;
mod run;
mod written;

pub(super) use builder::MessageBuilder;
pub(super) use written::MessageCircuit;
