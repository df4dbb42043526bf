//! The verifier: rejects what cannot run or would not decrypt.

use crate::error::{Error, Result};
use crate::ir::{FORMAT, Form, Op, Program, Step, Type};

/// Largest ring degree, batch and number of steps a program may name: bounds on what a file can make us
/// allocate.
const MAX_DEGREE: usize = 1 << 17;
const MAX_BATCH: usize = 1 << 15;

impl Program {
    /// Sets the format, verifies, and gives the program.
    ///
    /// # Errors
    /// As [`Program::verify`].
    pub fn new(mut self) -> Result<Self> {
        self.format = FORMAT.into();
        self.verify()?;
        Ok(self)
    }

    /// Checks every step: operands exist and have the right form and level, constants fit, and the
    /// predicted noise, six deviations of it, decrypts.
    ///
    /// # Errors
    /// [`Error::Format`], [`Error::Parameters`] and [`Error::Step`].
    pub fn verify(&self) -> Result<()> {
        if self.format != FORMAT {
            return Err(Error::Format {
                found: self.format.clone(),
                expected: FORMAT.into(),
            });
        }
        self.verify_parameters()?;
        for index in 0..self.steps.len() {
            self.verify_step(index)?;
        }
        Ok(())
    }

    fn verify_parameters(&self) -> Result<()> {
        let p = &self.parameters;
        let check = |ok: bool, what, found: String, expected: &str| {
            if ok {
                Ok(())
            } else {
                Err(Error::Parameters {
                    what,
                    found,
                    expected: expected.into(),
                })
            }
        };
        check(
            p.n.is_power_of_two() && p.n <= MAX_DEGREE,
            "the ring degree",
            p.n.to_string(),
            "a power of two up to 2^17",
        )?;
        check(
            !p.q.is_empty() && !p.p.is_empty(),
            "the chain",
            "empty".into(),
            "at least one modulus",
        )?;
        check(
            (1..=MAX_BATCH).contains(&self.batch),
            "the batch",
            self.batch.to_string(),
            "1 to 32768",
        )?;
        let images: usize = self.placement.iter().map(Vec::len).sum();
        check(
            images == self.batch,
            "the number of placed images",
            images.to_string(),
            &format!("the batch of {}", self.batch),
        )?;
        let size = self.input.iter().try_fold(1usize, |s, &d| s.checked_mul(d));
        let fits = |start: usize| {
            size.and_then(|s| s.checked_add(start))
                .is_some_and(|end| end <= p.n)
        };
        for &start in self.placement.iter().flatten() {
            check(
                fits(start),
                "the place of an image",
                start.to_string(),
                "a place from which the image fits into the ring",
            )?;
        }
        Ok(())
    }

    fn verify_step(&self, index: usize) -> Result<()> {
        let step = &self.steps[index];
        let fail = |what, found: String, expected: String| {
            Err(Error::Step {
                step: index,
                op: step.op.name(),
                what,
                found,
                expected,
            })
        };
        for operand in step.op.operands() {
            if operand >= index {
                return fail(
                    "an operand",
                    format!("%{operand}"),
                    "a step before this one".into(),
                );
            }
        }
        if let Some(constant) = step.op.constant()
            && constant >= self.constants.len()
        {
            let limit = self.constants.len();
            return fail(
                "the constant",
                format!("@{constant}"),
                format!("one of {limit}"),
            );
        }
        if let Type::Ciphertext {
            level,
            noise_bits,
            form,
        } = step.ty
        {
            if level >= self.parameters.q.len() {
                return fail(
                    "the level",
                    level.to_string(),
                    "a level of the chain".into(),
                );
            }
            let bears = self.parameters.log_q(level) - 1.0 - 6f64.log2();
            if noise_bits.is_nan() || noise_bits > bears {
                return fail(
                    "the noise",
                    format!("2^{noise_bits:.1}"),
                    format!("at most 2^{bears:.1}"),
                );
            }
            if let Form::Slots(values) = form
                && (!values.is_power_of_two() || values > self.parameters.n)
            {
                return fail(
                    "the number of values",
                    values.to_string(),
                    "a power of two up to N".into(),
                );
            }
        }
        match self.verify_forms(step) {
            None => Ok(()),
            Some((what, found, expected)) => fail(what, found, expected),
        }
    }

