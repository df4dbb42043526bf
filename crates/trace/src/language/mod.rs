//! Languages of operations: each operation is declared once, in a table.
//!
//! *Concept.* A text form has a line for each operation: its name, then its operands, with literal
//! words between them. [`operations!`](crate::operations) makes a language of a table of such
//! lines. The table gives the enum, names, visitors of operands, the text, the parser and the
//! methods of a builder. Each operand has a *kind*: it knows how the operand is written and read,
//! and which values it names. The meaning of operations is written elsewhere, by hand.
//!
//! ```
//! use palladion_trace::language::{Language, Named, ReadLanguage, Value};
//! use palladion_trace::reading::Words;
//!
//! palladion_trace::operations! {
//!     /// An operation.
//!     #[derive(Debug, PartialEq)]
//!     enum Op: names, parser;
//!
//!     {
//!         /// `left + right`.
//!         Add = "add" (left: usize as Value, right: usize as Value),
//!         /// `value 2^bits`.
//!         Widen = "widen" {
//!             /// The value that is multiplied.
//!             value: usize as Value,
//!             /// Logarithm of the factor.
//!             bits: u32 as Named("bits"),
//!         },
//!     }
//! }
//!
//! impl Language for Op {
//!     type Writing<'a> = ();
//! }
//!
//! impl ReadLanguage for Op {
//!     type Reading<'a> = ();
//! }
//!
//! let widen = Op::read(&mut Words::new("widen %4 bits 3"), ()).unwrap();
//! assert_eq!(widen, Op::Widen { value: 4, bits: 3 });
//! assert_eq!((widen.name(), widen.operands()), ("widen", vec![4]));
//! assert_eq!(Op::NAMES, ["add", "widen"]);
//! ```

mod argument;
mod kinds;
mod table;

#[cfg(test)]
mod tests;

pub use argument::Argument;
pub use kinds::{ConstantNumber, Name, Named, Number, Numbers, Value, Values};

use crate::ir::ValueId;
use crate::reading::{Checked, Problem, Words, shown};
use std::fmt::{Formatter, Result};

/// A language that is written. Its type is the enum of its operations.
pub trait Language {
    /// The context of writing: the data that a kind of operand has besides the operand.
    type Writing<'a>: Copy;
}

/// A language that is read, too.
pub trait ReadLanguage: Language {
    /// The context of reading: the data that a kind of operand has besides the words of the line.
    type Reading<'a>: Copy;
}

/// A kind of operand, which is stored as `T`.
pub trait Operand<L: Language, T> {
    /// Writes the operand, after a space. Writes nothing if other parts of the line state the
    /// operand.
    fn write(&self, f: &mut Formatter<'_>, stored: &T, context: L::Writing<'_>) -> Result;

    /// Calls `visit` with each value that the operand names, in order.
    fn visit(&self, _stored: &T, _visit: &mut impl FnMut(ValueId)) {}

    /// As [`visit`](Self::visit), for values that become others.
    fn visit_mut(&self, _stored: &mut T, _visit: &mut impl FnMut(&mut ValueId)) {}
}

/// A kind of operand that is read, too.
pub trait ReadOperand<L: ReadLanguage, T>: Operand<L, T> {
    /// Reads the operand.
    fn read(&self, words: &mut Words<'_>, context: L::Reading<'_>) -> Checked<T>;
}

/// A kind of two operands whose texts are one: pairs of values, say.
pub trait OperandPair<L: Language, A, B> {
    /// Writes both operands, after a space.
    fn write(&self, f: &mut Formatter<'_>, stored: (&A, &B), context: L::Writing<'_>) -> Result;

    /// Calls `visit` with each value that the operands name, in order.
    fn visit(&self, _stored: (&A, &B), _visit: &mut impl FnMut(ValueId)) {}

    /// As [`visit`](Self::visit), for values that become others.
    fn visit_mut(&self, _stored: (&mut A, &mut B), _visit: &mut impl FnMut(&mut ValueId)) {}
}

/// A kind of two operands that is read, too.
pub trait ReadOperandPair<L: ReadLanguage, A, B>: OperandPair<L, A, B> {
    /// Reads both operands.
    fn read(&self, words: &mut Words<'_>, context: L::Reading<'_>) -> Checked<(A, B)>;
}

/// The problem of a word that names no operation.
pub fn unknown_operation(word: &str, names: &[&str]) -> Problem {
    let expected = "an operation: ".to_owned() + &names.join(", ");
    Problem::new("the operation", shown(word), expected)
}
