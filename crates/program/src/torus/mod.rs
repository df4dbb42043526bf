//! TFHE: operations on LWE samples, all known before anything runs.
//!
//! *Concept.* A [`Circuit`] computes with samples of words modulo a power of two: integer
//! combinations, key switches, modulus switches, blind rotations of test polynomials, extractions.
//! It has its own [parameters](Parameters) and constants, and says nothing about noise or messages.
//! Each operation has an exact meaning on words ([`Op`]), so every implementation gives the same
//! words.
//!
//! *May use* no other crate of this repository. *Invariant*: a circuit that [`Circuit::parse`]
//! returns is [verified](Circuit::verify).
//!
//! ```
//! use palladion_program::torus::{Circuit, Digits, KeySwitch, Op, Parameters};
//! use trace::Constant;
//!
//! // The sign of a phase, as 1/8 or -1/8 of the torus.
//! let mut circuit = Circuit::new(Parameters {
//!     word_bits: 64,
//!     dimension: 654,
//!     rank: 3,
//!     n: 512,
//!     bootstrap: Digits { bits: 17, count: 1 },
//!     key_switch: KeySwitch::Ring(Digits { bits: 1, count: 11 }),
//! });
//! let eighth = circuit.define(Constant::Repeat { run: 1, values: vec![1 << 61] });
//! let x = circuit.push(Op::Input { index: 0 });
//! let turned = circuit.rotated(x, eighth, 0);
//! let sign = circuit.push(Op::Extraction { value: turned, place: 0 });
//! circuit.push(Op::Output { value: sign });
//! circuit.verify()?;
//! assert_eq!(Circuit::parse(&circuit.to_string())?, circuit);
//! # Ok::<(), palladion_program::Error>(())
//! ```

mod build;
mod ir;
mod ops;
mod parse;
mod text;
mod verify;

pub use ir::{Circuit, Digits, KeySwitch, Op, Parameters, Type, ValueId};
