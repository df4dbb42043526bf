//! HELR: the training of a logistic regression, by Nesterov's method with a sigmoid of degree 3.
//!
//! [`Training`] bootstraps its weights between pairs of iterations. [`iteration()`] is one
//! iteration alone, as F1 measures it.
//!
//! Source: Han, Song, Cheon, Park, "Logistic Regression on Homomorphic Encrypted Data at Scale",
//! AAAI 2019.

mod iteration;
mod single;
mod training;

pub use iteration::{A1, A3, DEPTH};
pub use single::iteration;
pub use training::{Training, imaginary};

use crate::error::Result;
use iteration::Given;
use program::circuit::{CircuitBuilder, Type, ValueId};

/// Name of the plaintext input whose slots are all `i`.
pub const IMAGINARY: &str = "i";

/// The name of ciphertext `i` of the batch of iteration `t`.
pub fn part(t: usize, i: usize) -> String {
    format!("batch.{t}.{i}")
}

/// Provides an iteration's inputs. Arguments: which iteration of the pair, which input, its type.
type Source<'s> = &'s mut dyn FnMut(&mut CircuitBuilder, usize, Given, Type) -> Result<ValueId>;
