//! The schemes as a user calls them, against the same computation on plain numbers.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod approximate;
mod exact;
mod keys;
mod tables;
