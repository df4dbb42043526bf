//! The parser of operations.

use super::ir::{Op, Plain, Rgsw, Scalar, Secret};
use trace::ValueId;
use trace::reading::{Checked, Problem};
use trace::reading::{Words, marked, number, shown};

/// Names of all operations.
const NAMES: [&str; 23] = [
    "input",
    "given",
    "packing_key",
    "trivial",
    "tensor",
    "combine",
    "relinearize",
    "mul_plain",
    "mul_masks",
    "add_bodies",
    "add",
    "sub",
    "add_plain",
    "scale",
    "extend",
    "automorphism",
    "switch_secret",
    "external_product",
    "raise",
    "switch",
    "drop",
    "to_samples",
    "output",
];

/// Reads an operation.
pub(super) fn operation(words: &mut Words) -> Checked<Op> {
    Ok(match words.word("the operation")? {
        "input" => Op::Input {
            index: words.number("the number of the input")?,
        },
        "given" => Op::Given {
            name: words.word("the name")?.into(),
        },
        "packing_key" => packing_key(words)?,
        "trivial" => Op::Trivial {
            plain: plain(words)?,
        },
        "tensor" => Op::Tensor {
            terms: list(words, factors)?,
        },
        "combine" => combine(words)?,
        "relinearize" => Op::Relinearize {
            value: words.value()?,
        },
        "mul_plain" => Op::MulPlain {
            terms: mul_plain(words)?,
        },
        "mul_masks" => mul_masks(words)?,
        "add_bodies" => Op::AddBodies {
            value: words.value()?,
            packing: packing(words)?,
        },
        "add" => Op::Add {
            left: words.value()?,
            right: words.value()?,
        },
        "sub" => Op::Sub {
            left: words.value()?,
            right: words.value()?,
        },
        "add_plain" => Op::AddPlain {
            value: words.value()?,
            plain: plain(words)?,
        },
        "scale" => Op::Scale {
            value: words.value()?,
            by: {
                words.expect("by")?;
                scalar(words.word("the number")?)?
            },
        },
        "extend" => Op::Extend {
            value: words.value()?,
        },
        "automorphism" => Op::Automorphism {
            value: words.value()?,
            element: words.named("by")?,
        },
        "switch_secret" => Op::SwitchSecret {
            value: words.value()?,
            to: {
                words.expect("to")?;
                secret(words.word("the secret")?)?
            },
        },
        "external_product" => Op::ExternalProduct {
            value: words.value()?,
            by: {
                words.expect("with")?;
                let name = words.word("the name of the RGSW ciphertext")?.into();
                words.expect("of")?;
                let level = words.named("level")?;
                Rgsw { name, level }
            },
        },
        "raise" => Op::Raise {
            value: words.value()?,
        },
        "switch" => Op::Switch {
            value: words.value()?,
        },
        "drop" => Op::Drop {
            value: words.value()?,
        },
        "to_samples" => Op::ToSamples {
            value: words.value()?,
        },
        "output" => Op::Output {
            name: words.word("the name")?.into(),
            value: words.value()?,
        },
        word => {
            let expected = "an operation: ".to_owned() + &NAMES.join(", ");
            return Err(Problem::new("the operation", shown(word), expected));
        }
    })
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

/// Reads `%1*%2`.
fn factors(word: &str) -> Checked<[ValueId; 2]> {
    let [left, right] = product("a term", word, "a product as %1*%2")?;
    Ok([
        marked("a factor", left, "%", "")?,
        marked("a factor", right, "%", "")?,
    ])
}

fn packing_key(words: &mut Words) -> Checked<Op> {
    let word = words.word("the packing key")?;
    let Some((values, index)) = word.split_once('/') else {
        let expected = "values and number as 256/0";
        return Err(Problem::new("the packing key", shown(word), expected));
    };
    Ok(Op::PackingKey {
        values: number("the number of values", values)?,
        index: number("the number of the ciphertext", index)?,
    })
}

fn combine(words: &mut Words) -> Checked<Op> {
    let low = words.values()?;
    words.expect("by")?;
    let middle = words.values()?;
    words.expect("list")?;
    let (list, first) = (words.constant()?, words.named("first")?);
    let [rows, columns] = words.factors()?;
    Ok(Op::Combine {
        low,
        middle,
        list,
        first,
        rows,
        columns,
    })
}

fn mul_masks(words: &mut Words) -> Checked<Op> {
    let terms = list(words, |word| {
        let [value, unit] = product("a term", word, "a value and its unit as %1*5")?;
        let value: ValueId = marked("a factor", value, "%", "")?;
        Ok((value, number::<u64>("the unit", unit)?))
    })?;
    let (secret, units) = terms.into_iter().unzip();
    Ok(Op::MulMasks {
        secret,
        units,
        packing: packing(words)?,
        giant: words.named("giant")?,
    })
}

fn packing(words: &mut Words) -> Checked<usize> {
    words.expect("of")?;
    words.named("packing")
}

/// Reads products such as `%0*slots @1*5`.
fn mul_plain(words: &mut Words) -> Checked<Vec<(ValueId, Plain, u64)>> {
    let mut terms = Vec::new();
    while let Some(word) = words.next_word() {
        let [value, kind] = product("a term", word, "a value and a plaintext as %1*slots @2*5")?;
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

fn plain(words: &mut Words) -> Checked<Plain> {
    let kind = words.word("the kind of the plaintext")?;
    plaintext(kind, words.word("the plaintext")?)
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
        _ => {
            let expected = "coefficients, slots, rounded or integers";
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

fn secret(word: &str) -> Checked<Secret> {
    match word {
        "sparse" => Ok(Secret::Sparse),
        "dense" => Ok(Secret::Dense),
        _ => Err(Problem::new("the secret", shown(word), "sparse or dense")),
    }
}
