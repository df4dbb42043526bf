//! Writes a recording as a program trace.

use super::{Header, Operation, ProgramTrace, Register, Row, Scheme};
use crate::error::{Error, Result};
use crate::recording::site::recorded;
use crate::recording::{Ciphertext, Message, Op, Plain, Recording, Type, ValueId};
use trace::Part;
use trace::reading::Problem;

impl Recording {
    /// Converts the operations to a program trace. Each operation is one line, or several if it
    /// does more than one operation of a program trace.
    ///
    /// A register is named after the number of the step that makes it: `ct7`. Inputs, ciphertexts
    /// of packing keys and plaintexts are registers that no line writes. An operand above the level
    /// of its operation is its register with fewer limbs. A level drop is written in the same way.
    /// A relinearisation to a lower level becomes `relin` and a `mod_switch` for each modulus.
    /// Products are not multiplied by `t`: the kernels of a scheme do this where it is needed.
    ///
    /// # Errors
    /// [`Error::Recorded`] with the step, for a step without a counterpart (combinations, masks and
    /// bodies of packings, samples), and for a step whose operands are missing or of another kind.
    pub fn to_program_trace(&self) -> Result<ProgramTrace> {
        let mut writer = Writer {
            recording: self,
            rows: Vec::new(),
            made: Vec::with_capacity(self.steps.len()),
            step: 0,
        };
        for step in 0..self.steps.len() {
            writer.step = step;
            let made = writer.step()?;
            writer.made.push(made);
        }
        Ok(ProgramTrace {
            header: Header::Degree,
            rows: writer.rows,
        })
    }
}

struct Writer<'a> {
    recording: &'a Recording,
    rows: Vec<Row>,
    /// Register of each step's value.
    made: Vec<Register>,
    /// The step that is being written.
    step: usize,
}

