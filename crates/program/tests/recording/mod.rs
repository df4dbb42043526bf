//! Recordings: their text, refusals, and counts.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod mutations;
mod refused;
mod text;
mod unreadable;
