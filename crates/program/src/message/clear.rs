//! Runs a circuit on plain messages.

use super::infer::Made;
use super::ir::{Circuit, Input, Messages, Op};
use super::verify::refused;
use crate::error::Result;
use std::collections::BTreeMap;
use trace::reading::{Checked, Problem, check};

impl Input {
    /// Refuses messages that this input cannot take.
    fn takes(&self, values: &[i64]) -> Checked<()> {
        let (found, expected) = (values.len(), self.len());
        let right = found == expected;
        check(right, "the number of messages", found, || {
            expected.to_string()
        })?;
        let most = (1 << self.bits) - 1;
        let wrong = values.iter().find(|&&v| !(0..=most).contains(&v));
        match wrong {
            Some(found) => Err(Problem::new("the message", found, format!("0 to {most}"))),
            None => Ok(()),
        }
    }
}

impl Circuit {
    /// Refuses names that are not inputs, and inputs whose names are missing.
    ///
    /// # Errors
    /// [`Error::Torus`](crate::Error::Torus) with the first such name.
    pub fn check_names<'a>(&self, names: impl IntoIterator<Item = &'a str> + Clone) -> Result<()> {
        let known = || {
            let names: Vec<&str> = self.inputs.iter().map(|x| x.name.as_str()).collect();
            format!("one of the inputs {}", names.join(", "))
        };
        for name in names.clone() {
            let is = self.inputs.iter().any(|input| input.name == name);
            let checked = check(is, "the name", name, known);
            checked.map_err(refused("the inputs"))?;
        }
        for Input { name, .. } in &self.inputs {
            let given = names.clone().into_iter().any(|given| given == name);
            let checked = check(given, "it", "missing", || "a value for each input");
            checked.map_err(refused(format!("input {name}")))?;
        }
        Ok(())
    }

    /// Returns the messages of the outputs, by name, for the given messages of the inputs.
    ///
    /// # Errors
    /// [`Error::Torus`](crate::Error::Torus) for inputs that are missing, unknown, of another
    /// length or out of range.
    pub fn run_clear(&self, inputs: &BTreeMap<&str, &[i64]>) -> Result<BTreeMap<&str, Vec<i64>>> {
        self.check_names(inputs.keys().copied())?;
        let given: Vec<&[i64]> = self
            .inputs
            .iter()
            .map(|x| inputs[x.name.as_str()])
            .collect();
        for (input, values) in self.inputs.iter().zip(&given) {
            let taken = input.takes(values);
            taken.map_err(refused(format!("input {}", input.name)))?;
        }
        let mut found: Vec<Vec<i64>> = Vec::with_capacity(self.steps.len());
        let made = self.made();
        for op in &self.steps {
            let of = |value: usize| found[value][0];
            let next = match op {
                Op::Input { input, place } => given[*input][*place],
                Op::Constant { value } => *value,
                Op::Not { value } => 1 - of(*value),
                Op::Gate { gate, left, right } => gate.of(of(*left) == 1, of(*right) == 1).into(),
                Op::Choose { condition, yes, no } => match of(*condition) {
                    1 => of(*yes),
                    _ => of(*no),
                },
                Op::Sum { constant, terms } => {
                    let terms = terms.iter().map(|&(factor, value)| factor * of(value));
                    constant + terms.sum::<i64>()
                }
                Op::Lookup { value, tables } => {
                    let Made::Integer(range) = &made[*value] else {
                        unreachable!("the verifier knows what operands are")
                    };
                    let place = (of(*value) - range.least) as usize;
                    found.push(tables.iter().map(|table| table[place]).collect());
                    continue;
                }
                Op::Entry { lookup, table } => found[*lookup][*table],
            };
            found.push(vec![next]);
        }
        let outputs = self.outputs.iter().map(|output| {
            let values = output.values.iter().map(|&value| found[value][0]);
            (output.name.as_str(), values.collect())
        });
        Ok(outputs.collect())
    }

    /// Returns true if messages are bits.
    pub fn is_of_bits(&self) -> bool {
        matches!(self.messages, Messages::Bits)
    }
}
