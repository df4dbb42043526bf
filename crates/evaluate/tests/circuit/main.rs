//! Circuits in the clear and encrypted, their predicted precision, and their keys.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod batches;
mod bfv_operands;
mod bootstrapping;
mod common;
mod exact;
mod exact_operations;
mod exact_random;
mod exact_refusals;
mod failure;
mod keys;
mod layers;
mod lookup;
mod precision;
mod random;
mod refusals;
