//! The text form: parameters, then one line for each constant and step.
//!
//! ```text
//! palladion-torus/1
//! word bits 64
//! small dimension 654
//! ring degree 512 rank 3
//! bootstrap bits 17 count 1
//! key_switch ring bits 1 count 11
//! @0 = repeat 1: 2305843009213693952
//!
//! %0: sample = input 0
//! %1: small = key_switch %0
//! %2: exponents = modulus_switch %1 drop 0
//! %3: ring = blind_rotation %2 of @0
//! %4: sample = extract %3 at 0
//! %5: sample = combine 1 terms -1 %4
//! %6: sample = output %5
//! end
//! ```
//!
//! Constants are written as those of a trace. Empty lines and lines that begin with `#` are
//! ignored.

use super::ir::{Circuit, Digits, KeySwitch, Type};
use std::fmt::{Display, Formatter, Result};

/// First line of a text.
pub(super) const HEADER: &str = "palladion-torus/1";
/// Last line of a text.
pub(super) const END: &str = "end";

impl Display for Circuit {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let p = &self.parameters;
        writeln!(f, "{HEADER}")?;
        writeln!(f, "word bits {}", p.word_bits)?;
        writeln!(f, "small dimension {}", p.dimension)?;
        writeln!(f, "ring degree {} rank {}", p.n, p.rank)?;
        writeln!(f, "bootstrap {}", p.bootstrap)?;
        writeln!(f, "key_switch {}", p.key_switch)?;
        for (id, constant) in self.constants.iter().enumerate() {
            writeln!(f, "@{id} = {constant}")?;
        }
        writeln!(f)?;
        for (id, op) in self.steps.iter().enumerate() {
            writeln!(f, "%{id}: {} = {op}", op.ty())?;
        }
        writeln!(f, "{END}")
    }
}

impl Display for Digits {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "bits {} count {}", self.bits, self.count)
    }
}

impl Display for KeySwitch {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Lwe(digits) => write!(f, "lwe {digits}"),
            Self::Ring(digits) => write!(f, "ring {digits}"),
        }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Sample => "sample",
            Self::Small => "small",
            Self::Exponents => "exponents",
            Self::Ring => "ring",
        })
    }
}
