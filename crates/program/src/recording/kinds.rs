//! Kinds of operands that only recordings have.

use super::ir::{Plain, Rgsw, Scalar, Secret, ValueId};
use super::ops::Op;
use std::fmt::{Formatter, Result};
use trace::language::{Operand, OperandPair, ReadOperand, ReadOperandPair};
use trace::reading::{Checked, Problem, Words, marked, number, shown};

/// A ciphertext of a packing key, by the values of its layout and its number: `256/0`.
pub(super) struct PackingKeyNumber;

/// A plaintext: `slots @1`.
pub(super) struct Plaintext;

/// Products of values: `%1*%2 %3*%4`.
pub(super) struct Tensors;

/// Products of a value, a plaintext and its unit, up to the end of the line: `%0*slots @1*5`.
pub(super) struct PlainTerms;

/// Values and their units: `%1*5 %2*3`.
pub(super) struct MaskTerms;

/// A number: `3*2^4/5`.
pub(super) struct Factor;

/// A secret: `sparse`.
pub(super) struct SecretName;

/// An RGSW ciphertext: `key/0 of level 2`.
pub(super) struct RgswName;

impl OperandPair<Op, usize, usize> for PackingKeyNumber {
    fn write(&self, f: &mut Formatter<'_>, (values, index): (&usize, &usize), (): ()) -> Result {
        write!(f, " {values}/{index}")
    }
}

impl ReadOperandPair<Op, usize, usize> for PackingKeyNumber {
    fn read(&self, words: &mut Words<'_>, (): ()) -> Checked<(usize, usize)> {
        let word = words.word("the packing key")?;
        let Some((values, index)) = word.split_once('/') else {
            let expected = "values and number as 256/0";
            return Err(Problem::new("the packing key", shown(word), expected));
        };
        Ok((
            number("the number of values", values)?,
            number("the number of the ciphertext", index)?,
        ))
    }
}

impl Operand<Op, Plain> for Plaintext {
    fn write(&self, f: &mut Formatter<'_>, plain: &Plain, (): ()) -> Result {
        write!(f, " {plain}")
    }

    fn visit(&self, plain: &Plain, visit: &mut impl FnMut(ValueId)) {
        if let Plain::Rounded { value, .. } | Plain::Blocks { value, .. } = plain {
            visit(*value);
        }
    }

    fn visit_mut(&self, plain: &mut Plain, visit: &mut impl FnMut(&mut ValueId)) {
        if let Plain::Rounded { value, .. } | Plain::Blocks { value, .. } = plain {
            visit(value);
        }
    }
}

impl ReadOperand<Op, Plain> for Plaintext {
    fn read(&self, words: &mut Words<'_>, (): ()) -> Checked<Plain> {
        let kind = words.word("the kind of the plaintext")?;
        plaintext(kind, words.word("the plaintext")?)
    }
}

impl Operand<Op, Vec<[ValueId; 2]>> for Tensors {
    fn write(&self, f: &mut Formatter<'_>, terms: &Vec<[ValueId; 2]>, (): ()) -> Result {
        let mut terms = terms.iter();
        terms.try_for_each(|[left, right]| write!(f, " %{left}*%{right}"))
    }

    fn visit(&self, terms: &Vec<[ValueId; 2]>, visit: &mut impl FnMut(ValueId)) {
        terms.iter().flatten().copied().for_each(visit);
    }

    fn visit_mut(&self, terms: &mut Vec<[ValueId; 2]>, visit: &mut impl FnMut(&mut ValueId)) {
        terms.iter_mut().flatten().for_each(visit);
    }
}

impl ReadOperand<Op, Vec<[ValueId; 2]>> for Tensors {
    fn read(&self, words: &mut Words<'_>, (): ()) -> Checked<Vec<[ValueId; 2]>> {
        list(words, |word| {
            let [left, right] = product("a term", word, "a product as %1*%2")?;
            Ok([
                marked("a factor", left, "%", "")?,
                marked("a factor", right, "%", "")?,
            ])
        })
    }
}

