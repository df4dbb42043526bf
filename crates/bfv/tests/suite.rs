//! Tests of BFV: one program, since each links the whole crate again.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod common;
mod encoding;
mod refusals;
mod scheme;
