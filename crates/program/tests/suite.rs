//! Tests of programs, circuits and traces: one program, since each links the whole crate again.

mod circuit;
mod common;
mod exchange;
mod message;
mod parameters;
mod recording;
mod shapes;
mod steps;
mod terms;
mod text;
mod torus;
mod trace;
