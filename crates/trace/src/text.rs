//! The text form: one line for each constant and instruction. For display and for diffs.
//!
//! ```text
//! palladion-trace/1
//! ring 32
//! moduli 193 257
//! @0 = repeat 2: 1 0
//!
//! sub square (%0: coeff 0..2):
//!   %1: eval 0..2 = ntt %0
//!   %2: eval 0..2 = mul %1 %1
//!   return %2
//!
//! main:
//!   %0: coeff 0..2 = load x
//! step conv: square:
//!   %1: eval 0..2 = call square %0
//!   store y %1
//! end
//! ```
//!
//! Powers of two end the table of moduli: `moduli 193 257 2^64`.
//!
//! An instruction begins with the numbers and types of its results. Limbs and moduli that follow
//! from these types are not repeated: `convert %1` converts to the limbs of its result. The line
//! `step NAME:` in the main body begins a [step](super::Step) of that name. Empty lines and lines
//! that begin with `#` are ignored.

use super::ir::{Body, Constant, Domain, Trace, Type};
use super::steps::Step;
use crate::reading::END;
use std::fmt::{Display, Formatter, Result};
use std::io::{self, BufWriter, Write};

/// First line of a text.
pub(super) const HEADER: &str = "palladion-trace/1";

impl Trace {
    /// Writes the text form to `out`, without a copy of the text in memory.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        write!(out, "{self}")?;
        out.flush()
    }
}

impl Display for Trace {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "{HEADER}\nring {}", self.n)?;
        write!(f, "moduli")?;
        list(f, " ", &self.moduli)?;
        list(f, " 2^", &self.powers)?;
        writeln!(f)?;
        for (id, constant) in self.constants.iter().enumerate() {
            writeln!(f, "@{id} = {constant}")?;
        }
        for sub in &self.subs {
            write!(f, "\nsub {} (", sub.name)?;
            for (id, ty) in sub.parameters.iter().enumerate() {
                let comma = if id > 0 { ", " } else { "" };
                write!(f, "{comma}%{id}: {ty}")?;
            }
            writeln!(f, "):")?;
            self.instructions(f, sub, &[])?;
            write!(f, "  return")?;
            list(f, " %", &sub.results)?;
            writeln!(f)?;
        }
        writeln!(f, "\n{}:", self.main.name)?;
        self.instructions(f, &self.main, &self.steps)?;
        writeln!(f, "{END}")
    }
}

impl Trace {
    fn instructions(&self, f: &mut Formatter<'_>, body: &Body, steps: &[Step]) -> Result {
        let mut value = body.parameters.len();
        let mut steps = steps.iter().peekable();
        for (place, instruction) in body.instructions.iter().enumerate() {
            if let Some(step) = steps.next_if(|step| step.first == place) {
                writeln!(f, "step {}:", step.name)?;
            }
            write!(f, "  ")?;
            for (index, ty) in instruction.types.iter().enumerate() {
                f.write_str(if index > 0 { ", %" } else { "%" })?;
                write!(f, "{}: {ty}", value + index)?;
            }
            value += instruction.types.len();
            if !instruction.types.is_empty() {
                write!(f, " = ")?;
            }
            instruction.op.write(f, self)?;
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Display for Domain {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Coeff => "coeff",
            Self::Eval => "eval",
        })
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} {}", self.domain, self.limbs)
    }
}

impl Display for Constant {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Words(words) => {
                write!(f, "words")?;
                list(f, " ", words)
            }
            Self::Sparse(words) => {
                write!(f, "sparse")?;
                words
                    .iter()
                    .try_for_each(|(place, word)| write!(f, " {place}:{word}"))
            }
            Self::Repeat { run, values } => {
                write!(f, "repeat {run}:")?;
                list(f, " ", values)
            }
            Self::Turn { of, steps } => write!(f, "turn {steps} @{of}"),
            Self::List(values) => {
                write!(f, "list")?;
                list(f, " ", values)
            }
        }
    }
}

/// Writes every item, each after a mark.
pub fn list(f: &mut Formatter<'_>, mark: &str, items: &[impl Display]) -> Result {
    items.iter().try_for_each(|item| {
        f.write_str(mark)?;
        write!(f, "{item}")
    })
}
