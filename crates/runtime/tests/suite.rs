//! Tests of runs, circuits and replay: one program, since each links the whole crate again.

mod bootstrapping;
mod checkpoint;
mod circuit;
mod common;
mod graphs;
mod halves;
mod mnist;
mod replay;
mod resumed;
