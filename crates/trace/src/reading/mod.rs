//! Reading and checking text forms: lines, words, numbers, problems.
//!
//! The text forms of recordings and of circuits on samples are read with this module too.

mod lines;
mod problem;
mod words;

pub use crate::parse_constant::constant;
pub use lines::{END, Lines};
pub use problem::{Checked, Problem, check};
pub use words::{Words, marked, number, range, shown};
