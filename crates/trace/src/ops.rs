//! Names and operands of all operations.

use super::ir::{Domain, Op, Type, ValueId};
use super::limbs::Limbs;
use std::fmt::{Display, Formatter};

/// Visits the operands of an operation, which is borrowed or borrowed mutably.
macro_rules! operands {
    ($op:expr, $visit:ident, $iter:ident) => {
        match $op {
            Self::Load { .. }
            | Self::Constant { .. }
            | Self::Zero { .. }
            | Self::Sample { .. }
            | Self::Expand { .. } => {}
            Self::Store { value, .. }
            | Self::Ntt(value)
            | Self::Intt(value)
            | Self::Scale { value, .. }
            | Self::Automorphism { value, .. }
            | Self::Slots(value)
            | Self::Convert { value, .. }
            | Self::Select { value, .. }
            | Self::Round { value, .. }
            | Self::Digit { value, .. } => $visit(value),
            Self::Add(left, right)
            | Self::Sub(left, right)
            | Self::Mul(left, right)
            | Self::Turn {
                value: left,
                by: right,
            } => {
                $visit(left);
                $visit(right);
            }
            Self::Dot { left, right } => {
                left.$iter().for_each(&mut $visit);
                right.$iter().for_each(&mut $visit);
            }
            Self::Combine { values, .. }
            | Self::Extract { values, .. }
            | Self::Join(values)
            | Self::Call {
                arguments: values, ..
            } => values.$iter().for_each($visit),
        }
    };
}

impl Op {
    /// Names of all operations, in the order of [`Op`].
    pub const NAMES: [&'static str; 24] = [
        "load",
        "store",
        "constant",
        "zero",
        "sample",
        "expand",
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

    /// Index of the operation's name in [`Op::NAMES`].
    pub fn kind(&self) -> usize {
        match self {
            Self::Load { .. } => 0,
            Self::Store { .. } => 1,
            Self::Constant { .. } => 2,
            Self::Zero { .. } => 3,
            Self::Sample { .. } => 4,
            Self::Expand { .. } => 5,
            Self::Ntt(_) => 6,
            Self::Intt(_) => 7,
            Self::Add(..) => 8,
            Self::Sub(..) => 9,
            Self::Mul(..) => 10,
            Self::Dot { .. } => 11,
            Self::Scale { .. } => 12,
            Self::Combine { .. } => 13,
            Self::Turn { .. } => 14,
            Self::Automorphism { .. } => 15,
            Self::Slots(_) => 16,
            Self::Extract { .. } => 17,
            Self::Convert { .. } => 18,
            Self::Select { .. } => 19,
            Self::Join(_) => 20,
            Self::Round { .. } => 21,
            Self::Digit { .. } => 22,
            Self::Call { .. } => 23,
        }
    }

    /// Calls `visit` with every operand, in order. A value that is used twice is visited twice.
    pub fn for_each_operand(&self, mut visit: impl FnMut(ValueId)) {
        let mut visit = |value: &ValueId| visit(*value);
        operands!(self, visit, iter);
    }

    /// As [`Op::for_each_operand`], for operands that become others.
    pub(super) fn for_each_operand_mut(&mut self, mut visit: impl FnMut(&mut ValueId)) {
        operands!(self, visit, iter_mut);
    }
}

impl Type {
    /// Makes the type of coefficients modulo these moduli.
    pub fn coeff(limbs: impl Into<Limbs>) -> Self {
        Self {
            domain: Domain::Coeff,
            limbs: limbs.into(),
        }
    }

    /// Makes the type of values in the evaluation domain modulo these moduli.
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
