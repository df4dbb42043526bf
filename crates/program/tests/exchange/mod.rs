//! Exchange with other formats: texts that are written are read back, and operations that a format
//! lacks are refused.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod fhetch;
mod program_trace;
mod read;
mod refused;
mod subset;
