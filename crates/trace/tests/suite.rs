//! Traces: their types, refusals, text, and counts.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

// Tests of other crates read `random` and `fhetch/subset` too, and know this crate as `trace`.
extern crate palladion_trace as trace;

mod build;
mod counts;
mod fhetch;
mod mutations;
mod random;
mod refused;
mod steps;
mod text;
