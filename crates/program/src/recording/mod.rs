//! Recordings: the operations on ciphertexts of a run, in order. They are between programs and
//! traces.
//!
//! *Concept.* A [`Recording`] has the operations on ciphertexts that the steps of a program or
//! circuit execute: products, relinearisations, automorphisms, modulus switches, packings of
//! samples. The code that runs encrypted makes the recording, in a mode that writes operations
//! down. Every value has its level and its factor or scale, and every plaintext is data. A
//! recording has no predictions.
//!
//! *May use* no other crate of this repository. *Invariant*: a recording that [`Recording::parse`]
//! returns is [verified](Recording::verify).

mod counts;
mod ir;
mod kinds;
mod names;
mod ops;
mod parse;
mod parse_types;
pub mod program_trace;
mod site;
mod text;
mod verify;

pub use counts::Counts;
pub use ir::{
    Ciphertext, Message, Op, Packing, Parameters, Plain, Recording, Rgsw, SampleParameters, Scalar,
    Secret, Step, Type, ValueId,
};
pub use names::recorded_name;
