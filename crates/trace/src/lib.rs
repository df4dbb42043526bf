//! Traces: instructions on limbs, with exact integer semantics. This is the lowest level of
//! description.
//!
//! *Concept.* A [`Trace`] computes with polynomials of one ring degree `N`, given by limbs: `N`
//! words modulo one entry of the [table of moduli](Trace::moduli). Its instructions say everything
//! that a machine needs to know, and nothing about ciphertexts, levels or keys. The CPU replays a
//! trace on its kernels, a simulator counts and schedules it, and XLA executes it. All of them get
//! the same words.
//!
//! A trace has a *main* body and *sub-traces*, which bodies call. Each body is in single assignment
//! form: every value has one [`Type`], is made once, and is never changed. There is no branch.
//! Parts of the main body may have names, the [steps](Step), which reports of a run show.
//!
//! *May use* no other crate of this repository. *Invariant*: a trace that [`Trace::parse`] returns
//! is [verified](Trace::verify).

#![forbid(unsafe_code)]

mod build;
mod build_ops;
mod constant;
pub mod context;
mod counts;
mod error;
mod fhetch;
mod infer;
mod ir;
mod kinds;
pub mod language;
mod limbs;
mod location;
pub mod modular;
mod ops;
mod parse;
mod parse_constant;
mod parse_types;
pub mod reading;
mod resume;
mod steps;
mod text;
mod values;
mod verify;

pub use build::{Builder, TraceBuilder};
pub use counts::{Counts, Passes};
pub use error::{Error, Result};
pub use infer::{check_name, is_name};
pub use ir::{
    Body, Constant, ConstantId, Domain, Instruction, ModulusId, Op, SubId, Trace, Type, ValueId,
};
pub use limbs::Limbs;
pub use location::{Location, Part};
pub use steps::Step;
pub use text::list;
