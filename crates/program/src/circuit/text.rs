//! The text form of a circuit. Each step has one line. Constants are shown by name, size and
//! checksum, so that a diff of two circuits shows each change.

use super::bootstrapping::Bootstrapping;
use super::infer::noun;
use super::ir::{Arithmetic, Circuit, Constant, Type};
use super::op::{Effect, Op, Permutation};
use std::fmt::{Display, Formatter, Result};

impl Display for Circuit {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "circuit {} on {} slots", self.name, self.slots)?;
        let levels = 0..self.arithmetic.levels();
        let bits: Vec<String> = levels
            .map(|l| format!("{:.1}", self.arithmetic.divisor(l).log2()))
            .collect();
        writeln!(f, "  levels of {} bits", bits.join(" "))?;
        if let Arithmetic::Exact { t, .. } = self.arithmetic {
            writeln!(f, "  integers modulo {t}")?;
        }
        if let Some(bootstrapping) = &self.bootstrapping {
            writeln!(f, "  {bootstrapping}")?;
        }
        for (id, body) in self.bodies.iter().enumerate() {
            writeln!(f, "  body {id} = {}", indented(body))?;
        }
        for (id, constant) in self.constants.iter().enumerate() {
            writeln!(f, "  @{id} = {constant}")?;
        }
        for (id, step) in self.steps.iter().enumerate() {
            write!(f, "  %{id} = {} : ", step.op)?;
            match self.arithmetic {
                Arithmetic::Approximate { .. } => writeln!(f, "{}", step.ty)?,
                Arithmetic::Exact { .. } => {
                    let Type {
                        encrypted, level, ..
                    } = step.ty;
                    writeln!(f, "{}, level {level}", noun(encrypted))?;
                }
            }
        }
        Ok(())
    }
}

/// A body, with its lines indented.
fn indented(body: &Circuit) -> String {
    body.to_string().trim_end().replace('\n', "\n  ")
}

impl Display for Bootstrapping {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "bootstrapping of {} slots to level {}, scale 2^{:.2}; up to {} q_0, {} double angles, ratio 2^{:.1}, {} baby steps",
            self.slots,
            self.level,
            self.to_scale.log2(),
            self.range,
            self.doublings,
            self.log_ratio,
            self.babies
        )
    }
}

impl Display for Constant {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let hash = crate::text::checksum(self.values.iter().flat_map(|v| v.to_le_bytes()));
        write!(f, "{} [{}] #{hash:08x}", self.name, self.values.len())
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "{}, level {}, scale 2^{:.2}",
            noun(self.encrypted),
            self.level,
            self.scale.log2()
        )
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.name())?;
        match self {
            Self::Output { name, value } => write!(f, " {name} %{value}"),
            Self::Repeat {
                body,
                carried,
                each,
            } => {
                write!(f, " body {body} {} times from", each.len())?;
                carried
                    .iter()
                    .try_for_each(|value| write!(f, " %{value}"))?;
                for (i, given) in each
                    .iter()
                    .enumerate()
                    .filter(|(_, given)| !given.is_empty())
                {
                    write!(f, "{} {i}:", if i == 0 { ", given" } else { "," })?;
                    given.iter().try_for_each(|value| write!(f, " %{value}"))?;
                }
                Ok(())
            }
            Self::Result { repeat, index } => write!(f, " {index} of %{repeat}"),
            _ => self.effect().map_or(Ok(()), |effect| effect.fmt(f)),
        }
    }
}

impl Display for Effect<'_> {
    /// Writes the operands, each after a space.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match *self {
            Self::Input { name } => write!(f, " {name}"),
            Self::Constant { constant } => write!(f, " @{constant}"),
            Self::Sum { left, right, .. } => write!(f, " %{left} %{right}"),
            Self::Products { terms } => match terms {
                [] => Ok(()),
                [[a, b]] => write!(f, " %{a} %{b}"),
                [[a, b], .., [c, d]] => {
                    write!(f, " %{a} %{b} .. %{c} %{d}, {} products", terms.len())
                }
            },
            Self::Unary { value, change } => {
                write!(f, " %{value}")?;
                match change.permutation().and_then(Permutation::rotation) {
                    Some(steps) => write!(f, ", {steps} to the left"),
                    None => Ok(()),
                }
            }
        }
    }
}
