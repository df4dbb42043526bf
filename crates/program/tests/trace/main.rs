//! Traces: their types, what is refused, their text, and what they count.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod build;
mod counts;
mod mutations;
mod random;
mod refused;
mod steps;
mod text;
