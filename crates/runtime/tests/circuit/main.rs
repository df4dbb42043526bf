//! Circuits in the clear and encrypted, their predicted precision, and their keys.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod common;
mod keys;
mod layers;
mod precision;
mod random;
mod refusals;
