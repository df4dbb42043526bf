//! Exchange with FHETCH, a language of multi-residue polynomials.
//!
//! *Concept.* The language computes with polynomials in the evaluation domain (`MRP`), and with
//! vectors modulo one prime. Its functions correspond to our sub-traces. Its `BaseExtend` and
//! `Rescale` correspond to our conversions between transforms. `docs/exchange.md` has the table of
//! counterparts.

mod read;
mod write;

use super::ir::Trace;
use crate::error::Result;

/// Suffix of the names of files. The names of the values do not have it.
const FILE_END: &str = ".npz";

impl Trace {
    /// Converts the trace to a FHETCH program. [`Trace::from_fhetch`] reads it back as a trace that
    /// stores the same words.
    ///
    /// Instructions whose results are not needed are left out. Values are read from and written to
    /// files with their names and the suffix `.npz`.
    ///
    /// # Errors
    /// The errors of [`Trace::verify`]. [`Error::Trace`](crate::Error::Trace) with the instruction,
    /// for operations that the language lacks: samples, combinations, slots, extraction, rounding,
    /// digits, automorphisms other than powers of 5, coefficients that are loaded, stored or passed
    /// to sub-traces, and moduli of more than 31 bits.
    pub fn to_fhetch(&self) -> Result<String> {
        write::write(self)
    }

    /// Reads a FHETCH program.
    ///
    /// Polynomials are loaded and stored by the names of their files, without `.npz`. Their words
    /// are in the order of [`Domain::Eval`](super::Domain::Eval), whatever order and root the
    /// program's files have. Moduli are numbered in the order in which the text names them. If the
    /// text sets roots, these determine the ring degree, and lengths in types are ignored.
    ///
    /// # Errors
    /// [`Error::Trace`](crate::Error::Trace) with the line, for text that is not a FHETCH program
    /// or has no counterpart.
    pub fn from_fhetch(text: &str) -> Result<Self> {
        read::read(text)
    }
}