    /// What is wrong with the forms, levels and sizes of a step.
    fn verify_forms(&self, step: &Step) -> Option<(&'static str, String, String)> {
        let n = self.parameters.n;
        let form = |value: usize| match self.steps[value].ty {
            Type::Ciphertext { form, level, .. } => Some((form, level)),
            Type::Samples => None,
        };
        let out = match step.ty {
            Type::Ciphertext { form, level, .. } => Some((form, level)),
            Type::Samples => None,
        };
        let kind = |ty: Option<(Form, usize)>| match ty {
            Some((Form::Coefficients, _)) => "coefficients",
            Some((Form::Slots(_), _)) => "slots",
            None => "samples",
        };
        let expect = |found: Option<(Form, usize)>, expected: &'static str, what| {
            (kind(found) != expected).then(|| (what, kind(found).to_string(), expected.to_string()))
        };
        let level_falls = |value: usize| match (form(value), out) {
            (Some((_, from)), Some((_, to))) if to > from => Some((
                "the level",
                to.to_string(),
                format!("at most the operand's {from}"),
            )),
            _ => None,
        };
        let below = |what, indices: &[usize], limit: usize| {
            indices
                .iter()
                .find(|&&i| i >= limit)
                .map(|i| (what, i.to_string(), format!("less than {limit}")))
        };
        let size = |what, found: usize, expected: usize| {
            (found != expected).then(|| (what, found.to_string(), expected.to_string()))
        };
        let values = |ty: Option<(Form, usize)>| match ty {
            Some((Form::Slots(values), _)) => values,
            _ => 0,
        };
        let constant = |id: usize| self.constants[id].values.len();
        match &step.op {
            Op::Input { index } => expect(out, "coefficients", "the value")
                .or_else(|| below("the input", &[*index], self.placement.len())),
            Op::MulCoefficients { value, factor } => {
                expect(form(*value), "coefficients", "the operand")
                    .or_else(|| expect(out, "coefficients", "the value"))
                    .or_else(|| level_falls(*value))
                    .or_else(|| {
                        below(
                            "the last coefficient of the factor",
                            &[constant(*factor).saturating_sub(1)],
                            n,
                        )
                    })
            }
            Op::AddCoefficients { value, term, at } => {
                expect(form(*value), "coefficients", "the operand")
                    .or_else(|| expect(out, "coefficients", "the value"))
                    .or_else(|| size("the number of terms", at.len(), constant(*term)))
                    .or_else(|| below("a coefficient", at, n))
            }
            Op::ToSamples { value } => expect(form(*value), "coefficients", "the operand")
                .or_else(|| expect(out, "samples", "the value")),
            Op::Pack {
                sources,
                samples,
                start_level,
            } => {
                let (count, room) = (samples.len(), values(out));
                let [which, at]: [Vec<usize>; 2] =
                    [0, 1].map(|k| samples.iter().map(|s| s[k]).collect());
                sources
                    .iter()
                    .find_map(|value| expect(form(*value), "samples", "the operand"))
                    .or_else(|| below("a source", &which, sources.len()))
                    .or_else(|| below("a coefficient", &at, n))
                    .or_else(|| expect(out, "slots", "the value"))
                    .or_else(|| {
                        below(
                            "the level it starts at",
                            &[*start_level],
                            self.parameters.q.len(),
                        )
                    })
                    .or_else(|| below("the number of samples", &[count], room + 1))
            }
            Op::Table {
                value,
                polynomial,
                shape,
            } => {
                let room = shape
                    .digits
                    .iter()
                    .product::<usize>()
                    .saturating_mul(shape.segments);
                let same = form(*value).map(|(f, _)| f) == out.map(|(f, _)| f);
                expect(form(*value), "slots", "the operand")
                    .or_else(|| {
                        (!same).then(|| ("the form", kind(out).into(), "the operand's".into()))
                    })
                    .or_else(|| level_falls(*value))
                    .or_else(|| {
                        below(
                            "the degree of the polynomial",
                            &[constant(*polynomial)],
                            room + 1,
                        )
                    })
            }
            Op::Dense {
                value,
                weights,
                inputs,
                rows,
            } => {
                let room = values(form(*value));
                let neurons = constant(*weights).checked_div(*inputs).unwrap_or(0);
                expect(form(*value), "slots", "the operand")
                    .or_else(|| expect(out, "coefficients", "the value"))
                    .or_else(|| level_falls(*value))
                    .or_else(|| below("the number of outputs", &[rows.len()], n / room.max(1) + 1))
                    .or_else(|| {
                        rows.iter().find_map(|r| {
                            below("a neuron", &[r.output], neurons)
                                .or_else(|| below("an image", &[r.image], self.batch))
                                .or_else(|| {
                                    below(
                                        "the last input of an image",
                                        &[(r.image + 1) * inputs],
                                        room + 1,
                                    )
                                })
                        })
                    })
            }
            Op::SlotsToCoefficients { value } => expect(form(*value), "slots", "the operand")
                .or_else(|| expect(out, "coefficients", "the value"))
                .or_else(|| level_falls(*value)),
            Op::Output { value, rows, at } => expect(form(*value), "coefficients", "the operand")
                .or_else(|| size("the number of coefficients", at.len(), rows.len()))
                .or_else(|| below("a coefficient", at, n))
                .or_else(|| {
                    rows.iter().find_map(|r| {
                        below("a class", &[r.output], self.classes)
                            .or_else(|| below("an image", &[r.image], self.batch))
                    })
                }),
        }
    }
}
