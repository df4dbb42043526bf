//! Sums and tables with folding: a sum of sums becomes one sum, and constants become part of the
//! operations that read them.

use super::build::{Builder, Value};
use super::infer::MAX_MAGNITUDE;
use super::ir::{Op, ValueId};
use super::verify::refused;
use crate::error::Result;
use std::collections::BTreeMap;
use trace::reading::{Problem, check};

impl Builder {
    /// `constant + sum factor value`. It takes no bootstrapping. Integers are exact and may be
    /// negative.
    ///
    /// # Errors
    /// [`Error::Torus`](crate::Error::Torus) for operands that are not integers, and for ranges
    /// beyond `2^48`.
    pub fn sum(&mut self, constant: i64, terms: &[(i64, Value)]) -> Result<Value> {
        self.check_bits("sum", false)?;
        let mut sum = Linear::default();
        sum.add(1, constant)?;
        for &(factor, value) in terms {
            match value {
                Value::Constant(value) => sum.add(factor, value)?,
                Value::Step(id) => match self.step(id) {
                    Some(Op::Sum { constant, terms }) => {
                        sum.add(factor, *constant)?;
                        for &(inner, id) in terms {
                            sum.add_term(i128::from(factor) * i128::from(inner), id)?;
                        }
                    }
                    _ => sum.add_term(factor.into(), id)?,
                },
            }
        }
        let terms: Vec<(i64, ValueId)> = sum.terms.into_iter().map(|(id, f)| (f, id)).collect();
        match (sum.constant, terms.as_slice()) {
            (constant, []) => Ok(Value::Constant(constant)),
            (0, [(1, id)]) => Ok(Value::Step(*id)),
            (constant, _) => self.push(Op::Sum { constant, terms }),
        }
    }

    /// Looks up an integer in tables and returns the entries. All tables share one bootstrapping.
    /// Tables whose entries are all equal take none.
    ///
    /// A table has an entry for each integer of the [range](Self::range), starting with the
    /// smallest.
    ///
    /// # Errors
    /// [`Error::Torus`](crate::Error::Torus) for tables of another length, and for a range of more
    /// integers than a bootstrapping can distinguish.
    pub fn lookup(&mut self, value: Value, tables: &[Vec<i64>]) -> Result<Vec<Value>> {
        self.check_bits("lookup", false)?;
        let range = self.range(value)?;
        for table in tables {
            let (found, expected) = (table.len(), range.len());
            let checked = check(found == expected, "the number of entries", found, || {
                format!("{expected}, for values of {range}")
            });
            checked.map_err(refused("lookup"))?;
        }
        // A constant in the operand only moves its range.
        let value = match value {
            Value::Constant(_) => value,
            Value::Step(id) => match self.step(id) {
                Some(Op::Sum { constant, .. }) => self.sum(-constant, &[(1, value)])?,
                _ => value,
            },
        };
        let mut kept: Vec<Vec<i64>> = Vec::new();
        let places = tables.iter().map(|table| {
            if table.iter().all(|entry| *entry == table[0]) {
                return Err(table[0]);
            }
            let known = kept.iter().position(|other| other == table);
            Ok(known.unwrap_or_else(|| {
                kept.push(table.clone());
                kept.len() - 1
            }))
        });
        let places: Vec<std::result::Result<usize, i64>> = places.collect();
        let lookup = match value {
            Value::Step(value) if !kept.is_empty() => Some(self.push(Op::Lookup {
                value,
                tables: kept,
            })?),
            _ => None,
        };
        let entries = places.into_iter().map(|place| match (place, lookup) {
            (Ok(table), Some(Value::Step(lookup))) => self.push(Op::Entry { lookup, table }),
            (Ok(_), _) => unreachable!("an integer of one value has tables of one entry"),
            (Err(entry), _) => Ok(Value::Constant(entry)),
        });
        entries.collect()
    }
}

/// A sum under construction.
#[derive(Default)]
struct Linear {
    constant: i64,
    terms: BTreeMap<ValueId, i64>,
}

impl Linear {
    fn add(&mut self, factor: i64, value: i64) -> Result<()> {
        let sum = i128::from(factor) * i128::from(value) + i128::from(self.constant);
        self.constant = bounded("the constant of a sum", sum)?;
        Ok(())
    }

    /// Adds a term. Equal terms are merged, and left out if their factors cancel.
    fn add_term(&mut self, factor: i128, id: ValueId) -> Result<()> {
        let before = self.terms.remove(&id).unwrap_or(0);
        let factor = bounded("the factor of a term", factor + i128::from(before))?;
        if factor != 0 {
            self.terms.insert(id, factor);
        }
        Ok(())
    }
}

fn bounded(what: &str, found: i128) -> Result<i64> {
    let small = i64::try_from(found).ok();
    small
        .filter(|found| found.unsigned_abs() <= MAX_MAGNITUDE.unsigned_abs())
        .ok_or_else(|| {
            let expected = format!("at most {MAX_MAGNITUDE} in magnitude");
            refused("sum")(Problem::new(what, found, expected))
        })
}