impl Writer<'_> {
    fn step(&mut self) -> Result<Register> {
        let step = &self.recording.steps[self.step];
        let Type::Ciphertext(ty) = step.ty else {
            return Err(self.lacking());
        };
        if ty.extended {
            return Err(self.lacking());
        }
        let own = Register {
            name: format!("ct{}", self.step),
            parts: ty.components,
            limbs: ty.level + 1,
        };
        match &step.op {
            Op::Input { .. } | Op::Given { .. } | Op::PackingKey { .. } => {}
            Op::Trivial { plain } => {
                return Ok(Register {
                    name: plaintext(*plain, 1),
                    ..own
                });
            }
            Op::Tensor { terms } => {
                let terms = terms.iter().map(|[left, right]| match left == right {
                    true => Ok((Operation::Square, vec![self.operand(*left, ty)?])),
                    false => {
                        let factors = vec![self.operand(*left, ty)?, self.operand(*right, ty)?];
                        Ok((Operation::Mul, factors))
                    }
                });
                let terms = terms.collect::<Result<_>>()?;
                self.sum(&own, terms)?;
            }
            Op::MulPlain { terms } => {
                let terms = terms.iter().map(|&(value, plain, unit)| {
                    let value = self.operand(value, ty)?;
                    let plain = self.plain(plain, unit, ty);
                    Ok((Operation::MulPlain, vec![value, plain]))
                });
                let terms = terms.collect::<Result<_>>()?;
                self.sum(&own, terms)?;
            }
            Op::Relinearize { value } => {
                let from = self.register(*value)?;
                let relinearized = Register {
                    parts: 2,
                    ..from.clone()
                };
                self.divide(Operation::Relinearize, from, relinearized, &own)?;
            }
            Op::Switch { value } => {
                let from = self.register(*value)?;
                let below = Register {
                    limbs: from.limbs.saturating_sub(1),
                    ..from.clone()
                };
                self.divide(Operation::Switch, from, below, &own)?;
            }
            Op::Add { left, right } => {
                let operands = vec![self.operand(*left, ty)?, self.operand(*right, ty)?];
                self.row(Operation::Add, &own, operands, Vec::new());
            }
            Op::Sub { left, right } => {
                let operands = vec![self.operand(*left, ty)?, self.operand(*right, ty)?];
                self.row(Operation::Sub, &own, operands, Vec::new());
            }
            Op::AddPlain { value, plain } => {
                let operands = vec![self.operand(*value, ty)?, self.plain(*plain, 1, ty)];
                self.row(Operation::AddPlain, &own, operands, Vec::new());
            }
            Op::Automorphism { value, element } => {
                let operand = self.operand(*value, ty)?;
                self.row(
                    Operation::Rotate,
                    &own,
                    vec![operand],
                    vec![*element as u64],
                );
            }
            Op::Drop { value } | Op::Output { value, .. } => return self.operand(*value, ty),
            // Program traces have no counterpart of the others.
            _ => return Err(self.lacking()),
        }
        Ok(own)
    }

    /// Writes a sum of products. Each product is a line.
    fn sum(&mut self, own: &Register, terms: Vec<(Operation, Vec<Register>)>) -> Result<()> {
        let last = terms.len();
        if last == 0 {
            return Err(self.wrong("the number of terms", "0".into(), "at least 1".into()));
        }
        let named = |mark: &str, index: usize| Register {
            name: format!("{}{mark}{index}", own.name),
            ..own.clone()
        };
        let mut sum: Option<Register> = None;
        for (index, (operation, factors)) in terms.into_iter().enumerate() {
            let product = if last == 1 {
                own.clone()
            } else {
                named("_p", index)
            };
            self.row(operation, &product, factors, Vec::new());
            sum = Some(match sum {
                None => product,
                Some(before) => {
                    let after = if index + 1 == last {
                        own.clone()
                    } else {
                        named("_s", index)
                    };
                    self.row(Operation::Add, &after, vec![before, product], Vec::new());
                    after
                }
            });
        }
        Ok(())
    }

    /// Writes an operation with result `first`, then modulus switches down to the value's own
    /// limbs.
    fn divide(
        &mut self,
        operation: Operation,
        from: Register,
        first: Register,
        own: &Register,
    ) -> Result<()> {
        if own.limbs == 0 || own.limbs > first.limbs {
            let expected = format!("1 to {}, from {} of the operand", first.limbs, from.limbs);
            return Err(self.wrong("the number of limbs", own.limbs.to_string(), expected));
        }
        let (mut operation, mut from) = (operation, from);
        for limbs in (own.limbs..=first.limbs).rev() {
            let name = match limbs == own.limbs {
                true => own.name.clone(),
                false => format!("{}_l{limbs}", own.name),
            };
            let parts = first.parts;
            let to = Register { name, parts, limbs };
            self.row(operation, &to, vec![from], Vec::new());
            (operation, from) = (Operation::Switch, to);
        }
        Ok(())
    }

    fn row(&mut self, operation: Operation, to: &Register, from: Vec<Register>, numbers: Vec<u64>) {
        let p = &self.recording.parameters;
        let mut registers = vec![to.clone()];
        registers.extend(from);
        self.rows.push(Row {
            operation,
            scheme: self.scheme(),
            n: p.n,
            key_limbs: p.q.len() + p.p.len(),
            registers,
            numbers,
        });
    }

    /// The register of an earlier value.
    fn register(&self, value: ValueId) -> Result<Register> {
        let found = self.made.get(value).cloned();
        found.ok_or_else(|| {
            let expected = format!("a value below %{}", self.step);
            self.wrong("an operand", format!("%{value}"), expected)
        })
    }

    /// The register of an earlier value, with the number of limbs that an operation at this level
    /// reads.
    fn operand(&self, value: ValueId, ty: Ciphertext) -> Result<Register> {
        let (register, limbs) = (self.register(value)?, ty.level + 1);
        if register.limbs < limbs {
            let expected = format!("at least {limbs}");
            return Err(self.wrong(
                "the limbs of an operand",
                register.limbs.to_string(),
                expected,
            ));
        }
        Ok(Register { limbs, ..register })
    }

    /// The register of a plaintext times a unit.
    fn plain(&self, plain: Plain, unit: u64, ty: Ciphertext) -> Register {
        Register {
            name: plaintext(plain, unit),
            parts: 1,
            limbs: ty.level + 1,
        }
    }

    /// BFV and BGV share residuals. They are named BFV here.
    fn scheme(&self) -> Scheme {
        match self.recording.steps[self.step].ty {
            Type::Ciphertext(Ciphertext {
                message: Message::Approximate { .. },
                ..
            }) => Scheme::Ckks,
            _ => Scheme::Bfv,
        }
    }

    fn lacking(&self) -> Error {
        let found = self.recording.steps[self.step].op.name().into();
        let expected = "one that program traces have: sums, products, relin, mod_switch, rotate";
        self.wrong("the operation", found, expected.into())
    }

    fn wrong(&self, what: &'static str, found: String, expected: String) -> Error {
        let op = self.recording.steps[self.step].op.name();
        let index = self.step;
        recorded(
            Problem::new(what, found, expected),
            None,
            Part::Step { index, op },
        )
    }
}

/// Name of the register of a plaintext times a unit.
fn plaintext(plain: Plain, unit: u64) -> String {
    let (place, constant) = match plain {
        Plain::Slots(constant) => ("slots", constant),
        Plain::Coefficients(constant) => ("coefficients", constant),
        Plain::Integers(constant, _) => ("integers", constant),
        Plain::Rounded { value, .. } => ("rounded", value),
        Plain::Blocks { value, .. } => ("blocks", value),
    };
    match unit {
        1 => format!("pt{constant}_{place}"),
        _ => format!("pt{constant}_{place}_by_{unit}"),
    }
}
