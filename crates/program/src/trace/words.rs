//! The words of a line of text.

use super::ir::{Constant, ConstantId, Domain, Type, ValueId};
use super::limbs::Limbs;
use super::place::{Checked, Problem, check};
use std::fmt::Display;
use std::str::{FromStr, SplitAsciiWhitespace};

/// Characters of a word that an error shows.
const SHOWN: usize = 60;

/// The words of a line that are not read yet.
pub(crate) struct Words<'a> {
    rest: SplitAsciiWhitespace<'a>,
    /// A word that was looked at.
    seen: Option<&'a str>,
}

impl<'a> Words<'a> {
    pub(crate) fn new(line: &'a str) -> Self {
        Self {
            rest: line.split_ascii_whitespace(),
            seen: None,
        }
    }

    pub(crate) fn next(&mut self) -> Option<&'a str> {
        self.seen.take().or_else(|| self.rest.next())
    }

    pub(crate) fn peek(&mut self) -> Option<&'a str> {
        self.seen = self.next();
        self.seen
    }

    /// The next word, which must be there.
    pub(crate) fn word(&mut self, what: &str) -> Checked<&'a str> {
        let word = self.next();
        word.ok_or_else(|| Problem::new(what, "the end of the line", "a word"))
    }

    /// Reads a given word.
    pub(crate) fn expect(&mut self, expected: &str) -> Checked<()> {
        let word = self.next();
        let found = shown(word.unwrap_or("the end of the line"));
        check(word == Some(expected), "the next word", found, || {
            format!("`{expected}`")
        })
    }

    pub(crate) fn end(&mut self) -> Checked<()> {
        match self.next() {
            None => Ok(()),
            Some(word) => Err(Problem::new("the next word", shown(word), "none")),
        }
    }

    pub(crate) fn number<T: FromStr>(&mut self, what: &str) -> Checked<T> {
        number(what, self.word(what)?)
    }

    /// All numbers up to a word, or the end of the line, that begins otherwise.
    pub(crate) fn numbers<T: FromStr>(&mut self, what: &str) -> Checked<Vec<T>> {
        let mut numbers = Vec::new();
        while let Some(word) = self.peek() {
            let number_begins = word.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            if !number_begins || word.contains('^') {
                break;
            }
            numbers.push(number(what, word)?);
            self.seen = None;
        }
        numbers.shrink_to_fit();
        Ok(numbers)
    }

    /// Odd moduli, then exponents of powers of two: `97 193 2^64`.
    pub(crate) fn moduli(&mut self) -> Checked<(Vec<u64>, Vec<u32>)> {
        let moduli = self.numbers("a modulus")?;
        let mut powers = Vec::new();
        while let Some(word) = self.next() {
            powers.push(marked("a power of two", word, "2^", "")?);
        }
        Ok((moduli, powers))
    }

    /// The number of a value, `%5`.
    pub(crate) fn value(&mut self) -> Checked<ValueId> {
        let word = self.word("an operand")?;
        marked("an operand", word, "%", "")
    }

    /// All values up to a word, or the end of the line, that begins otherwise.
    pub(crate) fn values(&mut self) -> Checked<Vec<ValueId>> {
        let mut values = Vec::new();
        while self.peek().is_some_and(|word| word.starts_with('%')) {
            values.push(self.value()?);
        }
        values.shrink_to_fit();
        Ok(values)
    }

    /// Pairs of values, `%1 %2, %3 %4`.
    pub(crate) fn pairs(&mut self) -> Checked<[Vec<ValueId>; 2]> {
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

    /// The number of a constant, `@5`.
    pub(crate) fn constant(&mut self) -> Checked<ConstantId> {
        let word = self.word("the constant")?;
        marked("the constant", word, "@", "")
    }

    /// A definition of the constant of a number: `@5 = list 1 -2`.
    pub(crate) fn definition(&mut self, next: ConstantId) -> Checked<Constant> {
        let found = self.constant()?;
        let what = "the number of a constant";
        check(found == next, what, format_args!("@{found}"), || {
            format!("@{next}, the next one")
        })?;
        self.expect("=")?;
        let constant = match self.word("the kind of the constant")? {
            "words" => Constant::Words(self.numbers("a word")?),
            "list" => Constant::List(self.numbers("an integer of the list")?),
            "sparse" => Constant::Sparse(self.sparse()?),
            "repeat" => {
                let run = self.word("the run")?;
                let run = marked("the run", run, "", ":")?;
                let values = self.numbers("a value")?;
                Constant::Repeat { run, values }
            }
            "turn" => Constant::Turn {
                steps: self.number("the number of steps")?,
                of: self.constant()?,
            },
            kind => {
                let expected = "words, sparse, repeat, turn or list";
                let what = "the kind of the constant";
                return Err(Problem::new(what, shown(kind), expected));
            }
        };
        self.end()?;
        Ok(constant)
    }

    /// Places and words, `0:5 15:-3`.
    fn sparse(&mut self) -> Checked<Vec<(usize, i64)>> {
        let mut pairs = Vec::new();
        while let Some(word) = self.next() {
            let Some((place, value)) = word.split_once(':') else {
                return Err(Problem::new("a word", shown(word), "place:word"));
            };
            pairs.push((number("a place", place)?, number("a word", value)?));
        }
        pairs.shrink_to_fit();
        Ok(pairs)
    }

    /// Numbers and types of new values, `%5: eval 0..3, %6: coeff 0..1`, of which `first` is the first.
    pub(crate) fn types(&mut self, first: ValueId) -> Checked<Vec<Type>> {
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

/// Ranges in order that neither overlap nor touch, `0..13,25..28`.
fn limbs(word: &str) -> Checked<Limbs> {
    let refused = || {
        let expected = "ranges as 0..3,5..6 in order, apart from each other";
        Problem::new("the limbs", shown(word), expected)
    };
    let mut ranges = Vec::with_capacity(1);
    for range in word.split(',') {
        let (start, end) = range.split_once("..").ok_or_else(refused)?;
        let (start, end): (usize, usize) = (number("a limb", start)?, number("a limb", end)?);
        let after = ranges
            .last()
            .is_none_or(|last: &std::ops::Range<usize>| last.end < start);
        if start >= end || !after {
            return Err(refused());
        }
        ranges.push(start..end);
    }
    Ok(Limbs::new(ranges))
}

/// The number between two marks.
pub(crate) fn marked<T: FromStr>(what: &str, word: &str, before: &str, after: &str) -> Checked<T> {
    let inner = word.strip_prefix(before);
    let inner = inner.and_then(|word| word.strip_suffix(after));
    inner.and_then(|word| word.parse().ok()).ok_or_else(|| {
        let expected = format!("a number as {before}5{after}");
        Problem::new(what, shown(word), expected)
    })
}

pub(crate) fn number<T: FromStr>(what: &str, word: &str) -> Checked<T> {
    let refused = |_| {
        let bits = 8 * size_of::<T>();
        let expected = format!("an integer in decimal digits, of at most {bits} bits");
        Problem::new(what, shown(word), expected)
    };
    word.parse().map_err(refused)
}

/// A word as errors show it.
pub(crate) fn shown(word: &str) -> impl Display {
    match word.char_indices().nth(SHOWN) {
        None => format!("`{word}`"),
        Some((end, _)) => format!("`{}..`", &word[..end]),
    }
}
