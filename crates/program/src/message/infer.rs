//! The result of each step: a bit, or integers with known ranges.

use super::ir::{Circuit, Input, Messages, Op, ValueId};
use std::fmt::{Display, Formatter};
use trace::reading::{Checked, Problem, check};

/// Largest absolute value of an integer. With it, sums of words are exact in 64 bits.
pub(super) const MAX_MAGNITUDE: i64 = 1 << 48;

/// The integers that a value can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The smallest integer.
    pub least: i64,
    /// The largest integer. It is at least the smallest.
    pub largest: i64,
}

impl Range {
    /// The range of the given integers. `None` if there are none.
    pub fn of(values: &[i64]) -> Option<Self> {
        let (least, largest) = (values.iter().min()?, values.iter().max()?);
        Some(Self {
            least: *least,
            largest: *largest,
        })
    }

    /// Number of integers.
    pub fn len(self) -> usize {
        (self.largest - self.least) as usize + 1
    }

    /// Returns false: a range always has an integer.
    pub fn is_empty(self) -> bool {
        false
    }

    /// The number that is added to an integer when it is output: the smallest multiple of the
    /// number of messages for which no result is negative. The message, which counts modulo that
    /// number, stays the same.
    pub fn offset(self, messages: Messages) -> i64 {
        let below = (-self.least).max(0);
        let unit = messages.messages();
        (below + unit - 1) / unit * unit
    }
}

impl Display for Range {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", self.least, self.largest)
    }
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// A bit.
    Bit,
    /// An integer.
    Integer(Range),
    /// The integers of a lookup, one for each table.
    Entries(Vec<Range>),
}

impl Display for Made {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bit => f.write_str("a bit"),
            Self::Integer(range) => write!(f, "an integer of {range}"),
            Self::Entries(ranges) => write!(f, "the entries of {} tables", ranges.len()),
        }
    }
}

/// The context from which the result of a new step is inferred: kind of messages, inputs, and the
/// results of the earlier steps.
pub(super) struct Known<'a> {
    pub(super) messages: Messages,
    pub(super) inputs: &'a [Input],
    pub(super) made: &'a [Made],
}

