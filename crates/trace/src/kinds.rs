//! Kinds of operands that only traces have.

use super::ir::{ConstantId, ModulusId, Op, SubId, Trace, Type, ValueId};
use super::limbs::Limbs;
use crate::language::{Language, Operand, OperandPair, ReadLanguage, ReadOperand, ReadOperandPair};
use crate::reading::{Checked, Problem, Words, check, shown};
use std::collections::HashMap;
use std::fmt::{Formatter, Result};

/// The context of a line for the parser, besides its words.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// Earlier sub-traces by name.
    pub(super) subs: &'a HashMap<&'a str, SubId>,
    /// Stated types of the results.
    pub(super) types: &'a [Type],
}

impl Language for Op {
    type Writing<'a> = &'a Trace;
}

impl ReadLanguage for Op {
    type Reading<'a> = Line<'a>;
}

/// The type of the result, its limbs, or its only limb: the line states it before the operation.
pub(super) struct Stated;

/// Pairs of values: `%1 %2, %3 %4`.
pub(super) struct Pairs;

/// Entries of a mask and the gap between them, or nothing: `entries @5 gap 3`.
pub(super) struct Entries;

/// A sub-trace, by its name.
pub(super) struct SubTrace;

impl Line<'_> {
    /// The only stated type.
    fn ty(&self) -> Checked<&Type> {
        match self.types {
            [ty] => Ok(ty),
            types => Err(Problem::new("the number of results", types.len(), "1")),
        }
    }
}

impl<T> Operand<Op, T> for Stated {
    fn write(&self, _: &mut Formatter<'_>, _: &T, _: &Trace) -> Result {
        Ok(())
    }
}

impl ReadOperand<Op, Type> for Stated {
    fn read(&self, _: &mut Words<'_>, line: Line<'_>) -> Checked<Type> {
        line.ty().cloned()
    }
}

impl ReadOperand<Op, Limbs> for Stated {
    fn read(&self, _: &mut Words<'_>, line: Line<'_>) -> Checked<Limbs> {
        Ok(line.ty()?.limbs.clone())
    }
}

impl ReadOperand<Op, ModulusId> for Stated {
    fn read(&self, _: &mut Words<'_>, line: Line<'_>) -> Checked<ModulusId> {
        let limbs = &line.ty()?.limbs;
        let what = "the number of limbs of the result";
        check(limbs.len() == 1, what, limbs.len(), || "1")?;
        Ok(limbs.ranges()[0].start)
    }
}

impl OperandPair<Op, Vec<ValueId>, Vec<ValueId>> for Pairs {
    fn write(
        &self,
        f: &mut Formatter<'_>,
        (left, right): (&Vec<ValueId>, &Vec<ValueId>),
        _: &Trace,
    ) -> Result {
        for (index, (left, right)) in left.iter().zip(right).enumerate() {
            f.write_str(if index > 0 { ", %" } else { " %" })?;
            write!(f, "{left} %{right}")?;
        }
        Ok(())
    }

    fn visit(
        &self,
        (left, right): (&Vec<ValueId>, &Vec<ValueId>),
        visit: &mut impl FnMut(ValueId),
    ) {
        left.iter().chain(right).copied().for_each(visit);
    }

    fn visit_mut(
        &self,
        (left, right): (&mut Vec<ValueId>, &mut Vec<ValueId>),
        visit: &mut impl FnMut(&mut ValueId),
    ) {
        left.iter_mut().chain(right).for_each(visit);
    }
}

impl ReadOperandPair<Op, Vec<ValueId>, Vec<ValueId>> for Pairs {
    fn read(&self, words: &mut Words<'_>, _: Line<'_>) -> Checked<(Vec<ValueId>, Vec<ValueId>)> {
        words.pairs().map(|[left, right]| (left, right))
    }
}

impl Operand<Op, Option<(ConstantId, usize)>> for Entries {
    fn write(
        &self,
        f: &mut Formatter<'_>,
        stored: &Option<(ConstantId, usize)>,
        _: &Trace,
    ) -> Result {
        match stored {
            Some((entries, gap)) => write!(f, " entries @{entries} gap {gap}"),
            None => Ok(()),
        }
    }
}

impl ReadOperand<Op, Option<(ConstantId, usize)>> for Entries {
    fn read(&self, words: &mut Words<'_>, _: Line<'_>) -> Checked<Option<(ConstantId, usize)>> {
        if words.peek().is_none() {
            return Ok(None);
        }
        words.expect("entries")?;
        Ok(Some((words.constant()?, words.named("gap")?)))
    }
}

impl Operand<Op, SubId> for SubTrace {
    fn write(&self, f: &mut Formatter<'_>, sub: &SubId, trace: &Trace) -> Result {
        match trace.subs.get(*sub) {
            Some(sub) => write!(f, " {}", sub.name),
            None => write!(f, " number {sub}, which there is not"),
        }
    }
}

impl ReadOperand<Op, SubId> for SubTrace {
    fn read(&self, words: &mut Words<'_>, line: Line<'_>) -> Checked<SubId> {
        let name = words.word("the sub-trace")?;
        line.subs.get(name).copied().ok_or_else(|| {
            let expected = "the name of a sub-trace that stands before";
            Problem::new("the sub-trace", shown(name), expected)
        })
    }
}
