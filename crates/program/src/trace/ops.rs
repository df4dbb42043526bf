//! What all operations have: a name and operands.

use super::ir::{Domain, Op, Type, ValueId};
use super::limbs::Limbs;
use std::fmt::{Display, Formatter};

impl Op {
    /// Names of all operations, in the order of [`Op`].
    pub const NAMES: [&'static str; 23] = [
        "load",
        "store",
        "constant",
        "zero",
        "sample",
        "ntt",
        "intt",
        "add",
        "sub",
        "mul",
        "dot",
        "scale",
        "combine",
        "turn",
        "automorphism",
        "slots",
        "extract",
        "convert",
        "select",
        "join",
        "round",
        "digit",
        "call",
    ];

    /// Name of the operation, as in the text form.
    pub fn name(&self) -> &'static str {
        Self::NAMES[self.kind()]
    }

    /// Place of the operation's name in [`Op::NAMES`].
    pub fn kind(&self) -> usize {
        match self {
            Self::Load { .. } => 0,
            Self::Store { .. } => 1,
            Self::Constant { .. } => 2,
            Self::Zero { .. } => 3,
            Self::Sample { .. } => 4,
            Self::Ntt(_) => 5,
            Self::Intt(_) => 6,
            Self::Add(..) => 7,
            Self::Sub(..) => 8,
            Self::Mul(..) => 9,
            Self::Dot { .. } => 10,
            Self::Scale { .. } => 11,
            Self::Combine { .. } => 12,
            Self::Turn { .. } => 13,
            Self::Automorphism { .. } => 14,
            Self::Slots(_) => 15,
            Self::Extract { .. } => 16,
            Self::Convert { .. } => 17,
            Self::Select { .. } => 18,
            Self::Join(_) => 19,
            Self::Round { .. } => 20,
            Self::Digit { .. } => 21,
            Self::Call { .. } => 22,
        }
    }

    /// Calls `visit` with every operand, in order. A value that is used twice comes twice.
    pub fn for_each_operand(&self, mut visit: impl FnMut(ValueId)) {
        match self {
            Self::Load { .. } | Self::Constant { .. } | Self::Zero { .. } | Self::Sample { .. } => {
            }
            Self::Store { value, .. }
            | Self::Ntt(value)
            | Self::Intt(value)
            | Self::Scale { value, .. }
            | Self::Automorphism { value, .. }
            | Self::Slots(value)
            | Self::Convert { value, .. }
            | Self::Select { value, .. }
            | Self::Round { value, .. }
            | Self::Digit { value, .. } => visit(*value),
            Self::Add(left, right)
            | Self::Sub(left, right)
            | Self::Mul(left, right)
            | Self::Turn {
                value: left,
                by: right,
            } => {
                visit(*left);
                visit(*right);
            }
            Self::Dot { left, right } => left.iter().chain(right).copied().for_each(visit),
            Self::Combine { values, .. }
            | Self::Extract { values, .. }
            | Self::Join(values)
            | Self::Call {
                arguments: values, ..
            } => values.iter().copied().for_each(visit),
        }
    }
}

impl Type {
    /// Coefficients modulo these moduli.
    pub fn coeff(limbs: impl Into<Limbs>) -> Self {
        Self {
            domain: Domain::Coeff,
            limbs: limbs.into(),
        }
    }

    /// Values of the evaluation domain modulo these moduli.
    pub fn eval(limbs: impl Into<Limbs>) -> Self {
        Self {
            domain: Domain::Eval,
            limbs: limbs.into(),
        }
    }
}

impl Display for Domain {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Coeff => "coeff",
            Self::Eval => "eval",
        })
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.domain, self.limbs)
    }
}
