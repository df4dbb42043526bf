//! Tests of compiled programs: one program, since each links the whole crate again.

mod choices;
mod common;
mod compile;
mod failure;
mod floods;
mod graphs;
mod words;
