//! The operations on messages: names, operands, texts and bootstrappings, all from one table.

use super::ir::{Gate, ValueId};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter, Result};
use trace::language::{Language, Number, Operand, OperandPair, Value};

trace::operations! {
    /// An operation.
    #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub enum Op;

    /// Number of bootstrappings of the operation.
    pub fn bootstrappings(&self) -> usize;

    {
        /// A fresh message.
        Input = "input" {
            /// Index in [`Circuit::inputs`](super::Circuit::inputs).
            input: usize |
            /// Index of the message in the input.
            place: usize as PlaceOf,
        } => 0,
        /// A message that is publicly known.
        Constant = "constant" {
            /// 0 or 1, or an integer.
            value: i64 as Number("the message"),
        } => 0,
        /// The negated bit. It takes no bootstrapping.
        Not = "not" {
            /// A bit.
            value: ValueId as Value,
        } => 0,
        /// A gate. It takes one bootstrapping.
        Gate = "gate" [gate.name()] {
            /// The gate.
            gate: Gate as Unwritten,
            /// Left bit.
            left: ValueId as Value,
            /// Right bit.
            right: ValueId as Value,
        } => 1,
        /// `yes` if the condition is 1, otherwise `no`. It takes two bootstrappings.
        Choose = "choose" {
            /// A bit.
            condition: ValueId as Condition,
            /// A bit.
            yes: ValueId as Value,
            /// A bit.
            "else" no: ValueId as Value,
        } => 2,
        /// `constant + sum factor value`. It takes no bootstrapping.
        Sum = "sum" {
            /// The constant.
            constant: i64 |
            /// Factors and integers, at least one.
            terms: Vec<(i64, ValueId)> as Sum,
        } => 0,
        /// Looks an integer up in tables. All tables share one bootstrapping.
        Lookup = "lookup" {
            /// An integer.
            value: ValueId as Value,
            /// Entries of each table, from the smallest value of the integer's range to the
            /// largest. There is at least one table.
            "in" tables: Vec<Vec<i64>> as Tables,
        } => 1,
        /// The integer that a table gives.
        Entry = "entry" {
            /// A lookup.
            lookup: ValueId |
            /// Index of the table in the lookup.
            table: usize as EntryOf,
        } => 0,
    }
}

impl Op {
    /// Returns the same operation with other operands.
    pub(super) fn reading(mut self, of: impl Fn(ValueId) -> ValueId) -> Self {
        self.for_each_operand_mut(|value| *value = of(*value));
        self
    }
}

impl Language for Op {
    type Writing<'a> = ();
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.write(f, ())
    }
}

/// A message of an input: `0 of 1`. It names no value.
struct PlaceOf;

/// A gate. Its name is that of the operation.
struct Unwritten;

/// The condition of a choice: `%5:`.
struct Condition;

/// A sum of products and a constant: `2 %4 - %5 + 1`.
struct Sum;

/// Tables: `[0 1 2], [5 3 1]`.
struct Tables;

/// An entry of a lookup: `0 of %5`.
struct EntryOf;

impl OperandPair<Op, usize, usize> for PlaceOf {
    fn write(&self, f: &mut Formatter<'_>, (input, place): (&usize, &usize), (): ()) -> Result {
        write!(f, " {place} of {input}")
    }
}

impl Operand<Op, Gate> for Unwritten {
    fn write(&self, _: &mut Formatter<'_>, _: &Gate, (): ()) -> Result {
        Ok(())
    }
}

impl Operand<Op, ValueId> for Condition {
    fn write(&self, f: &mut Formatter<'_>, value: &ValueId, (): ()) -> Result {
        write!(f, " %{value}:")
    }

    fn visit(&self, value: &ValueId, visit: &mut impl FnMut(ValueId)) {
        visit(*value);
    }

    fn visit_mut(&self, value: &mut ValueId, visit: &mut impl FnMut(&mut ValueId)) {
        visit(value);
    }
}

impl OperandPair<Op, i64, Vec<(i64, ValueId)>> for Sum {
    fn write(
        &self,
        f: &mut Formatter<'_>,
        (constant, terms): (&i64, &Vec<(i64, ValueId)>),
        (): (),
    ) -> Result {
        for (i, &(factor, value)) in terms.iter().enumerate() {
            match (i, factor < 0) {
                (0, false) => {}
                (_, false) => f.write_str(" +")?,
                (_, true) => f.write_str(" -")?,
            }
            match factor.unsigned_abs() {
                1 => write!(f, " %{value}")?,
                size => write!(f, " {size} %{value}")?,
            }
        }
        match *constant {
            0 => Ok(()),
            below @ ..0 => write!(f, " - {}", -below),
            above => write!(f, " + {above}"),
        }
    }

    fn visit(&self, (_, terms): (&i64, &Vec<(i64, ValueId)>), visit: &mut impl FnMut(ValueId)) {
        terms.iter().map(|&(_, value)| value).for_each(visit);
    }

    fn visit_mut(
        &self,
        (_, terms): (&mut i64, &mut Vec<(i64, ValueId)>),
        visit: &mut impl FnMut(&mut ValueId),
    ) {
        terms.iter_mut().map(|(_, value)| value).for_each(visit);
    }
}

impl Operand<Op, Vec<Vec<i64>>> for Tables {
    fn write(&self, f: &mut Formatter<'_>, tables: &Vec<Vec<i64>>, (): ()) -> Result {
        for (i, table) in tables.iter().enumerate() {
            let entries: Vec<String> = table.iter().map(i64::to_string).collect();
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma} [{}]", entries.join(" "))?;
        }
        Ok(())
    }
}

impl OperandPair<Op, ValueId, usize> for EntryOf {
    fn write(&self, f: &mut Formatter<'_>, (lookup, table): (&ValueId, &usize), (): ()) -> Result {
        write!(f, " {table} of %{lookup}")
    }

    fn visit(&self, (lookup, _): (&ValueId, &usize), visit: &mut impl FnMut(ValueId)) {
        visit(*lookup);
    }

    fn visit_mut(
        &self,
        (lookup, _): (&mut ValueId, &mut usize),
        visit: &mut impl FnMut(&mut ValueId),
    ) {
        visit(lookup);
    }
}
