//! Repeated parts: their types, and the circuit with every iteration written out.

use super::infer::{Problem, kind, scales_alike};
use super::ir::{BodyId, Circuit, Step, Type, ValueId};
use super::op::Op;
use crate::error::{Error, Result};
use std::borrow::Cow;

/// Largest number of steps of a circuit with every iteration written out.
const MAX_STEPS: usize = 1 << 22;

/// The types of a body's inputs. A plaintext that is encoded several times counts several times.
struct BodyInputs {
    /// Inputs for the carried values.
    carried: Vec<Type>,
    /// Inputs whose values each iteration states.
    each: Vec<Type>,
}

/// The values of one iteration, in the order of the body's inputs.
struct Iteration {
    carried: Vec<ValueId>,
    each: Vec<ValueId>,
}

impl Circuit {
    /// The inputs of a body that carries `count` values, which are its first encrypted inputs.
    fn body_inputs(&self, count: usize) -> BodyInputs {
        let (mut carried, mut each) = (Vec::new(), Vec::new());
        for (_, ty) in self.inputs() {
            let next = ty.encrypted && carried.len() < count;
            if next { &mut carried } else { &mut each }.push(ty);
        }
        BodyInputs { carried, each }
    }

    /// Checks the bodies, and the number of steps of all iterations.
    pub(super) fn verify_bodies(&self) -> Result<()> {
        self.bodies
            .iter()
            .try_for_each(|body| self.verify_body(body))?;
        let steps = self.written_out();
        if steps <= MAX_STEPS {
            return Ok(());
        }
        Err(Error::Parameters {
            what: "the number of steps of all iterations",
            found: steps.to_string(),
            expected: format!("at most {MAX_STEPS}"),
        })
    }

    /// Checks that a body has the arithmetic, slots and bootstrapping of its circuit.
    pub(super) fn verify_body(&self, body: &Self) -> Result<()> {
        let alike = [
            (
                "the arithmetic of a body",
                body.arithmetic == self.arithmetic,
            ),
            ("the number of slots of a body", body.slots == self.slots),
            (
                "the bootstrapping of a body",
                body.bootstrapping.is_none() || body.bootstrapping == self.bootstrapping,
            ),
        ];
        if let Some((what, _)) = alike.into_iter().find(|(_, alike)| !alike) {
            return Err(Error::Parameters {
                what,
                found: "another one".into(),
                expected: "that of the circuit".into(),
            });
        }
        body.verify()
    }

    /// Number of steps with every iteration written out.
    fn written_out(&self) -> usize {
        let sizes: Vec<usize> = self.bodies.iter().map(Self::written_out).collect();
        let step = |step: &Step| match &step.op {
            Op::Repeat { body, each, .. } => {
                let size = sizes.get(*body).copied().unwrap_or(0);
                size.saturating_mul(each.len())
            }
            _ => 1,
        };
        let steps = self.steps.iter().map(step);
        steps.fold(0, usize::saturating_add)
    }

    /// The type of a repeated part or of one of its results.
    ///
    /// # Panics
    /// For other operations.
    pub(super) fn infer_repeated(&self, op: &Op) -> std::result::Result<Type, Problem> {
        match op {
            Op::Repeat {
                body,
                carried,
                each,
            } => self.infer_repeat(*body, carried, each),
            Op::Result { repeat, index } => self.infer_result(*repeat, *index),
            _ => unreachable!("other operations have an effect"),
        }
    }

    /// Type of a repeated part: that of its first carried value.
    fn infer_repeat(
        &self,
        body: BodyId,
        carried: &[ValueId],
        each: &[Vec<ValueId>],
    ) -> std::result::Result<Type, Problem> {
        let limit = self.bodies.len();
        let expected = format!("less than {limit}");
        let none = Problem::new("the body", body.to_string(), expected);
        let body = self.bodies.get(body).ok_or(none)?;
        let same_count = |what, found: usize, expected: usize| {
            if found == expected {
                return Ok(());
            }
            Err(Problem::new(what, found.to_string(), expected.to_string()))
        };
        let outputs: Vec<Type> = body.outputs().map(|(_, ty)| ty).collect();
        let inputs = body.body_inputs(outputs.len());
        same_count(
            "the number of encrypted inputs of the body",
            inputs.carried.len(),
            outputs.len(),
        )?;
        same_count("the number of carried values", carried.len(), outputs.len())?;
        if each.is_empty() {
            let expected = "at least 1".into();
            return Err(Problem::new(
                "the number of iterations",
                "0".into(),
                expected,
            ));
        }
        for (&value, ty) in carried.iter().zip(&inputs.carried) {
            check_type("a carried value", self.ty(value), *ty)?;
        }
        for (ty, before) in outputs.iter().zip(&inputs.carried) {
            check_type("an output of the body", *ty, *before)?;
        }
        for values in each {
            same_count(
                "the number of values of an iteration",
                values.len(),
                inputs.each.len(),
            )?;
            for (&value, ty) in values.iter().zip(&inputs.each) {
                check_type("a value of an iteration", self.ty(value), *ty)?;
            }
        }
        Ok(outputs[0])
    }

