//! Tests of BGV: one program, since each links the whole crate again.

mod common;
mod definition;
mod refusals;
mod scheme;