impl Known<'_> {
    fn of(&self, value: ValueId) -> Checked<&Made> {
        let expected = || format!("an earlier step: below %{}", self.made.len());
        self.made
            .get(value)
            .ok_or_else(|| Problem::new("an operand", format_args!("%{value}"), expected()))
    }

    fn bit(&self, value: ValueId) -> Checked<()> {
        match self.of(value)? {
            Made::Bit => Ok(()),
            found => Err(Problem::new("an operand", found, "a bit")),
        }
    }

    pub(super) fn integer(&self, value: ValueId) -> Checked<Range> {
        match self.of(value)? {
            Made::Integer(range) => Ok(*range),
            found => Err(Problem::new("an operand", found, "an integer")),
        }
    }

    /// Returns the result of an operation on earlier steps.
    pub(super) fn infer(&self, op: &Op) -> Checked<Made> {
        let gates = matches!(self.messages, Messages::Bits);
        match op {
            Op::Input { input, place } => {
                let found = self.inputs.get(*input).filter(|of| *place < of.len());
                let found = found.ok_or_else(|| {
                    let found = format_args!("{place} of input {input}").to_string();
                    Problem::new("the message", found, "one of an input")
                })?;
                Ok(match gates {
                    true => Made::Bit,
                    false => Made::Integer(Range {
                        least: 0,
                        largest: (1 << found.bits) - 1,
                    }),
                })
            }
            &Op::Constant { value } => {
                if gates {
                    let bit = value == 0 || value == 1;
                    check(bit, "the bit", value, || "0 or 1")?;
                    return Ok(Made::Bit);
                }
                let range = Range {
                    least: value,
                    largest: value,
                };
                self.bounded(range).map(Made::Integer)
            }
            Op::Not { .. } | Op::Gate { .. } | Op::Choose { .. } => {
                op.operands().into_iter().try_for_each(|v| self.bit(v))?;
                Ok(Made::Bit)
            }
            Op::Sum { constant, terms } => self.sum(*constant, terms),
            Op::Lookup { value, tables } => {
                let range = self.integer(*value)?;
                self.readable(range)?;
                let found = tables.len();
                check(found > 0, "the number of tables", found, || "at least 1")?;
                let ranges = tables.iter().map(|table| {
                    let (found, expected) = (table.len(), range.len());
                    check(found == expected, "the number of entries", found, || {
                        format!("{expected}, for values of {range}")
                    })?;
                    self.bounded(Range::of(table).expect("a range has an integer"))
                });
                Ok(Made::Entries(ranges.collect::<Checked<_>>()?))
            }
            &Op::Entry { lookup, table } => match self.of(lookup)? {
                Made::Entries(ranges) => {
                    let expected = || format!("below {}", ranges.len());
                    let found = ranges.get(table).copied();
                    let found =
                        found.ok_or_else(|| Problem::new("the table", table, expected()))?;
                    Ok(Made::Integer(found))
                }
                found => Err(Problem::new("an operand", found, "a lookup")),
            },
        }
    }

    fn sum(&self, constant: i64, terms: &[(i64, ValueId)]) -> Checked<Made> {
        let found = terms.len();
        check(found > 0, "the number of terms", found, || "at least 1")?;
        let (mut least, mut largest) = (i128::from(constant), i128::from(constant));
        for &(factor, value) in terms {
            let range = self.integer(value)?;
            let ends = [range.least, range.largest].map(|end| i128::from(factor) * i128::from(end));
            least += ends[0].min(ends[1]);
            largest += ends[0].max(ends[1]);
        }
        let narrow = |end: i128| end.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        self.bounded(Range {
            least: narrow(least),
            largest: narrow(largest),
        })
        .map(Made::Integer)
    }

    /// Refuses integers beyond [`MAX_MAGNITUDE`].
    fn bounded(&self, range: Range) -> Checked<Range> {
        let most = range.least.saturating_abs().max(range.largest);
        let fits = most <= MAX_MAGNITUDE;
        check(fits, "the range of an integer", range, || {
            format!("at most {MAX_MAGNITUDE} in magnitude")
        })?;
        Ok(range)
    }

    /// Refuses integers that a bootstrapping cannot distinguish.
    fn readable(&self, range: Range) -> Checked<()> {
        let most = self.messages.values();
        check(
            range.len() as i64 <= most,
            "the range of an integer that is looked up",
            format_args!("{range}, {} values", range.len()),
            || format!("at most {most} values: use a table on a part of it first"),
        )
    }

    /// Refuses values that no ciphertext can hold.
    pub(super) fn given_out(&self, value: ValueId) -> Checked<()> {
        let range = match self.of(value)? {
            Made::Bit => return Ok(()),
            Made::Integer(range) => *range,
            found => return Err(Problem::new("a result", found, "a bit or an integer")),
        };
        let offset = range.offset(self.messages);
        let most = self.messages.values() - 1;
        check(
            range.largest + offset <= most,
            "the range of a result",
            range,
            || match offset {
                0 => format!("at most {most}: use a table on it first"),
                _ => format!(
                    "at most {} above {}: use a table on it first",
                    most, -offset
                ),
            },
        )
    }
}

impl Circuit {
    /// Returns the result of each step.
    ///
    /// # Panics
    /// If the circuit is not [verified](Self::verify).
    pub fn made(&self) -> Vec<Made> {
        let mut made = Vec::with_capacity(self.steps.len());
        for op in &self.steps {
            let known = Known {
                messages: self.messages,
                inputs: &self.inputs,
                made: &made,
            };
            let next = known.infer(op).expect("a verified circuit has types");
            made.push(next);
        }
        made
    }
}
