//! Tests of executors: one program, since each links the whole crate again.

mod bootstrapping;
mod replay;
