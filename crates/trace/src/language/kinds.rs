//! Kinds of operands that several languages have.

use super::{Language, Operand, ReadLanguage, ReadOperand};
use crate::ir::{ConstantId, ValueId};
use crate::reading::{Checked, Words};
use crate::text::list;
use std::fmt::{Display, Formatter, Result};
use std::str::FromStr;

/// A value: `%5`.
pub struct Value;

/// Values up to the first word that begins otherwise, or to the end of the line: `%5 %6`.
pub struct Values;

/// A constant, by its number: `@5`.
pub struct ConstantNumber;

/// A number. The text says in an error which number it is.
pub struct Number(pub &'static str);

/// A number after its name: `bits 5`.
pub struct Named(pub &'static str);

/// Numbers up to the first word that begins otherwise, or to the end of the line. The text names
/// each of these numbers in an error.
pub struct Numbers(pub &'static str);

/// A word. The word is the name of an object. The text says in an error which object that is.
pub struct Name(pub &'static str);

impl<L: Language> Operand<L, ValueId> for Value {
    fn write(&self, f: &mut Formatter<'_>, stored: &ValueId, _: L::Writing<'_>) -> Result {
        write!(f, " %{stored}")
    }

    fn visit(&self, stored: &ValueId, visit: &mut impl FnMut(ValueId)) {
        visit(*stored);
    }

    fn visit_mut(&self, stored: &mut ValueId, visit: &mut impl FnMut(&mut ValueId)) {
        visit(stored);
    }
}

impl<L: ReadLanguage> ReadOperand<L, ValueId> for Value {
    fn read(&self, words: &mut Words<'_>, _: L::Reading<'_>) -> Checked<ValueId> {
        words.value()
    }
}

impl<L: Language> Operand<L, Vec<ValueId>> for Values {
    fn write(&self, f: &mut Formatter<'_>, stored: &Vec<ValueId>, _: L::Writing<'_>) -> Result {
        list(f, " %", stored)
    }

    fn visit(&self, stored: &Vec<ValueId>, visit: &mut impl FnMut(ValueId)) {
        stored.iter().copied().for_each(visit);
    }

    fn visit_mut(&self, stored: &mut Vec<ValueId>, visit: &mut impl FnMut(&mut ValueId)) {
        stored.iter_mut().for_each(visit);
    }
}

impl<L: ReadLanguage> ReadOperand<L, Vec<ValueId>> for Values {
    fn read(&self, words: &mut Words<'_>, _: L::Reading<'_>) -> Checked<Vec<ValueId>> {
        words.values()
    }
}

impl<L: Language> Operand<L, ConstantId> for ConstantNumber {
    fn write(&self, f: &mut Formatter<'_>, stored: &ConstantId, _: L::Writing<'_>) -> Result {
        write!(f, " @{stored}")
    }
}

impl<L: ReadLanguage> ReadOperand<L, ConstantId> for ConstantNumber {
    fn read(&self, words: &mut Words<'_>, _: L::Reading<'_>) -> Checked<ConstantId> {
        words.constant()
    }
}

impl<L: Language, T: Display> Operand<L, T> for Number {
    fn write(&self, f: &mut Formatter<'_>, stored: &T, _: L::Writing<'_>) -> Result {
        write!(f, " {stored}")
    }
}

impl<L: ReadLanguage, T: Display + FromStr> ReadOperand<L, T> for Number {
    fn read(&self, words: &mut Words<'_>, _: L::Reading<'_>) -> Checked<T> {
        words.number(self.0)
    }
}

impl<L: Language, T: Display> Operand<L, T> for Named {
    fn write(&self, f: &mut Formatter<'_>, stored: &T, _: L::Writing<'_>) -> Result {
        f.write_str(" ")?;
        f.write_str(self.0)?;
        write!(f, " {stored}")
    }
}

impl<L: ReadLanguage, T: Display + FromStr> ReadOperand<L, T> for Named {
    fn read(&self, words: &mut Words<'_>, _: L::Reading<'_>) -> Checked<T> {
        words.named(self.0)
    }
}

impl<L: Language, T: Display> Operand<L, Vec<T>> for Numbers {
    fn write(&self, f: &mut Formatter<'_>, stored: &Vec<T>, _: L::Writing<'_>) -> Result {
        list(f, " ", stored)
    }
}

impl<L: ReadLanguage, T: Display + FromStr> ReadOperand<L, Vec<T>> for Numbers {
    fn read(&self, words: &mut Words<'_>, _: L::Reading<'_>) -> Checked<Vec<T>> {
        words.numbers(self.0)
    }
}

impl<L: Language> Operand<L, String> for Name {
    fn write(&self, f: &mut Formatter<'_>, stored: &String, _: L::Writing<'_>) -> Result {
        write!(f, " {stored}")
    }
}

impl<L: ReadLanguage> ReadOperand<L, String> for Name {
    fn read(&self, words: &mut Words<'_>, _: L::Reading<'_>) -> Checked<String> {
        Ok(words.word(self.0)?.into())
    }
}