impl Operand<Op, Vec<(ValueId, Plain, u64)>> for PlainTerms {
    fn write(&self, f: &mut Formatter<'_>, terms: &Vec<(ValueId, Plain, u64)>, (): ()) -> Result {
        let mut terms = terms.iter();
        terms.try_for_each(|(value, plain, unit)| match plain {
            Plain::Integers(..) => write!(f, " %{value}*{plain}"),
            _ => write!(f, " %{value}*{plain}*{unit}"),
        })
    }

    fn visit(&self, terms: &Vec<(ValueId, Plain, u64)>, visit: &mut impl FnMut(ValueId)) {
        for (value, plain, _) in terms {
            visit(*value);
            Operand::<Op, _>::visit(&Plaintext, plain, visit);
        }
    }

    fn visit_mut(
        &self,
        terms: &mut Vec<(ValueId, Plain, u64)>,
        visit: &mut impl FnMut(&mut ValueId),
    ) {
        for (value, plain, _) in terms {
            visit(value);
            Operand::<Op, _>::visit_mut(&Plaintext, plain, visit);
        }
    }
}

impl ReadOperand<Op, Vec<(ValueId, Plain, u64)>> for PlainTerms {
    fn read(&self, words: &mut Words<'_>, (): ()) -> Checked<Vec<(ValueId, Plain, u64)>> {
        let mut terms = Vec::new();
        while let Some(word) = words.next_word() {
            let expected = "a value and a plaintext as %1*slots @2*5";
            let [value, kind] = product("a term", word, expected)?;
            let value = marked("a factor", value, "%", "")?;
            let word = words.word("the plaintext")?;
            let (plain, unit) = match (kind, word.rsplit_once('*')) {
                ("integers", _) => (plaintext(kind, word)?, 1),
                (_, Some((word, unit))) => (plaintext(kind, word)?, number("the unit", unit)?),
                (_, None) => {
                    let expected = "a plaintext times its unit, as @2*5";
                    return Err(Problem::new("the plaintext", shown(word), expected));
                }
            };
            terms.push((value, plain, unit));
        }
        terms.shrink_to_fit();
        Ok(terms)
    }
}

impl OperandPair<Op, Vec<ValueId>, Vec<u64>> for MaskTerms {
    fn write(
        &self,
        f: &mut Formatter<'_>,
        (secret, units): (&Vec<ValueId>, &Vec<u64>),
        (): (),
    ) -> Result {
        let mut terms = secret.iter().zip(units);
        terms.try_for_each(|(value, unit)| write!(f, " %{value}*{unit}"))
    }

    fn visit(&self, (secret, _): (&Vec<ValueId>, &Vec<u64>), visit: &mut impl FnMut(ValueId)) {
        secret.iter().copied().for_each(visit);
    }

    fn visit_mut(
        &self,
        (secret, _): (&mut Vec<ValueId>, &mut Vec<u64>),
        visit: &mut impl FnMut(&mut ValueId),
    ) {
        secret.iter_mut().for_each(visit);
    }
}

impl ReadOperandPair<Op, Vec<ValueId>, Vec<u64>> for MaskTerms {
    fn read(&self, words: &mut Words<'_>, (): ()) -> Checked<(Vec<ValueId>, Vec<u64>)> {
        let terms = list(words, |word| {
            let [value, unit] = product("a term", word, "a value and its unit as %1*5")?;
            let value: ValueId = marked("a factor", value, "%", "")?;
            Ok((value, number::<u64>("the unit", unit)?))
        })?;
        Ok(terms.into_iter().unzip())
    }
}

impl Operand<Op, Scalar> for Factor {
    fn write(&self, f: &mut Formatter<'_>, by: &Scalar, (): ()) -> Result {
        write!(f, " {by}")
    }
}

impl ReadOperand<Op, Scalar> for Factor {
    fn read(&self, words: &mut Words<'_>, (): ()) -> Checked<Scalar> {
        scalar(words.word("the number")?)
    }
}

