//! Tests of programs, circuits and recordings: one program, since each links the whole crate again.

mod circuit;
mod common;
mod message;
mod parameters;
mod program_trace;
mod recording;
mod shapes;
mod steps;
mod terms;
mod text;
mod torus;
