//! Circuits of TFHE on messages: bits with gates, or small integers with sums and tables.
//!
//! *Concept.* A [`Circuit`] defines a computation on messages. It says nothing about samples, noise
//! or parameters, except for the layout of [messages](Messages). It can be run in [the
//! clear](Circuit::run_clear), and it knows its cost: [bootstrappings and their
//! depth](Circuit::bootstrappings). A [`Builder`] writes it: constants are folded, equal operations
//! are computed once, and steps that no output needs are left out. `runtime` makes a [circuit on
//! samples](crate::torus) from it.
//!
//! Integers are exact and may be negative. Each value has a [`Range`] that follows from those of
//! the inputs. Only values that are looked up or output must have a range that fits.
//!
//! *May use* no other crate of this repository. *Invariant*: a circuit made by
//! [`Circuit::from_json`] or [`Builder::finish`] is [verified](Circuit::verify).
//!
//! ```
//! use palladion_program::message::{Builder, Messages};
//!
//! let mut b = Builder::new("adder", Messages::Bits)?;
//! let (x, y) = (b.input("x", None, 1)?[0], b.input("y", None, 1)?[0]);
//! let sum = b.xor(x, y)?;
//! let carry = b.and(x, y)?;
//! b.output("sum", true, &[sum])?;
//! b.output("carry", true, &[carry])?;
//! let adder = b.finish()?;
//!
//! let inputs = [("x", &[1][..]), ("y", &[1])].into();
//! assert_eq!(adder.run_clear(&inputs)?, [("sum", vec![0]), ("carry", vec![1])].into());
//! assert_eq!((adder.bootstrappings(), adder.depth()), (2, 1));
//! # Ok::<(), palladion_program::Error>(())
//! ```

mod bits;
mod build;
mod clear;
mod counts;
mod infer;
mod integers;
mod ir;
mod ops;
mod text;
mod verify;

pub use build::{Builder, Value};
pub use infer::{Made, Range};
pub use ir::{Circuit, Gate, Input, Messages, Op, Output, ValueId};
