//! Traces: their types, refusals, text, and counts.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod build;
mod counts;
mod mutations;
mod random;
mod refused;
mod steps;
mod text;
