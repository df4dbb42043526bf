//! The verifier. In a circuit that it accepts, all steps have types and all ranges fit.

use super::infer::{Known, Made};
use super::ir::{Circuit, FORMAT, Input, Messages};
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use trace::reading::{Checked, Problem, check};

/// Largest number of bits of a value.
const MAX_BITS: u32 = 16;
/// Largest number of messages in one input.
const MAX_COUNT: usize = 1 << 20;

/// The error of a problem at a place.
pub(super) fn refused(place: impl Into<String>) -> impl FnOnce(Problem) -> Error {
    let place = place.into();
    move |problem| {
        let [what, found, expected] = problem.into_parts();
        Error::Torus {
            place,
            what,
            found,
            expected,
        }
    }
}

impl Messages {
    pub(super) fn check(self) -> Checked<()> {
        let Self::Integers {
            message_bits,
            carry_bits,
        } = self
        else {
            return Ok(());
        };
        let fits = (1..=MAX_BITS).contains(&message_bits);
        let expected = || format!("1 to {MAX_BITS}");
        check(fits, "the bits of a message", message_bits, expected)?;
        let all = message_bits.saturating_add(carry_bits);
        let expected = || format!("at most {MAX_BITS}");
        check(all <= MAX_BITS, "the bits of a value", all, expected)
    }
}

impl Input {
    pub(super) fn check(&self, messages: Messages) -> Checked<()> {
        named("an input", &self.name)?;
        let found = self.len();
        let fits = (1..=MAX_COUNT).contains(&found);
        let expected = || format!("1 to {MAX_COUNT}");
        check(fits, "the number of messages", found, expected)?;
        let most = match messages {
            Messages::Bits => 1,
            Messages::Integers { message_bits, .. } => message_bits,
        };
        let fits = (1..=most).contains(&self.bits);
        check(fits, "the bits of a message", self.bits, || {
            format!("1 to {most}")
        })
    }
}

/// Refuses names that cannot be shown in a line of text.
pub(super) fn named(of: &str, name: &str) -> Checked<()> {
    let fits = !name.is_empty() && !name.chars().any(char::is_control);
    check(
        fits,
        format_args!("the name of {of}"),
        format_args!("{name:?}"),
        || "printable characters",
    )
}

impl Circuit {
    /// Checks names, inputs, every step and the outputs.
    ///
    /// - Names are printable, and no two inputs and no two outputs have the same name.
    /// - Every operand is an earlier step with a result that the operation takes.
    /// - Integers that are looked up or output have ranges that bootstrappings and ciphertexts can
    ///   distinguish.
    /// - Tables have an entry for each integer of the range. There is at least one output.
    ///
    /// # Errors
    /// [`Error::Format`] for the text of another version, and [`Error::Torus`] with the first place
    /// that breaks a rule.
    pub fn verify(&self) -> Result<()> {
        if self.format != FORMAT {
            return Err(Error::Format {
                found: self.format.clone(),
                expected: FORMAT.into(),
            });
        }
        self.check_ends().map_err(refused("circuit"))?;
        for input in &self.inputs {
            let checked = input.check(self.messages);
            checked.map_err(refused(format!("input {}", input.name)))?;
        }
        let mut made: Vec<Made> = Vec::with_capacity(self.steps.len());
        for (id, op) in self.steps.iter().enumerate() {
            let next = self.known(&made).infer(op);
            made.push(next.map_err(refused(format!("step %{id} ({})", op.name())))?);
        }
        for output in &self.outputs {
            let known = self.known(&made);
            let mut values = output.values.iter();
            let checked = values.try_for_each(|&value| known.given_out(value));
            checked.map_err(refused(format!("output {}", output.name)))?;
        }
        Ok(())
    }

    fn known<'a>(&'a self, made: &'a [Made]) -> Known<'a> {
        Known {
            messages: self.messages,
            inputs: &self.inputs,
            made,
        }
    }

    fn check_ends(&self) -> Checked<()> {
        named("the circuit", &self.name)?;
        self.messages.check()?;
        let inputs: Vec<&str> = self.inputs.iter().map(|x| x.name.as_str()).collect();
        let outputs: Vec<&str> = self.outputs.iter().map(|x| x.name.as_str()).collect();
        for (of, names) in [("an input", inputs), ("an output", outputs)] {
            let mut taken = BTreeSet::new();
            for name in names {
                named(of, name)?;
                let what = format_args!("the name of {of}");
                let expected = || "a name that is not taken";
                check(taken.insert(name), what, format_args!("{name:?}"), expected)?;
            }
        }
        let found = self.outputs.len();
        check(found > 0, "the number of outputs", found, || "at least 1")?;
        for output in &self.outputs {
            let found = output.values.len();
            let fits = found == 1 || (!output.single && found > 0);
            let expected = || if output.single { "1" } else { "at least 1" };
            let what = format_args!("the number of messages of output {}", output.name);
            check(fits, what, found, expected)?;
        }
        Ok(())
    }
}
