//! Recordings: their text, what is refused, and what they count.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod mutations;
mod refused;
mod text;
mod unreadable;
