//! Repeated parts: their types, and the circuit with every iteration written out.

use super::infer::{Problem, kind, scales_alike};
use super::ir::{BodyId, Circuit, Step, Type, ValueId};
use super::op::Op;
use crate::error::{Error, Result};
use std::borrow::Cow;

/// Largest number of steps of a circuit with every iteration written out.
const MAX_STEPS: usize = 1 << 22;

/// An input of a body: its name and type. A plaintext that is encoded several times counts several
/// times.
type Input<'c> = (&'c str, Type);

impl Circuit {
    /// The inputs of a body: the first `count` encrypted inputs, and all others.
    fn body_inputs(&self, count: usize) -> [Vec<Input<'_>>; 2] {
        let (mut carried, mut given) = (Vec::new(), Vec::new());
        for (name, ty) in self.inputs() {
            let next = ty.encrypted && carried.len() < count;
            if next { &mut carried } else { &mut given }.push((name, ty));
        }
        [carried, given]
    }

    pub(super) fn verify_bodies(&self) -> Result<()> {
        self.bodies
            .iter()
            .try_for_each(|body| self.verify_body(body))?;
        let found = self.written_out();
        if found <= MAX_STEPS {
            return Ok(());
        }
        Err(Error::Parameters {
            what: "the number of steps of all iterations",
            found: found.to_string(),
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
        let none = ("the body", body.to_string(), expected);
        let body = self.bodies.get(body).ok_or(none)?;
        let same_count = |what, found: usize, expected: usize| {
            if found == expected {
                return Ok(());
            }
            Err((what, found.to_string(), expected.to_string()))
        };
        let outputs: Vec<Type> = body.outputs().map(|(_, ty)| ty).collect();
        let [taken, given] = body.body_inputs(outputs.len());
        same_count(
            "the number of encrypted inputs of the body",
            taken.len(),
            outputs.len(),
        )?;
        same_count("the number of carried values", carried.len(), outputs.len())?;
        if each.is_empty() {
            let expected = "at least 1".into();
            return Err(("the number of iterations", "0".into(), expected));
        }
        for (&value, (_, ty)) in carried.iter().zip(&taken) {
            is_of("a carried value", self.ty(value), *ty)?;
        }
        for (ty, (_, before)) in outputs.iter().zip(&taken) {
            is_of("an output of the body", *ty, *before)?;
        }
        for values in each {
            same_count(
                "the number of values of an iteration",
                values.len(),
                given.len(),
            )?;
            for (&value, (_, ty)) in values.iter().zip(&given) {
                is_of("a value of an iteration", self.ty(value), *ty)?;
            }
        }
        Ok(outputs[0])
    }

    /// Type of a carried value after the last iteration.
    fn infer_result(&self, repeat: ValueId, index: usize) -> std::result::Result<Type, Problem> {
        let Op::Repeat { body, carried, .. } = &self.steps[repeat].op else {
            let expected = "a repeated part".into();
            return Err(("the operand", format!("%{repeat}"), expected));
        };
        if index >= carried.len() {
            let expected = format!("less than {}", carried.len());
            return Err(("the number of the result", index.to_string(), expected));
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
        let mut made: Vec<Vec<ValueId>> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let one = |value: ValueId| made[value][0];
            let own = match &step.op {
                Op::Repeat {
                    body,
                    carried,
                    each,
                } => {
                    let mut state: Vec<ValueId> = carried.iter().map(|&v| one(v)).collect();
                    for given in each {
                        let given = given.iter().map(|&v| one(v)).collect();
                        state = flat.iteration(&bodies[*body], firsts[*body], [state, given]);
                    }
                    state
                }
                Op::Result { repeat, index } => vec![made[*repeat][*index]],
                op => vec![flat.push_step(op.clone().reading(one), step.ty)],
            };
            made.push(own);
        }
        // If some results of the last iteration have no use, it computes values that no output
        // needs.
        Cow::Owned(flat.pruned())
    }

    /// Writes one iteration of a body and returns its results.
    fn iteration(
        &mut self,
        body: &Self,
        first_constant: usize,
        [carried, given]: [Vec<ValueId>; 2],
    ) -> Vec<ValueId> {
        let count = carried.len();
        let (mut carried, mut given) = (carried.into_iter(), given.into_iter());
        let mut made = Vec::with_capacity(body.steps.len());
        let (mut taken, mut results) = (0, Vec::new());
        for step in &body.steps {
            made.push(match &step.op {
                Op::Input { .. } if step.ty.encrypted && taken < count => {
                    taken += 1;
                    carried.next().expect("a value for each carried input")
                }
                Op::Input { .. } => given.next().expect("a value for each input"),
                Op::Output { value, .. } => {
                    results.push(made[*value]);
                    made[*value]
                }
                Op::Constant { constant } => {
                    let constant = first_constant + constant;
                    self.push_step(Op::Constant { constant }, step.ty)
                }
                op => self.push_step(op.clone().reading(|value| made[value]), step.ty),
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
fn is_of(what: &'static str, found: Type, expected: Type) -> std::result::Result<(), Problem> {
    kind(what, found, expected.encrypted)?;
    if found.level != expected.level {
        let (found, expected) = (found.level, expected.level);
        return Err((
            what,
            format!("at level {found}"),
            format!("level {expected}"),
        ));
    }
    scales_alike(what, found.scale, expected.scale)
}
