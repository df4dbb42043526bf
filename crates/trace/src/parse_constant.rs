//! The parser of constants.

use super::ir::Constant;
use crate::reading::{Checked, Problem, check};
use crate::reading::{Words, marked, number, shown};

/// Reads the constant of a line. It must have number `next`.
pub fn constant(line: &str, next: usize) -> Checked<Constant> {
    let mut words = Words::new(line);
    let found = words.constant()?;
    let what = "the number of a constant";
    check(found == next, what, format_args!("@{found}"), || {
        format!("@{next}, the next one")
    })?;
    words.expect("=")?;
    let constant = match words.word("the kind of the constant")? {
        "words" => Constant::Words(words.numbers("a word")?),
        "list" => Constant::List(words.numbers("an integer of the list")?),
        "sparse" => Constant::Sparse(sparse(&mut words)?),
        "repeat" => {
            let run = words.word("the run")?;
            let run = marked("the run", run, "", ":")?;
            let values = words.numbers("a value")?;
            Constant::Repeat { run, values }
        }
        "turn" => Constant::Turn {
            steps: words.number("the number of steps")?,
            of: words.constant()?,
        },
        kind => {
            let expected = "words, sparse, repeat, turn or list";
            let what = "the kind of the constant";
            return Err(Problem::new(what, shown(kind), expected));
        }
    };
    words.end()?;
    Ok(constant)
}

fn sparse(words: &mut Words) -> Checked<Vec<(usize, i64)>> {
    let mut pairs = Vec::new();
    while let Some(word) = words.next_word() {
        let Some((place, value)) = word.split_once(':') else {
            return Err(Problem::new("a word", shown(word), "place:word"));
        };
        pairs.push((number("a place", place)?, number("a word", value)?));
    }
    pairs.shrink_to_fit();
    Ok(pairs)
}
