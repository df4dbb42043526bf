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
