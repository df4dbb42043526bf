//! The parser of operations.

use super::ir::{ModulusId, Op, SubId, Type};
use super::limbs::Limbs;
use crate::reading::{Checked, Problem, check};
use crate::reading::{Words, shown};
use std::collections::HashMap;

/// Reads an operation, given the stated types of its results. `subs` are the earlier sub-traces.
pub(super) fn operation(
    subs: &HashMap<&str, SubId>,
    words: &mut Words,
    types: &[Type],
) -> Checked<Op> {
    Ok(match words.word("the operation")? {
        "load" => Op::Load {
            name: words.word("the name")?.into(),
            ty: stated(types)?.clone(),
        },
        "store" => Op::Store {
            name: words.word("the name")?.into(),
            value: words.value()?,
        },
        "constant" => Op::Constant {
            constant: words.constant()?,
            limbs: stated_limbs(types)?,
        },
        "zero" => Op::Zero {
            ty: stated(types)?.clone(),
        },
        "sample" => Op::Sample {
            seed: words.word("the name of the seed")?.into(),
            stream: words.number("the stream")?,
            limbs: stated_limbs(types)?,
        },
        "expand" => Op::Expand {
            seed: words.word("the name of the seed")?.into(),
            stream: words.number("the stream")?,
            skip: words.named("skip")?,
            modulus: stated_modulus(types)?,
        },
        "ntt" => Op::Ntt(words.value()?),
        "intt" => Op::Intt(words.value()?),
        "add" => Op::Add(words.value()?, words.value()?),
        "sub" => Op::Sub(words.value()?, words.value()?),
        "mul" => Op::Mul(words.value()?, words.value()?),
        "dot" => {
            let [left, right] = words.pairs()?;
            Op::Dot { left, right }
        }
        "scale" => Op::Scale {
            value: words.value()?,
            factors: {
                words.expect("by")?;
                words.numbers("a factor")?
            },
        },
        "combine" => combine(words)?,
        "turn" => Op::Turn {
            value: words.value()?,
            by: {
                words.expect("by")?;
                words.value()?
            },
        },
        "automorphism" => Op::Automorphism {
            value: words.value()?,
            element: words.named("by")?,
        },
        "slots" => Op::Slots(words.value()?),
        "extract" => extract(words)?,
        "convert" => Op::Convert {
            value: words.value()?,
            to: stated_limbs(types)?,
        },
        "select" => Op::Select {
            value: words.value()?,
            limbs: stated_limbs(types)?,
        },
        "join" => Op::Join(words.values()?),
        "round" => Op::Round {
            value: words.value()?,
            to: stated_modulus(types)?,
        },
        "digit" => Op::Digit {
            value: words.value()?,
            index: words.named("index")?,
            bits: words.named("bits")?,
            count: words.named("count")?,
        },
        "call" => {
            let name = words.word("the sub-trace")?;
            let sub = subs.get(name).copied().ok_or_else(|| {
                let expected = "the name of a sub-trace that stands before";
                Problem::new("the sub-trace", shown(name), expected)
            })?;
            let arguments = words.values()?;
            Op::Call { sub, arguments }
        }
        word => {
            let expected = "an operation: ".to_owned() + &Op::NAMES.join(", ");
            return Err(Problem::new("the operation", shown(word), expected));
        }
    })
}

fn combine(words: &mut Words) -> Checked<Op> {
    let values = words.values()?;
    words.expect("list")?;
    let (list, first) = (words.constant()?, words.named("first")?);
    let modulus = words.named("modulus")?;
    let [rows, columns] = words.factors()?;
    Ok(Op::Combine {
        values,
        list,
        first,
        modulus,
        rows,
        columns,
    })
}

fn extract(words: &mut Words) -> Checked<Op> {
    let values = words.values()?;
    words.expect("at")?;
    let at = words.constant()?;
    let entries = if words.peek().is_some() {
        words.expect("entries")?;
        Some((words.constant()?, words.named("gap")?))
    } else {
        None
    };
    Ok(Op::Extract {
        values,
        at,
        entries,
    })
}

/// The only stated type of an operation's result. It has information that the rest of the line
/// lacks.
fn stated(types: &[Type]) -> Checked<&Type> {
    match types {
        [ty] => Ok(ty),
        _ => Err(Problem::new("the number of results", types.len(), "1")),
    }
}

fn stated_limbs(types: &[Type]) -> Checked<Limbs> {
    stated(types).map(|ty| ty.limbs.clone())
}

fn stated_modulus(types: &[Type]) -> Checked<ModulusId> {
    let limbs = &stated(types)?.limbs;
    let what = "the number of limbs of the result";
    check(limbs.len() == 1, what, limbs.len(), || "1")?;
    Ok(limbs.ranges()[0].start)
}
