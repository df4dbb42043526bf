//! Exchange with FHETCH, a language of multi-residue polynomials.
//!
//! *Concept.* The language computes with polynomials in the evaluation domain (`MRP`), and with vectors modulo one prime.
//! Its functions are our sub-traces, `BaseExtend` and `Rescale` our conversions between transforms. `docs/exchange.md` has
//! the table of what maps to what.

mod read;
mod write;

use super::ir::Trace;
use crate::error::Result;

/// End of the names of files of values, which the names of the values lack.
const FILE_END: &str = ".npz";

impl Trace {
    /// The trace as a FHETCH program, which [`Trace::from_fhetch`] reads back to one that stores the same words.
    ///
    /// Instructions whose results nothing needs are left out. Values are read from and written to files of their names with
    /// `.npz` behind.
    ///
    /// # Errors
    /// Those of [`Trace::verify`]; [`Error::Trace`](crate::Error::Trace) with the instruction of what the language lacks:
    /// samples, combinations, slots, extraction, rounding, digits, automorphisms other than powers of 5, coefficients that are
    /// loaded, stored or given to sub-traces, and moduli of more than 31 bits.
    pub fn to_fhetch(&self) -> Result<String> {
        write::write(self)
    }

    /// Reads a FHETCH program.
    ///
    /// Polynomials are loaded and stored by the names of their files, without `.npz`. Their words are in the order of
    /// [`Domain::Eval`](super::Domain::Eval), whatever order and root the program's files have. Moduli are numbered in the
    /// order in which the text names them. Lengths in types are not read if the text sets roots, which state the ring degree.
    ///
    /// # Errors
    /// [`Error::Trace`](crate::Error::Trace) with the line of what is no FHETCH program, or has no counterpart.
    pub fn from_fhetch(text: &str) -> Result<Self> {
        read::read(text)
    }
}
