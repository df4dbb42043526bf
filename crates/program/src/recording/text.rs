//! The text form: one line an operation.

use super::ir::{Op, Plain, Recording, Type};
use std::fmt::{Display, Formatter, Result};

impl Display for Recording {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let p = &self.parameters;
        writeln!(f, "recording of N = {}, t = {}", p.n, p.t)?;
        for (id, packing) in self.packings.iter().enumerate() {
            let (filled, values) = (packing.samples.len(), packing.values);
            writeln!(f, "  packing {id}: {filled} of {values} values")?;
        }
        for (id, step) in self.steps.iter().enumerate() {
            writeln!(f, "  %{id} = {} : {}", step.op, step.ty)?;
        }
        Ok(())
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Samples => f.write_str("samples"),
            Self::Ciphertext(ct) => {
                write!(f, "level {}, factor {}", ct.level, ct.factor)?;
                match ct.components {
                    2 => Ok(()),
                    components => write!(f, ", {components} components"),
                }
            }
        }
    }
}

impl Display for Plain {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let place = if self.slots { "slots" } else { "coefficients" };
        write!(f, "{place} @{}", self.constant)
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.name())?;
        match self {
            Self::Input { index } => write!(f, " {index}"),
            Self::PackingKey { values, index } => write!(f, " {values}/{index}"),
            Self::Trivial { plain } => write!(f, " {plain}"),
            Self::Tensor { terms } => {
                let mut terms = terms.iter();
                terms.try_for_each(|[left, right]| write!(f, " %{left}*%{right}"))
            }
            Self::Combine {
                low,
                middle,
                list,
                first,
                ..
            } => {
                let (low, middle) = (low.len(), middle.len());
                write!(f, " {low} by {middle} with @{list} from {first}")
            }
            Self::MulPlain { terms } => {
                let mut terms = terms.iter();
                terms.try_for_each(|(value, plain, unit)| write!(f, " %{value}*{plain}*{unit}"))
            }
            Self::MulMasks {
                packing,
                giant,
                secret,
                ..
            } => write!(f, " of packing {packing}, {giant}, {} steps", secret.len()),
            Self::AddBodies { value, packing } => write!(f, " %{value} of packing {packing}"),
            Self::AddPlain { value, plain } => write!(f, " %{value} {plain}"),
            Self::Automorphism { value, element } => write!(f, " %{value} by {element}"),
            _ => {
                let mut operands = self.operands().into_iter();
                operands.try_for_each(|value| write!(f, " %{value}"))
            }
        }
    }
}
