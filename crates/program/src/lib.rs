//! The program: what is done to ciphertexts, known in full before anything runs.
//!
//! *Concept.* A [`Program`] is a list of operations in single assignment form. Every value has a
//! [`Type`] that says its scheme form, its level and the noise predicted for it. There is no branch on data.
//! It has a [text form](Program#impl-Display-for-Program) for people and diffs, a JSON form for files, and
//! a [verifier](Program::verify) that rejects what would not decrypt.
//!
//! [`circuit`] holds the other form: homomorphic operations in a fixed order, for whatever is not a quantised network.
//! [`message`] holds operations of TFHE on bits and small integers, [`torus`] what they are on samples.
//! [`trace`] holds what all of them come down to: instructions on limbs.
//!
//! *May use* nothing of ours: it can be read, printed and checked without any cryptography.
//! *Invariant*: a program that came through [`Program::from_json`] or [`Program::new`] is verified.

#![forbid(unsafe_code)]

pub mod circuit;
mod error;
mod ir;
mod lines;
pub mod message;
mod modular;
mod place;
pub mod recording;
mod text;
pub mod torus;
pub mod trace;
mod verify;
mod words;

pub use error::{Error, Result};
pub use ir::{
    Constant, ConstantId, Form, Indices, KeyNeeds, MAX_LOG2_FAILURE, Op, Packed, Parameters, Patch,
    Prediction, Program, Row, Step, TableShape, Term, Type, ValueId,
};
