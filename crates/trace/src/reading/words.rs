//! The words of a line of text.

use super::problem::{Checked, Problem};
use crate::ir::{ConstantId, ValueId};
use std::fmt::Display;
use std::ops::Range;
use std::str::{FromStr, SplitAsciiWhitespace};

/// Largest number of characters of a word in an error.
const SHOWN: usize = 60;

/// The words of a line that were not read yet.
pub struct Words<'a> {
    rest: SplitAsciiWhitespace<'a>,
    /// A word that was read in advance.
    seen: Option<&'a str>,
}

impl<'a> Words<'a> {
    /// The words of `line`, separated by white space.
    pub fn new(line: &'a str) -> Self {
        Self {
            rest: line.split_ascii_whitespace(),
            seen: None,
        }
    }

    /// Returns the next word, if there is one.
    pub fn next_word(&mut self) -> Option<&'a str> {
        self.seen.take().or_else(|| self.rest.next())
    }

    /// Returns the next word without taking it.
    pub fn peek(&mut self) -> Option<&'a str> {
        self.seen = self.next_word();
        self.seen
    }

    /// Returns the next word. It must exist.
    pub fn word(&mut self, what: &str) -> Checked<&'a str> {
        let word = self.next_word();
        word.ok_or_else(|| Problem::new(what, "the end of the line", "a word"))
    }

    /// Reads a word that must be `expected`.
    pub fn expect(&mut self, expected: &str) -> Checked<()> {
        let word = self.next_word();
        if word == Some(expected) {
            return Ok(());
        }
        let found = shown(word.unwrap_or("the end of the line"));
        Err(Problem::new(
            "the next word",
            found,
            format!("`{expected}`"),
        ))
    }

    /// Refuses words that are left.
    pub fn end(&mut self) -> Checked<()> {
        match self.next_word() {
            None => Ok(()),
            Some(word) => Err(Problem::new("the next word", shown(word), "none")),
        }
    }

    /// Reads the next word as a number. `what` names the number in an error.
    pub fn number<T: FromStr>(&mut self, what: &str) -> Checked<T> {
        number(what, self.word(what)?)
    }

    /// Reads a number after its name.
    pub fn named<T: FromStr>(&mut self, name: &str) -> Checked<T> {
        self.expect(name)?;
        self.number(name)
    }

    /// Reads all numbers up to the first word that begins otherwise, or to the end of the line.
    pub fn numbers<T: FromStr>(&mut self, what: &str) -> Checked<Vec<T>> {
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

    /// Reads odd moduli, then exponents of powers of two: `97 193 2^64`.
    pub fn moduli(&mut self) -> Checked<(Vec<u64>, Vec<u32>)> {
        let moduli = self.numbers("a modulus")?;
        let mut powers = Vec::new();
        while let Some(word) = self.next_word() {
            powers.push(marked("a power of two", word, "2^", "")?);
        }
        Ok((moduli, powers))
    }

    /// Reads the number of a value, `%5`.
    pub fn value(&mut self) -> Checked<ValueId> {
        let word = self.word("an operand")?;
        marked("an operand", word, "%", "")
    }

    /// Reads all values up to the first word that begins otherwise, or to the end of the line.
    pub fn values(&mut self) -> Checked<Vec<ValueId>> {
        let mut values = Vec::new();
        while self.peek().is_some_and(|word| word.starts_with('%')) {
            values.push(self.value()?);
        }
        values.shrink_to_fit();
        Ok(values)
    }

    /// Reads the number of a constant, `@5`.
    pub fn constant(&mut self) -> Checked<ConstantId> {
        let word = self.word("the constant")?;
        marked("the constant", word, "@", "")
    }
}

/// Reads a range that is not empty, `3..5`.
pub fn range(what: &str, word: &str) -> Checked<Range<usize>> {
    let refused = || Problem::new(what, shown(word), "a range as 3..5, not empty");
    let (start, end) = word.split_once("..").ok_or_else(refused)?;
    let (start, end): (usize, usize) = (number(what, start)?, number(what, end)?);
    if start >= end {
        return Err(refused());
    }
    Ok(start..end)
}

/// Reads the number between two marks.
pub fn marked<T: FromStr>(what: &str, word: &str, before: &str, after: &str) -> Checked<T> {
    let inner = word.strip_prefix(before);
    let inner = inner.and_then(|word| word.strip_suffix(after));
    inner.and_then(|word| word.parse().ok()).ok_or_else(|| {
        let expected = format!("a number as {before}5{after}");
        Problem::new(what, shown(word), expected)
    })
}

/// Reads a word as a number. `what` names the number in an error.
pub fn number<T: FromStr>(what: &str, word: &str) -> Checked<T> {
    let refused = |_| {
        let bits = 8 * size_of::<T>();
        let expected = format!("an integer in decimal digits, of at most {bits} bits");
        Problem::new(what, shown(word), expected)
    };
    word.parse().map_err(refused)
}

/// A word in the form in which errors show it.
pub fn shown(word: &str) -> impl Display {
    match word.char_indices().nth(SHOWN) {
        None => format!("`{word}`"),
        Some((end, _)) => format!("`{}..`", &word[..end]),
    }
}
