//! The builder of circuits on messages.

use super::infer::{Known, Made, Range};
use super::ir::{Circuit, FORMAT, Input, Messages, Op, Output, ValueId};
use super::verify::{named, refused};
use crate::error::Result;
use std::collections::HashMap;
use trace::reading::{Checked, Problem};

/// An operand of a [`Builder`]: a number, or the result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A bit, 0 or 1, or an integer.
    Constant(i64),
    /// The result of a step.
    Step(ValueId),
}

/// Writes a circuit. Constants are folded, and equal operations are computed once.
///
/// An operation that is refused leaves the builder unchanged.
#[derive(Clone, Debug)]
pub struct Builder {
    circuit: Circuit,
    made: Vec<Made>,
    known: HashMap<Op, ValueId>,
}

impl Builder {
    /// Starts an empty circuit.
    ///
    /// # Errors
    /// [`Error::Torus`](crate::Error::Torus) for messages of no bits or of more than 16.
    pub fn new(name: &str, messages: Messages) -> Result<Self> {
        let checked = named("the circuit", name).and(messages.check());
        checked.map_err(refused("circuit"))?;
        Ok(Self {
            circuit: Circuit {
                format: FORMAT.into(),
                name: name.into(),
                messages,
                inputs: Vec::new(),
                steps: Vec::new(),
                outputs: Vec::new(),
            },
            made: Vec::new(),
            known: HashMap::new(),
        })
    }

    /// The messages that ciphertexts hold.
    pub fn messages(&self) -> Messages {
        self.circuit.messages
    }

    /// Adds an input and returns its messages: `count` of them, or a single one.
    ///
    /// # Errors
    /// [`Error::Torus`](crate::Error::Torus) for a name that is taken, and for more bits than a
    /// fresh message has.
    pub fn input(&mut self, name: &str, count: Option<usize>, bits: u32) -> Result<Vec<Value>> {
        let input = Input {
            name: name.into(),
            count,
            bits,
        };
        let taken = self.circuit.inputs.iter().any(|other| other.name == name);
        let checked = input.check(self.circuit.messages);
        let checked = checked.and(match taken {
            true => Err(again(name)),
            false => Ok(()),
        });
        checked.map_err(refused(format!("input {name}")))?;
        let of = self.circuit.inputs.len();
        let places = 0..input.len();
        self.circuit.inputs.push(input);
        places
            .map(|place| self.push(Op::Input { input: of, place }))
            .collect()
    }

    /// Outputs values under a name.
    ///
    /// # Errors
    /// [`Error::Torus`](crate::Error::Torus) for a name that is taken, for no values, for several
    /// values if `single` is true, and for integers with ranges that no ciphertext can hold.
    pub fn output(&mut self, name: &str, single: bool, values: &[Value]) -> Result<()> {
        let mut outputs = self.circuit.outputs.iter();
        if outputs.any(|output| output.name == name) {
            return Err(refused(format!("output {name}"))(again(name)));
        }
        let steps = values.iter().map(|&value| self.step_of(value));
        let values: Vec<ValueId> = steps.collect::<Result<_>>()?;
        let output = Output {
            name: name.into(),
            single,
            values,
        };
        self.circuit.outputs.push(output);
        let verified = self.circuit.verify();
        if verified.is_err() {
            self.circuit.outputs.pop();
        }
        verified
    }

    /// Returns the circuit. Steps that no output needs are left out.
    ///
    /// # Errors
    /// [`Error::Torus`](crate::Error::Torus) if there are no outputs.
    pub fn finish(&self) -> Result<Circuit> {
        let circuit = self.circuit.pruned();
        circuit.verify()?;
        Ok(circuit)
    }

    /// The range of an integer. For a bit it is 0 to 1.
    ///
    /// # Errors
    /// [`Error::Torus`](crate::Error::Torus) for a value of another builder.
    pub fn range(&self, value: Value) -> Result<Range> {
        let bit = Range {
            least: 0,
            largest: 1,
        };
        match value {
            Value::Constant(value) => Ok(Range {
                least: value,
                largest: value,
            }),
            Value::Step(id) => match self.made.get(id) {
                Some(Made::Bit) => Ok(bit),
                _ => self.facts().integer(id).map_err(refused("a value")),
            },
        }
    }

    /// Returns the step of a value.
    fn step_of(&mut self, value: Value) -> Result<ValueId> {
        match value {
            Value::Step(id) => Ok(id),
            Value::Constant(value) => match self.push(Op::Constant { value })? {
                Value::Step(id) => Ok(id),
                Value::Constant(_) => unreachable!("a step is pushed"),
            },
        }
    }

    pub(super) fn step(&self, id: ValueId) -> Option<&Op> {
        self.circuit.steps.get(id)
    }

    fn facts(&self) -> Known<'_> {
        Known {
            messages: self.circuit.messages,
            inputs: &self.circuit.inputs,
            made: &self.made,
        }
    }

    /// Returns the step of an operation. Equal operations have the same step.
    pub(super) fn push(&mut self, op: Op) -> Result<Value> {
        if let Some(&id) = self.known.get(&op) {
            return Ok(Value::Step(id));
        }
        let made = self.facts().infer(&op).map_err(refused(op.name()))?;
        let id = self.circuit.steps.len();
        self.made.push(made);
        self.known.insert(op.clone(), id);
        self.circuit.steps.push(op);
        Ok(Value::Step(id))
    }

    /// Refuses operations that belong to the other kind of messages.
    pub(super) fn check_bits(&self, op: &str, bits: bool) -> Result<()> {
        let found = self.circuit.messages;
        let checked: Checked<()> = match (found, bits) {
            (Messages::Bits, false) => Err(Problem::new("an operand", "a bit", "an integer")),
            (Messages::Integers { .. }, true) => {
                Err(Problem::new("an operand", "an integer", "a bit"))
            }
            _ => Ok(()),
        };
        checked.map_err(refused(op))
    }
}

fn again(name: &str) -> Problem {
    let found = format!("{name:?} again");
    Problem::new("the name", found, "a name that is not taken")
}

impl Circuit {
    /// The circuit without the steps that no output depends on.
    fn pruned(&self) -> Self {
        let mut used = vec![false; self.steps.len()];
        let outputs = self.outputs.iter().flat_map(|output| &output.values);
        outputs.for_each(|&value| used[value] = true);
        for (id, op) in self.steps.iter().enumerate().rev() {
            if used[id] {
                op.operands().into_iter().for_each(|v| used[v] = true);
            }
        }
        let mut pruned = Self {
            steps: Vec::new(),
            ..self.clone()
        };
        let mut places = vec![0; used.len()];
        for (id, op) in self.steps.iter().enumerate().filter(|&(id, _)| used[id]) {
            places[id] = pruned.steps.len();
            pruned.steps.push(op.clone().reading(|value| places[value]));
        }
        let values = pruned.outputs.iter_mut().flat_map(|o| &mut o.values);
        values.for_each(|value| *value = places[*value]);
        pruned
    }
}
