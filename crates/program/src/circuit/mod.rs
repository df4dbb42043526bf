//! Circuits of homomorphic operations on ciphertexts of CKKS, BGV or BFV, for any purpose.
//!
//! *Concept.* A [`Circuit`] is a list of operations in single assignment form. Its values are
//! plaintexts or ciphertexts, each with a level and a scale. It is written once, by a
//! [`CircuitBuilder`], or by an [`AutoBuilder`] that chooses levels and scales. The same list is
//! verified, printed, counted, asked which keys it needs, run on plain numbers, and run encrypted.
//! [`Program`](crate::Program) has the steps of quantised networks instead:
//! `docs/adr/0011-circuits-of-homomorphic-operations.md` says why there are two.
//!
//! *Invariant*: a circuit made by [`CircuitBuilder::finish`] or [`Circuit::from_json`] is verified.

mod auto;
mod bootstrapping;
mod build;
mod equal;
mod infer;
mod ir;
mod linear;
mod map;
mod needs;
mod op;
mod parts;
mod prune;
mod repeat;
mod text;
mod verify;

pub use auto::{AutoBuilder, OperandId};
pub use bootstrapping::Bootstrapping;
pub use build::CircuitBuilder;
pub use infer::MAX_TERMS;
pub use ir::{Arithmetic, BodyId, Circuit, Constant, ConstantId, Step, Type, ValueId};
pub use linear::{Dense, Weights, sum_strided};
pub use map::{Giant, Term, linear_maps};
pub use needs::{Counts, KeyNeeds};
pub use op::{Change, Effect, Multiplier, Op, Permutation};
