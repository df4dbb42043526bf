//! Packings against the definition of a layer, in the clear and encrypted, and against their own
//! formulas.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod clear;
mod common;
mod encrypted;
mod refusals;
mod transforms;
