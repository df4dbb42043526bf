//! Tests of BFV: one program, since each links the whole crate again.

mod encoding;
mod refusals;
mod scheme;
