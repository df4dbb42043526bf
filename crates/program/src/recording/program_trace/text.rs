//! Names in the text form, and the writer.

use super::{Header, Operation, ProgramTrace, Register, Row, Scheme};
use std::fmt::{Display, Formatter, Result};

/// Number of columns for arguments.
pub(super) const ARGUMENTS: usize = 10;

impl Header {
    /// All variants.
    pub(super) const ALL: [Self; 4] =
        [Self::Plain, Self::Degree, Self::KeyTerms, Self::SchemeFirst];

    /// The columns before the arguments.
    fn columns(self) -> &'static str {
        match self {
            Self::Plain => "instruction,scheme,poly_modulus_degree,rns_terms",
            Self::Degree => "instruction,scheme,poly_modulus_degree,rns_terms,cipher_degree",
            Self::KeyTerms => "instruction,scheme,poly_modulus_degree,keyrns_terms",
            Self::SchemeFirst => "scheme,poly_modulus_degree,rns_terms,cipher_degree,instruction",
        }
    }
}

impl Scheme {
    /// All schemes.
    pub(super) const ALL: [Self; 3] = [Self::Bgv, Self::Ckks, Self::Bfv];
}

impl Operation {
    /// All operations.
    pub(super) const ALL: [Self; 13] = [
        Self::Add,
        Self::AddPlain,
        Self::Sub,
        Self::Mul,
        Self::MulPlain,
        Self::MulNumber,
        Self::Square,
        Self::Ntt,
        Self::Intt,
        Self::Relinearize,
        Self::Switch,
        Self::Rescale,
        Self::Rotate,
    ];

    /// Name in the text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::AddPlain => "add_plain",
            Self::Sub => "sub",
            Self::Mul => "mul",
            Self::MulPlain => "mul_plain",
            Self::MulNumber => "muli",
            Self::Square => "square",
            Self::Ntt => "ntt",
            Self::Intt => "intt",
            Self::Relinearize => "relin",
            Self::Switch => "mod_switch",
            Self::Rescale => "rescale",
            Self::Rotate => "rotate",
        }
    }

    /// Number of registers. The first is written.
    pub(super) fn registers(self) -> usize {
        match self {
            Self::Add | Self::AddPlain | Self::Sub | Self::Mul | Self::MulPlain => 3,
            _ => 2,
        }
    }

    /// Smallest and largest count of the operation's numbers.
    pub(super) fn numbers(self) -> [usize; 2] {
        match self {
            Self::MulNumber => [1, 1],
            Self::Rotate => [1, 4],
            Self::Relinearize => [0, 3],
            Self::Rescale => [0, 1],
            _ => [0, 0],
        }
    }
}

impl Display for ProgramTrace {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "{}", self.header)?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

impl Display for Header {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.columns())?;
        (0..ARGUMENTS).try_for_each(|argument| write!(f, ",arg{argument}"))
    }
}

impl Display for Scheme {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Bgv => "BGV",
            Self::Ckks => "CKKS",
            Self::Bfv => "BFV",
        })
    }
}

impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let operation = self.operation.name();
        write!(
            f,
            "{operation},{},{},{}",
            self.scheme, self.n, self.key_limbs
        )?;
        let mut registers = self.registers.iter();
        registers.try_for_each(|register| write!(f, ",{register}"))?;
        let mut numbers = self.numbers.iter();
        numbers.try_for_each(|number| write!(f, ",{number}"))
    }
}

impl Display for Register {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}-{}-{}", self.name, self.parts, self.limbs)
    }
}
