//! Gates with folding: constants, negations and equal operands take no bootstrapping.

use super::build::{Builder, Value};
use super::ir::{Gate, Op, ValueId};
use super::verify::refused;
use crate::error::Result;
use trace::reading::Problem;

/// A bit as an operand: a constant, or the result of a step, possibly negated.
#[derive(Clone, Copy, PartialEq)]
enum Literal {
    Constant(bool),
    Step(ValueId, bool),
}

impl Literal {
    /// Value of the bit, given the values of steps.
    fn of(self, value: impl Fn(ValueId) -> bool) -> bool {
        match self {
            Self::Constant(bit) => bit,
            Self::Step(id, negated) => value(id) != negated,
        }
    }

    fn negated(self) -> Self {
        match self {
            Self::Constant(bit) => Self::Constant(!bit),
            Self::Step(id, negated) => Self::Step(id, !negated),
        }
    }
}

impl Builder {
    /// `not x`. It takes no bootstrapping.
    ///
    /// # Errors
    /// [`Error::Torus`](crate::Error::Torus) for operands that are not bits.
    pub fn not(&mut self, x: Value) -> Result<Value> {
        let x = self.literal("not", x)?;
        self.value(x.negated())
    }

    /// `x and y`. Like every gate, it takes at most one bootstrapping.
    ///
    /// # Errors
    /// As [`not`](Self::not).
    pub fn and(&mut self, x: Value, y: Value) -> Result<Value> {
        self.gate(Gate::And, x, y)
    }

    /// `x or y`.
    ///
    /// # Errors
    /// As [`not`](Self::not).
    pub fn or(&mut self, x: Value, y: Value) -> Result<Value> {
        self.gate(Gate::Or, x, y)
    }

    /// `x != y`.
    ///
    /// # Errors
    /// As [`not`](Self::not).
    pub fn xor(&mut self, x: Value, y: Value) -> Result<Value> {
        self.gate(Gate::Xor, x, y)
    }

    /// Applies a gate, given by name.
    ///
    /// # Errors
    /// As [`not`](Self::not).
    pub fn gate(&mut self, gate: Gate, x: Value, y: Value) -> Result<Value> {
        let operands = [self.literal(gate.name(), x)?, self.literal(gate.name(), y)?];
        let nodes = nodes(&operands);
        self.of_two(&nodes, |value| {
            gate.of(operands[0].of(value), operands[1].of(value))
        })
    }

    /// `x` if the condition is 1, otherwise `y`. It takes at most two bootstrappings, and one if it
    /// equals a gate.
    ///
    /// # Errors
    /// As [`not`](Self::not).
    pub fn choose(&mut self, condition: Value, x: Value, y: Value) -> Result<Value> {
        let [mut c, mut x, mut y] = [
            self.literal("choose", condition)?,
            self.literal("choose", x)?,
            self.literal("choose", y)?,
        ];
        let nodes = nodes(&[c, x, y]);
        // If both choices are equal, the condition does not matter.
        if x == y {
            return self.value(x);
        }
        if nodes.len() <= 2 {
            return self.of_two(&nodes, |value| {
                if c.of(value) {
                    x.of(value)
                } else {
                    y.of(value)
                }
            });
        }
        // `c ? x : not x` has two nodes, so it has become a gate above. Here there are three
        // different bits.
        if let Literal::Step(_, true) = c {
            (c, x, y) = (c.negated(), y, x);
        }
        let flip = matches!(x, Literal::Step(_, true));
        if flip {
            (x, y) = (x.negated(), y.negated());
        }
        let [condition, yes, no] = [self.node(c)?, self.node(x)?, self.node(y)?];
        let chosen = self.push(Op::Choose { condition, yes, no })?;
        if flip { self.not(chosen) } else { Ok(chosen) }
    }

    /// A function of the bits of at most two steps.
    fn of_two(
        &mut self,
        nodes: &[ValueId],
        f: impl Fn(&dyn Fn(ValueId) -> bool) -> bool,
    ) -> Result<Value> {
        let at = |left: bool, right: bool| {
            f(&|id| {
                if Some(&id) == nodes.first() {
                    left
                } else {
                    right
                }
            })
        };
        let table = [
            at(false, false),
            at(false, true),
            at(true, false),
            at(true, true),
        ];
        let flip = table[0];
        let result = match table.map(|bit| bit != flip) {
            [_, false, false, false] => return self.value(Literal::Constant(flip)),
            [_, false, true, true] => return self.value(Literal::Step(nodes[0], flip)),
            [_, true, false, true] => return self.value(Literal::Step(nodes[1], flip)),
            [_, false, false, true] => Gate::And,
            [_, false, true, false] => Gate::AndNot,
            [_, true, false, false] => Gate::NotAnd,
            [_, true, true, true] => Gate::Or,
            [_, true, true, false] => Gate::Xor,
        };
        let made = self.push(Op::Gate {
            gate: result,
            left: nodes[0],
            right: nodes[1],
        })?;
        if flip { self.not(made) } else { Ok(made) }
    }

    fn literal(&self, op: &str, x: Value) -> Result<Literal> {
        self.check_bits(op, true)?;
        match x {
            Value::Constant(bit @ (0 | 1)) => Ok(Literal::Constant(bit == 1)),
            Value::Constant(other) => {
                let problem = Problem::new("an operand", other, "a bit: 0 or 1");
                Err(refused(op)(problem))
            }
            Value::Step(id) => match self.step(id) {
                Some(Op::Not { value }) => Ok(Literal::Step(*value, true)),
                Some(_) => Ok(Literal::Step(id, false)),
                None => {
                    let problem = Problem::new("an operand", format!("%{id}"), "a step");
                    Err(refused(op)(problem))
                }
            },
        }
    }

    fn value(&mut self, literal: Literal) -> Result<Value> {
        match literal {
            Literal::Constant(bit) => Ok(Value::Constant(bit.into())),
            Literal::Step(id, false) => Ok(Value::Step(id)),
            Literal::Step(value, true) => self.push(Op::Not { value }),
        }
    }

    /// The step of a literal that is not a constant.
    fn node(&mut self, literal: Literal) -> Result<ValueId> {
        match self.value(literal)? {
            Value::Step(id) => Ok(id),
            Value::Constant(_) => unreachable!("three different steps are no constants"),
        }
    }
}

/// The different steps of literals, in the order of their numbers.
fn nodes(literals: &[Literal]) -> Vec<ValueId> {
    let mut nodes: Vec<ValueId> = Vec::new();
    for literal in literals {
        if let Literal::Step(id, _) = literal {
            nodes.push(*id);
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}
