//! What all operations have: a name and operands.

use super::ir::{Domain, Op, Type, ValueId};
use super::limbs::Limbs;
use std::fmt::{Display, Formatter};

impl Op {
    /// Name of the operation, as in the text form.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Load { .. } => "load",
            Self::Store { .. } => "store",
            Self::Constant { .. } => "constant",
            Self::Zero { .. } => "zero",
            Self::Sample { .. } => "sample",
            Self::Ntt(_) => "ntt",
            Self::Intt(_) => "intt",
            Self::Add(..) => "add",
            Self::Sub(..) => "sub",
            Self::Mul(..) => "mul",
            Self::Dot { .. } => "dot",
            Self::Scale { .. } => "scale",
            Self::Combine { .. } => "combine",
            Self::Automorphism { .. } => "automorphism",
            Self::Slots(_) => "slots",
            Self::Extract { .. } => "extract",
            Self::Convert { .. } => "convert",
            Self::Select { .. } => "select",
            Self::Join(_) => "join",
            Self::Round { .. } => "round",
            Self::Digit { .. } => "digit",
            Self::Call { .. } => "call",
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
            | Self::Extract { value, .. }
            | Self::Convert { value, .. }
            | Self::Select { value, .. }
            | Self::Round { value, .. }
            | Self::Digit { value, .. } => visit(*value),
            Self::Add(left, right) | Self::Sub(left, right) | Self::Mul(left, right) => {
                visit(*left);
                visit(*right);
            }
            Self::Dot { left, right } => left.iter().chain(right).copied().for_each(visit),
            Self::Combine { values, .. }
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
