//! Tests of runs, circuits and replay: one program, since each links the whole crate again.

mod checkpoint;
mod common;
mod graphs;
mod halves;
mod mnist;
mod resumed;