impl Operand<Op, Secret> for SecretName {
    fn write(&self, f: &mut Formatter<'_>, secret: &Secret, (): ()) -> Result {
        write!(f, " {secret}")
    }
}

impl ReadOperand<Op, Secret> for SecretName {
    fn read(&self, words: &mut Words<'_>, (): ()) -> Checked<Secret> {
        match words.word("the secret")? {
            "sparse" => Ok(Secret::Sparse),
            "dense" => Ok(Secret::Dense),
            word => Err(Problem::new("the secret", shown(word), "sparse or dense")),
        }
    }
}

impl Operand<Op, Rgsw> for RgswName {
    fn write(&self, f: &mut Formatter<'_>, by: &Rgsw, (): ()) -> Result {
        write!(f, " {} of level {}", by.name, by.level)
    }
}

impl ReadOperand<Op, Rgsw> for RgswName {
    fn read(&self, words: &mut Words<'_>, (): ()) -> Checked<Rgsw> {
        let name = words.word("the name of the RGSW ciphertext")?.into();
        words.expect("of")?;
        let level = words.named("level")?;
        Ok(Rgsw { name, level })
    }
}

/// Reads all items up to the first word that is no value, or to the end of the line.
fn list<T>(words: &mut Words, item: impl Fn(&str) -> Checked<T>) -> Checked<Vec<T>> {
    let mut items = Vec::new();
    while let Some(word) = words.peek().filter(|word| word.starts_with('%')) {
        items.push(item(word)?);
        words.next_word();
    }
    items.shrink_to_fit();
    Ok(items)
}

/// Splits a word at `*`.
fn product<'a>(what: &str, word: &'a str, expected: &str) -> Checked<[&'a str; 2]> {
    let sides = word.split_once('*').map(|(left, right)| [left, right]);
    sides.ok_or_else(|| Problem::new(what, shown(word), expected))
}

/// Reads a plaintext, from its kind and the word after it.
fn plaintext(kind: &str, word: &str) -> Checked<Plain> {
    let constant = |word| marked("the constant", word, "@", "");
    Ok(match kind {
        "coefficients" => Plain::Coefficients(constant(word)?),
        "slots" => Plain::Slots(constant(word)?),
        "integers" => match word.split_once('*') {
            None => Plain::Integers(constant(word)?, Scalar::ONE),
            Some((word, by)) => Plain::Integers(constant(word)?, scalar(by)?),
        },
        "rounded" => {
            let parts = word.split_once('/').and_then(|(value, rest)| {
                let (component, unit) = rest.split_once('*')?;
                Some((value, component, unit))
            });
            let (value, component, unit) = parts.ok_or_else(|| {
                let expected = "a component and its unit as %1/0*5";
                Problem::new("the plaintext", shown(word), expected)
            })?;
            Plain::Rounded {
                value: marked("the value", value, "%", "")?,
                component: number("the component", component)?,
                unit: number("the unit", unit)?,
            }
        }
        "blocks" => {
            let (value, component) = word
                .split_once('/')
                .ok_or_else(|| Problem::new("the plaintext", shown(word), "a component as %1/0"))?;
            Plain::Blocks {
                value: marked("the value", value, "%", "")?,
                component: number("the component", component)?,
            }
        }
        _ => {
            let expected = "coefficients, slots, rounded, blocks or integers";
            let what = "the kind of the plaintext";
            return Err(Problem::new(what, shown(kind), expected));
        }
    })
}

/// Reads a number such as `3*2^4/5`.
fn scalar(word: &str) -> Checked<Scalar> {
    let (rest, over) = match word.split_once('/') {
        None => (word, 1),
        Some((rest, over)) => (rest, number("the divisor", over)?),
    };
    let (integer, shift) = match rest.split_once("*2^") {
        None => (rest, 0),
        Some((integer, shift)) => (integer, number("the power of two", shift)?),
    };
    Ok(Scalar {
        integer: number("the integer", integer)?,
        shift,
        over,
    })
}
