//! The program: the operations on ciphertexts, all known before anything runs.
//!
//! *Concept.* A [`Program`] is a list of operations in single assignment form. Every value has a
//! [`Type`]: its form in the scheme, its level and its predicted noise. No branch depends on data.
//! A program has a [text form](Program#impl-Display-for-Program) for display and diffs, a JSON form
//! for files, and a [verifier](Program::verify) that rejects programs whose results would not
//! decrypt.
//!
//! [`circuit`] holds homomorphic operations in a fixed order, for computations other than quantised
//! networks. [`message`] holds operations of TFHE on bits and small integers, and [`torus`] the
//! operations on samples that implement them. The lowest level of all of them, instructions on
//! limbs, is the crate [`trace`].
//!
//! *May use* `trace` alone, so a program can be read, printed and checked
//! without any cryptography. *Invariant*: a program made by [`Program::from_json`] or
//! [`Program::new`] is verified.

#![forbid(unsafe_code)]

pub mod circuit;
mod error;
mod flood;
mod ir;
pub mod message;
mod public_inputs;
pub mod recording;
mod terms;
mod text;
pub mod torus;
mod verify;

pub use error::{Error, Result};
pub use flood::{Flood, MAX_LOG2_DISTANCE};
pub use ir::{
    Constant, ConstantId, Form, Indices, KeyNeeds, MAX_LOG2_FAILURE, Op, Packed, Parameters, Patch,
    Prediction, Program, Row, Shifted, Step, TableShape, Term, Type, ValueId,
};
pub use public_inputs::PublicInputs;
pub use terms::{MAX_BATCH, Outputs, PACK_ALL, Terms};
pub use verify::{MAX_PREPARED, MAX_STEPS, MAX_TERMS};
