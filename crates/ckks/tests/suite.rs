//! Tests of CKKS: one program, since each links the whole crate again.

mod common;
mod encoding;
mod levels;
mod scheme;
mod sizes;
