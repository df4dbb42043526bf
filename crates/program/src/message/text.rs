//! The text form: inputs, one line for each step, outputs.

use super::ir::{Circuit, Input, Messages, Op, Output};
use std::fmt::{Display, Formatter, Result};

impl Display for Circuit {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "circuit {} on {}", self.name, self.messages)?;
        for input in &self.inputs {
            writeln!(f, "  {input}")?;
        }
        for (id, step) in self.steps.iter().enumerate() {
            match step {
                // Inputs are named, not numbered.
                Op::Input { input, place } => match &self.inputs[*input] {
                    Input {
                        name, count: None, ..
                    } => writeln!(f, "  %{id} = {name}")?,
                    Input { name, .. } => writeln!(f, "  %{id} = {name}[{place}]")?,
                },
                step => writeln!(f, "  %{id} = {step}")?,
            }
        }
        for output in &self.outputs {
            writeln!(f, "  {output}")?;
        }
        Ok(())
    }
}

impl Display for Messages {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Bits => f.write_str("bits"),
            Self::Integers {
                message_bits,
                carry_bits,
            } => write!(f, "integers of {message_bits} + {carry_bits} bits"),
        }
    }
}

impl Display for Input {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "input {}", self.name)?;
        match self.count {
            None => f.write_str(" : one")?,
            Some(count) => write!(f, " : {count}")?,
        }
        match self.bits {
            1 => f.write_str(" of 1 bit"),
            bits => write!(f, " of {bits} bits"),
        }
    }
}

impl Display for Output {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "output {}", self.name)?;
        self.values.iter().try_for_each(|v| write!(f, " %{v}"))
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.name())?;
        match self {
            Self::Input { input, place } => write!(f, " {place} of {input}"),
            Self::Constant { value } => write!(f, " {value}"),
            Self::Not { value } => write!(f, " %{value}"),
            Self::Gate { left, right, .. } => write!(f, " %{left} %{right}"),
            Self::Choose { condition, yes, no } => write!(f, " %{condition}: %{yes} else %{no}"),
            Self::Sum { constant, terms } => {
                for (i, &(factor, value)) in terms.iter().enumerate() {
                    match (i, factor < 0) {
                        (0, false) => {}
                        (_, false) => f.write_str(" +")?,
                        (_, true) => f.write_str(" -")?,
                    }
                    match factor.unsigned_abs() {
                        1 => write!(f, " %{value}")?,
                        size => write!(f, " {size} %{value}")?,
                    }
                }
                match *constant {
                    0 => Ok(()),
                    below @ ..0 => write!(f, " - {}", -below),
                    above => write!(f, " + {above}"),
                }
            }
            Self::Lookup { value, tables } => {
                write!(f, " %{value} in")?;
                for (i, table) in tables.iter().enumerate() {
                    let entries: Vec<String> = table.iter().map(i64::to_string).collect();
                    let comma = if i == 0 { "" } else { "," };
                    write!(f, "{comma} [{}]", entries.join(" "))?;
                }
                Ok(())
            }
            Self::Entry { lookup, table } => write!(f, " {table} of %{lookup}"),
        }
    }
}
