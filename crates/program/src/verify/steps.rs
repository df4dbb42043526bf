//! Checks of single steps.

use crate::error::{Error, Result};
use crate::ir::{
    Form, Indices, MAX_LOG2_FAILURE, Op, Packed, Program, Row, Step, TableShape, Term, Type,
    ValueId,
};
use crate::terms::{MAX_FLOOD, inputs};

/// Largest digit of a table's exponent. Each power up to it is a ciphertext that is held during the
/// table.
const MAX_DIGIT: usize = 1 << 7;
/// Largest number of coefficients for which a shape may have room: twice that of `Z_65537`.
const MAX_ROOM: usize = 1 << 17;
/// Largest number of products, or of samples, in one sum.
pub const MAX_TERMS: usize = 1 << 10;
/// Bound of the index of a layer's output.
const MAX_OUTPUT: usize = 1 << 30;
/// Longest predicted time of a step, in seconds.
const MAX_SECONDS: f64 = 1e9;

/// A problem of a step, as the fields `what`, `found` and `expected` of [`Error::Step`].
type Problem = (&'static str, String, String);

/// Form and level of a ciphertext. `None` for samples.
type Kind = Option<(Form, usize)>;

impl Program {
    pub(super) fn verify_step(&self, index: usize) -> Result<()> {
        let step = &self.steps[index];
        let problem = self
            .operand_problem(index)
            .or_else(|| self.merged_problem(index))
            .or_else(|| self.type_problem(step))
            .or_else(|| self.op_problem(index));
        match problem {
            None => Ok(()),
            Some((what, found, expected)) => Err(Error::Step {
                step: index,
                op: step.op.name(),
                what,
                found,
                expected,
            }),
        }
    }

    fn inputs(&self) -> usize {
        inputs(&self.placement, self.interleaved, self.input)
    }

    /// Checks that operands are earlier steps, and that constants exist.
    fn operand_problem(&self, index: usize) -> Option<Problem> {
        let op = &self.steps[index].op;
        let late = op.operands().into_iter().find(|&value| value >= index);
        let operand = late.map(|value| {
            let found = format!("%{value}");
            ("an operand", found, "a step before this one".to_owned())
        });
        let limit = self.constants.len();
        operand.or_else(|| {
            let missing = op.constants().into_iter().find(|&c| c >= limit)?;
            let found = format!("@{missing}");
            Some(("the constant", found, format!("less than @{limit}")))
        })
    }

    /// Checks that only outputs read merged values. Other steps take their operands for messages of
    /// factor 1.
    fn merged_problem(&self, index: usize) -> Option<Problem> {
        let op = &self.steps[index].op;
        if matches!(op, Op::Output { .. }) {
            return None;
        }
        let is_merged = |&value: &ValueId| matches!(self.steps[value].op, Op::Merge { .. });
        let merged = op.operands().into_iter().find(is_merged)?;
        let found = format!("%{merged}, which is merged");
        Some(("an operand", found, "a value of factor 1".to_owned()))
    }

    /// Checks level and noise of a ciphertext, number of values in slots, and predicted seconds.
    fn type_problem(&self, step: &Step) -> Option<Problem> {
        if !(0.0..=MAX_SECONDS).contains(&step.seconds) {
            let expected = format!("0 to {MAX_SECONDS:e}");
            return Some(("the predicted time", step.seconds.to_string(), expected));
        }
        let Type::Ciphertext {
            level,
            noise_bits,
            form,
        } = step.ty
        else {
            return None;
        };
        if let Some(problem) = below("the level", level, self.parameters.q.len()) {
            return Some(problem);
        }
        let deviations = deviations(self.parameters.n);
        let bears = self.parameters.log_q(level) - 1.0 - deviations.log2();
        if !noise_bits.is_finite() || noise_bits > bears {
            let (found, expected) = (
                format!("2^{noise_bits:.1}"),
                format!("at most 2^{bears:.1}"),
            );
            return Some(("the noise", found, expected));
        }
        match form {
            Form::Slots(values) if !values.is_power_of_two() || values > self.parameters.n => {
                let expected = "a power of two up to N".to_owned();
                Some(("the number of values", values.to_string(), expected))
            }
            _ => None,
        }
    }

    fn kind(&self, value: ValueId) -> Kind {
        match self.steps[value].ty {
            Type::Ciphertext { form, level, .. } => Some((form, level)),
            Type::Samples => None,
        }
    }

    fn constant_len(&self, id: usize) -> usize {
        self.constants[id].values.len()
    }

    fn op_problem(&self, index: usize) -> Option<Problem> {
        let (step, out) = (&self.steps[index], self.kind(index));
        let n = self.parameters.n;
        let from =
            |value: ValueId, form: &'static str| expect(self.kind(value), form, "the operand");
        let to = |form: &'static str| expect(out, form, "the value");
        let keeps_level = |value: ValueId| self.level_problem(value, out, true);
        let may_fall = |value: ValueId| self.level_problem(value, out, false);
        match &step.op {
            Op::Input { index } => to("coefficients")
                .or_else(|| below("the input", *index, self.inputs()))
                .or_else(|| self.input_level_problem(out)),
            Op::MulCoefficients { terms } => to("coefficients")
                .or_else(|| within("the number of products", terms.len(), 1, MAX_TERMS))
                .or_else(|| terms.iter().find_map(|term| self.term_problem(term, out))),
            Op::AddCoefficients { value, term, at } => from(*value, "coefficients")
                .or_else(|| to("coefficients"))
                .or_else(|| keeps_level(*value))
                .or_else(|| match self.constant_len(*term) {
                    1 => None,
                    terms => size("the number of terms", terms, self.constant_len(*at)),
                })
                .or_else(|| self.places_problem("a coefficient", *at, n)),
            Op::ToSamples { value } => from(*value, "coefficients").or_else(|| to("samples")),
            Op::Pack {
                sources,
                values: packed,
                start_level,
            } => sources
                .iter()
                .find_map(|&value| from(value, "samples"))
                .or_else(|| to("slots"))
                .or_else(|| self.packed_problem(packed, sources.len(), values(out)))
                .or_else(|| {
                    let limbs = self.parameters.q.len();
                    below("the level it starts at", *start_level, limbs)
                })
                .or_else(|| {
                    let fewest = n / self.parameters.lwe_dimension;
                    within("the number of values", values(out), fewest, n)
                }),
            Op::PackAll {
                value,
                outputs,
                batch,
                start_level,
            } => from(*value, "samples")
                .or_else(|| to("slots"))
                .or_else(|| size("the number of values", values(out), n))
                .or_else(|| within("the images of a strip", *batch, 1, self.batch))
                .or_else(|| within("the number of strips", outputs.len(), 1, n / batch))
                .or_else(|| all_below("an output", outputs.iter().copied(), MAX_OUTPUT))
                .or_else(|| {
                    let limbs = self.parameters.q.len();
                    below("the level it starts at", *start_level, limbs)
                }),
            Op::Table {
                value,
                polynomial,
                shape,
                indices,
            } => from(*value, "slots")
                .or_else(|| to("slots"))
                .or_else(|| {
                    size(
                        "the number of values",
                        values(out),
                        values(self.kind(*value)),
                    )
                })
                .or_else(|| may_fall(*value))
                .or_else(|| shape_problem(shape, self.constant_len(*polynomial), n / values(out)))
                .or_else(|| self.indices_problem(indices)),
            Op::Product { left, right } => from(*left, "slots")
                .or_else(|| from(*right, "slots"))
                .or_else(|| to("slots"))
                .or_else(|| {
                    [*left, *right].into_iter().find_map(|factor| {
                        let room = values(self.kind(factor));
                        size("the number of values of a factor", room, values(out))
                            .or_else(|| may_fall(factor))
                    })
                }),
            Op::Dense {
                value,
                weights,
                inputs,
                rows,
            } => from(*value, "slots")
                .or_else(|| to("coefficients"))
                .or_else(|| may_fall(*value))
                .or_else(|| {
                    let room = values(self.kind(*value));
                    self.dense_problem(room, self.constant_len(*weights), *inputs, rows)
                }),
            Op::SlotsToCoefficients { value, kept } => from(*value, "slots")
                .or_else(|| kept_problem(*kept, n))
                .or_else(|| to("coefficients"))
                .or_else(|| may_fall(*value)),
            Op::Merge { sources } => to("coefficients")
                .or_else(|| within("the number of sources", sources.len(), 1, n.min(MAX_TERMS)))
                .or_else(|| {
                    sources.iter().find_map(|source| {
                        from(source.value, "coefficients")
                            .or_else(|| keeps_level(source.value))
                            .or_else(|| below("the distance of a source", source.back, n))
                    })
                }),
            Op::Output {
                value,
                rows,
                at,
                flood,
            } => from(*value, "coefficients")
                .or_else(|| to("coefficients"))
                .or_else(|| keeps_level(*value))
                .or_else(|| size("the number of coefficients", at.len(), rows.len()))
                .or_else(|| all_below("a coefficient", at.iter().copied(), n))
                .or_else(|| {
                    let bits = flood.map_or(0, |flood| flood.bits as usize);
                    within("the bits of the flood", bits, 0, MAX_FLOOD)
                })
                .or_else(|| all_below("a class", rows.iter().map(|r| r.output), self.classes))
                .or_else(|| all_below("an image", rows.iter().map(|r| r.image), self.batch)),
        }
    }

    fn indices_problem(&self, indices: &Indices) -> Option<Problem> {
        let half = (self.parameters.t / 2) as i64;
        let &Indices { bound, border } = indices;
        let outside = |what, found: i64, min: i64, max: i64| {
            let expected = format!("{min} to {max}");
            (!(min..=max).contains(&found)).then(|| (what, found.to_string(), expected))
        };
        outside("the bound of a table", bound, 1, half)
            .or_else(|| outside("the border of a table", border, bound, half))
    }

    fn term_problem(&self, term: &Term, out: Kind) -> Option<Problem> {
        let len = self.constant_len(term.weights);
        expect(self.kind(term.value), "coefficients", "the operand")
            .or_else(|| self.level_problem(term.value, out, false))
            .or_else(|| {
                let most = self.parameters.n;
                within("the number of weights of a product", len, 1, most)
            })
            .or_else(|| {
                let exponents = self.constant_len(term.exponents);
                size("the number of exponents", exponents, len)
            })
            .or_else(|| self.places_problem("an exponent", term.exponents, 2 * self.parameters.n))
    }

    /// Checks that the entries of a constant are places below `limit`.
    fn places_problem(&self, what: &'static str, id: usize, limit: usize) -> Option<Problem> {
        let mut places = self.constants[id].values.iter();
        let found = places.find(|place| !(0..limit as i64).contains(place))?;
        Some((what, found.to_string(), format!("0 to {}", limit - 1)))
    }

    fn packed_problem(&self, packed: &[Packed], sources: usize, room: usize) -> Option<Problem> {
        let samples = || packed.iter().flat_map(|p| &p.3);
        let summed = packed.iter().map(|p| p.3.len()).max().unwrap_or(1);
        all_below("a slot", packed.iter().map(|p| p.0), room)
            .or_else(|| {
                let twice = packed.windows(2).find(|pair| pair[0].0 >= pair[1].0)?;
                let expected = format!("more than {}, the one before it", twice[0].0);
                Some(("a slot in order", twice[1].0.to_string(), expected))
            })
            .or_else(|| all_below("an image", packed.iter().map(|p| p.1), self.batch))
            .or_else(|| within("the number of samples of a value", summed, 0, MAX_TERMS))
            .or_else(|| all_below("a source", samples().map(|s| s[0]), sources))
            .or_else(|| all_below("a coefficient", samples().map(|s| s[1]), self.parameters.n))
    }

    /// Checks the level of a value that is made from `value`.
    fn level_problem(&self, value: ValueId, out: Kind, kept: bool) -> Option<Problem> {
        let ((_, from), (_, to)) = (self.kind(value)?, out?);
        let words = if kept {
            "the operand's"
        } else {
            "at most the operand's"
        };
        let wrong = if kept { to != from } else { to > from };
        wrong.then(|| ("the level", to.to_string(), format!("{words} {from}")))
    }

    /// Checks that the client encrypts all its ciphertexts at one level.
    fn input_level_problem(&self, out: Kind) -> Option<Problem> {
        let first = self
            .steps
            .iter()
            .position(|s| matches!(s.op, Op::Input { .. }))?;
        let ((_, expected), (_, found)) = (self.kind(first)?, out?);
        size("the level", found, expected)
    }

    fn dense_problem(
        &self,
        room: usize,
        weights: usize,
        inputs: usize,
        rows: &[Row],
    ) -> Option<Problem> {
        // Each output takes one copy of the values, and a product takes at least two copies.
        let copies = self.parameters.n / room;
        within("the number of copies of a value", copies, 2, usize::MAX)
            .or_else(|| within("the number of outputs", rows.len(), 1, copies))
            .or_else(|| within("the number of inputs", inputs, 1, room))
            .or_else(|| all_below("a neuron", rows.iter().map(|r| r.output), weights / inputs))
            .or_else(|| all_below("an image", rows.iter().map(|r| r.image), self.batch))
            .or_else(|| {
                let ends = rows.iter().map(|r| (r.image + 1) * inputs - 1);
                all_below("the last input of an image", ends, room)
            })
    }
}

/// Checks a shape. Each of the first two digits must be at least two. With segments, their number
/// and these digits must be powers of two, and the third digit must be 1.
fn shape_problem(shape: &TableShape, len: usize, copies: usize) -> Option<Problem> {
    let [k0, k1, k2] = shape.digits;
    let digits = || format!("{:?}", shape.digits);
    let segmented = shape.segments != 1;
    within("a digit of the table", k0, 2, MAX_DIGIT)
        .or_else(|| within("a digit of the table", k1, 2, MAX_DIGIT))
        .or_else(|| within("a digit of the table", k2, 1, MAX_DIGIT))
        .or_else(|| within("the number of segments", shape.segments, 1, copies))
        .or_else(|| {
            let wrong = segmented && !shape.segments.is_power_of_two();
            let found = shape.segments.to_string();
            wrong.then(|| ("the number of segments", found, "a power of two".into()))
        })
        .or_else(|| {
            let fits = k0.is_power_of_two() && k1.is_power_of_two() && k2 == 1;
            let expected = "two powers of two and 1, as there are segments";
            (segmented && !fits).then(|| ("the digits of the table", digits(), expected.into()))
        })
        .or_else(|| {
            let room = shape.segments * k0 * k1 * k2;
            within("the coefficients of the shape", room, 4, MAX_ROOM)
                .or_else(|| within("the coefficients of the polynomial", len, 1, room))
        })
}

/// Checks a range of coefficients that are kept.
fn kept_problem(kept: Option<[usize; 2]>, n: usize) -> Option<Problem> {
    let [from, to] = kept?;
    let expected = format!("a first one, and one after the last, up to {n}");
    let wrong = from >= to || to > n;
    wrong.then(|| {
        (
            "the coefficients that are kept",
            format!("{from} to {to}"),
            expected,
        )
    })
}

/// Number of deviations of noise that must fit for each of `n` coefficients of a ciphertext, so
/// that one ciphertext does not make a run fail too often. For a normal `x`,
/// `P(|x| > d) < sqrt(2 / pi) exp(-d^2 / 2) / d`.
fn deviations(n: usize) -> f64 {
    let log2_failure = |d: f64| {
        let density = std::f64::consts::FRAC_2_PI.log2() / 2.0 - d.log2();
        (n as f64).log2() + density - d * d / 2.0 * std::f64::consts::LOG2_E
    };
    let steps = (100..).map(|step| f64::from(step) / 100.0);
    let mut enough = steps.skip_while(|&d| log2_failure(d) > MAX_LOG2_FAILURE);
    enough.next().expect("the probability falls")
}

fn expect(found: Kind, expected: &'static str, what: &'static str) -> Option<Problem> {
    let found = match found {
        Some((Form::Coefficients, _)) => "coefficients",
        Some((Form::Slots(_), _)) => "slots",
        None => "samples",
    };
    (found != expected).then(|| (what, found.to_owned(), expected.to_owned()))
}

/// Number of values in slots. 1 for other forms, so that it can be a divisor.
fn values(kind: Kind) -> usize {
    match kind {
        Some((Form::Slots(values), _)) => values,
        _ => 1,
    }
}

fn below(what: &'static str, found: usize, limit: usize) -> Option<Problem> {
    (found >= limit).then(|| (what, found.to_string(), format!("less than {limit}")))
}

fn all_below(
    what: &'static str,
    mut found: impl Iterator<Item = usize>,
    limit: usize,
) -> Option<Problem> {
    found.find_map(|found| below(what, found, limit))
}

fn within(what: &'static str, found: usize, min: usize, max: usize) -> Option<Problem> {
    let expected = match max {
        usize::MAX => format!("at least {min}"),
        _ => format!("{min} to {max}"),
    };
    (!(min..=max).contains(&found)).then(|| (what, found.to_string(), expected))
}

fn size(what: &'static str, found: usize, expected: usize) -> Option<Problem> {
    (found != expected).then(|| (what, found.to_string(), expected.to_string()))
}
