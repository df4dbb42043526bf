//! Circuits of TFHE on messages: bits with gates, or small integers with sums and tables.
//!
//! *Concept.* A [`Circuit`] says what is computed, and nothing of samples, noise or parameters but the layout of
//! [messages](Messages). It runs in [the clear](Circuit::run_clear), and it says what it costs: [bootstrappings and their
//! depth](Circuit::bootstrappings). A [`Builder`] writes it: constants are folded, equal operations are computed once, and
//! what no output needs is left out. `runtime` makes a [circuit on samples](crate::torus) of it.
//!
//! Integers are exact. Each value has a [`Range`] that follows from those of the inputs, and may be negative. A range must
//! fit where a value is looked up or given out, and nowhere else.
//!
//! *May use* nothing of ours. *Invariant*: a circuit of [`Circuit::from_json`] or [`Builder::finish`] is
//! [verified](Circuit::verify).
//!
//! ```
//! use program::message::{Builder, Messages};
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
//! # Ok::<(), program::Error>(())
//! ```

mod bits;
mod build;
mod clear;
mod counts;
mod infer;
mod integers;
mod ir;
mod text;
mod verify;

pub use build::{Builder, Value};
pub use infer::{Made, Range};
pub use ir::{Circuit, Gate, Input, Messages, Op, Output, ValueId};
