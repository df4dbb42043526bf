//! The text form: one line an operation, under the number of the program's step that it is a part of.

use super::ir::{Message, Op, Plain, Recording, Scalar, Secret, Type};
use std::fmt::{Display, Formatter, Result};

impl Display for Recording {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let p = &self.parameters;
        write!(f, "recording of N = {}", p.n)?;
        for (index, t) in p.t.iter().enumerate() {
            write!(f, "{}{t}", if index == 0 { ", t = " } else { ", " })?;
        }
        writeln!(f)?;
        for (id, packing) in self.packings.iter().enumerate() {
            let (filled, values) = (packing.samples.len(), packing.values);
            writeln!(f, "  packing {id}: {filled} of {values} values")?;
        }
        let mut of = None;
        for (id, step) in self.steps.iter().enumerate() {
            if of != Some(step.of) {
                of = Some(step.of);
                writeln!(f, "step {}:", step.of)?;
            }
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
                write!(f, "level {}", ct.level)?;
                match ct.message {
                    Message::Modulo { factor, .. } => write!(f, ", factor {factor}")?,
                    Message::Approximate { scale } => write!(f, ", scale 2^{:.3}", scale.log2())?,
                }
                if ct.extended {
                    f.write_str(", extended")?;
                }
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
        match self {
            Self::Coefficients(constant) => write!(f, "coefficients @{constant}"),
            Self::Slots(constant) => write!(f, "slots @{constant}"),
            Self::Rounded {
                value,
                component,
                unit,
            } => write!(f, "rounded %{value}/{component}*{unit}"),
            Self::Integers(constant, Scalar::ONE) => write!(f, "integers @{constant}"),
            Self::Integers(constant, by) => write!(f, "integers @{constant}*{by}"),
        }
    }
}

impl Display for Scalar {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}", self.integer)?;
        if self.shift > 0 {
            write!(f, "*2^{}", self.shift)?;
        }
        if self.over > 1 {
            write!(f, "/{}", self.over)?;
        }
        Ok(())
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.name())?;
        match self {
            Self::Input { index } => write!(f, " {index}"),
            Self::Given { name } => write!(f, " {name}"),
            Self::Output { name, value } => write!(f, " {name} %{value}"),
            Self::SwitchSecret { value, to } => {
                let to = match to {
                    Secret::Sparse => "sparse",
                    Secret::Dense => "dense",
                };
                write!(f, " %{value} to the {to} one")
            }
            Self::Scale { value, by } => write!(f, " %{value} by {by}"),
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
                terms.try_for_each(|(value, plain, unit)| match plain {
                    Plain::Integers(..) => write!(f, " %{value}*{plain}"),
                    _ => write!(f, " %{value}*{plain}*{unit}"),
                })
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
