//! The parser of types, and of pairs of operands.

use super::ir::{Domain, Type, ValueId};
use super::limbs::Limbs;
use crate::reading::{Checked, Problem, check};
use crate::reading::{Words, marked, range, shown};
use std::ops::Range;

impl Words<'_> {
    /// Reads pairs of values, `%1 %2, %3 %4`.
    pub(super) fn pairs(&mut self) -> Checked<[Vec<ValueId>; 2]> {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        loop {
            left.push(self.value()?);
            let word = self.word("an operand")?;
            let last = word.strip_suffix(',');
            right.push(marked("an operand", last.unwrap_or(word), "%", "")?);
            if last.is_none() {
                return Ok([left, right]);
            }
        }
    }

    /// Reads numbers and types of new values, `%5: eval 0..3, %6: coeff 0..1`. The first number
    /// must be `first`.
    pub(super) fn types(&mut self, first: ValueId) -> Checked<Vec<Type>> {
        let mut types = Vec::with_capacity(1);
        loop {
            let (next, what) = (first + types.len(), "the number of a value");
            let word = self.word(what)?;
            let found: ValueId = marked(what, word, "%", ":")?;
            check(found == next, what, format_args!("%{found}"), || {
                format!("%{next}, the next one")
            })?;
            let domain = match self.word("the domain")? {
                "coeff" => Domain::Coeff,
                "eval" => Domain::Eval,
                word => return Err(Problem::new("the domain", shown(word), "coeff or eval")),
            };
            let word = self.word("the limbs")?;
            let more = word.strip_suffix(',');
            let limbs = limbs(more.unwrap_or(word))?;
            types.push(Type { domain, limbs });
            if more.is_none() {
                return Ok(types);
            }
        }
    }
}

/// Reads ranges in order, `0..13,25..28`. They neither overlap nor touch.
fn limbs(word: &str) -> Checked<Limbs> {
    let refused = || {
        let expected = "ranges as 0..3,5..6 in order, apart from each other";
        Problem::new("the limbs", shown(word), expected)
    };
    let mut ranges = Vec::with_capacity(1);
    for word in word.split(',') {
        let range = range("the limbs", word).map_err(|_| refused())?;
        let after = |last: &Range<usize>| last.end < range.start;
        if !ranges.last().is_none_or(after) {
            return Err(refused());
        }
        ranges.push(range);
    }
    Ok(Limbs::new(ranges))
}
