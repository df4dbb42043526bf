//! Exchange with formats of others: what is written is read back, and what they lack is refused.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod fhetch;
mod program_trace;
mod read;
mod refused;
mod subset;
