//! Tests of Athena's loop and approximate circuits: one program, since each links the whole crate again.

mod approximate;
mod bootstrap;
mod common;
mod limbs;
mod merge;
mod packing;
mod sums;
mod tables;
mod transform;
#[path = "loop.rs"]
mod whole_loop;
