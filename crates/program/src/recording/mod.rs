//! The floor between programs and traces: the operations on ciphertexts of a run, in order.
//!
//! *Concept.* A [`Recording`] is what a program's steps, or those of a circuit, do to ciphertexts: products,
//! relinearisations, automorphisms, switches of moduli, packings of samples. It is made by running the very code that runs
//! encrypted, in a mode that writes operations down. Every value has its level and its factor or scale, every plaintext is
//! data. Nothing is predicted here.
//!
//! *May use* nothing of ours. *Invariant*: a recording that [`Recording::parse`] returns is [verified](Recording::verify).

mod counts;
mod ir;
mod names;
mod parse;
mod parse_ops;
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