    /// Type of a carried value after the last iteration.
    fn infer_result(&self, repeat: ValueId, index: usize) -> std::result::Result<Type, Problem> {
        let Op::Repeat { body, carried, .. } = &self.steps[repeat].op else {
            let expected = "a repeated part".into();
            return Err(Problem::new("the operand", format!("%{repeat}"), expected));
        };
        if index >= carried.len() {
            let expected = format!("less than {}", carried.len());
            return Err(Problem::new(
                "the number of the result",
                index.to_string(),
                expected,
            ));
        }
        let mut outputs = self.bodies[*body].outputs();
        let (_, ty) = outputs.nth(index).expect("a body has as many outputs");
        Ok(ty)
    }

    /// Returns the circuit with every iteration written out. If nothing repeats, it is returned as
    /// it is. The result computes the same, and has the same inputs and outputs. Steps that no
    /// output needs are left out. The circuit must be verified.
    pub fn unrolled(&self) -> Cow<'_, Self> {
        if self.bodies.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut flat = Self {
            bodies: Vec::new(),
            steps: Vec::new(),
            ..self.clone()
        };
        let bodies: Vec<Cow<Self>> = self.bodies.iter().map(Self::unrolled).collect();
        // Start of the constants of each body. They are stored once for all iterations.
        let mut firsts = Vec::new();
        for body in &bodies {
            firsts.push(flat.constants.len());
            flat.constants.extend_from_slice(&body.constants);
        }
        // The values of each step in the result: one, or the carried values of a repeated part.
        let mut copies: Vec<Vec<ValueId>> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let copy = |&value: &ValueId| copies[value][0];
            let values = match &step.op {
                Op::Repeat {
                    body,
                    carried,
                    each,
                } => {
                    let mut state: Vec<ValueId> = carried.iter().map(copy).collect();
                    for values in each {
                        let iteration = Iteration {
                            carried: state,
                            each: values.iter().map(copy).collect(),
                        };
                        state = flat.write_iteration(&bodies[*body], firsts[*body], iteration);
                    }
                    state
                }
                Op::Result { repeat, index } => vec![copies[*repeat][*index]],
                op => vec![flat.push_step(op.clone().reading(|value| copy(&value)), step.ty)],
            };
            copies.push(values);
        }
        // If some results of the last iteration have no use, it computes values that no output
        // needs.
        Cow::Owned(flat.pruned())
    }

    /// Writes one iteration of a body and returns its results.
    fn write_iteration(
        &mut self,
        body: &Self,
        first_constant: usize,
        iteration: Iteration,
    ) -> Vec<ValueId> {
        let mut carried = iteration.carried.into_iter();
        let mut each = iteration.each.into_iter();
        let mut copies = Vec::with_capacity(body.steps.len());
        let mut results = Vec::new();
        for step in &body.steps {
            copies.push(match &step.op {
                Op::Input { .. } => {
                    // The first encrypted inputs are the carried values.
                    let next = if step.ty.encrypted {
                        carried.next()
                    } else {
                        None
                    };
                    let value = next.or_else(|| each.next());
                    value.expect("a value for each input")
                }
                Op::Output { value, .. } => {
                    results.push(copies[*value]);
                    copies[*value]
                }
                Op::Constant { constant } => {
                    let constant = first_constant + constant;
                    self.push_step(Op::Constant { constant }, step.ty)
                }
                op => self.push_step(op.clone().reading(|value| copies[value]), step.ty),
            });
        }
        results
    }

    fn push_step(&mut self, op: Op, ty: Type) -> ValueId {
        self.steps.push(Step { op, ty });
        self.steps.len() - 1
    }
}

/// Checks that a value has the type of the value that it replaces.
fn check_type(what: &'static str, found: Type, expected: Type) -> std::result::Result<(), Problem> {
    kind(what, found, expected.encrypted)?;
    if found.level != expected.level {
        let (found, expected) = (found.level, expected.level);
        return Err(Problem::new(
            what,
            format!("at level {found}"),
            format!("level {expected}"),
        ));
    }
    scales_alike(what, found.scale, expected.scale)
}
