//! The words of a FHETCH text.

use crate::reading::shown;
use crate::reading::{Checked, Problem};

/// A word and its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    /// Line number, counted from 1.
    pub(super) line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    Name(&'a str),
    Number(i128),
    Text(&'a str),
    /// An operator or a bracket.
    Mark(&'static str),
    End,
}

/// Operators and brackets. Longer marks come before shorter ones with which they begin.
const MARKS: [&str; 18] = [
    "||", "<<", ">>", "(", ")", "{", "}", "[", "]", "<", ">", ",", ";", ":", "=", "+", "-", "*",
];

/// Returns all words of a text. The last one is [`Kind::End`]. If a word is not valid, fails with
/// its line.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, (usize, Problem)> {
    let (mut rest, mut line, mut tokens) = (text, 1, Vec::new());
    while !rest.is_empty() {
        let taken = match skipped(rest) {
            Ok(0) => {
                let (kind, taken) = token(rest).map_err(|problem| (line, problem))?;
                tokens.push(Token { kind, line });
                taken
            }
            Ok(taken) => taken,
            Err(problem) => return Err((line, problem)),
        };
        line += rest[..taken].matches('\n').count();
        rest = &rest[taken..];
    }
    let kind = Kind::End;
    tokens.push(Token { kind, line });
    Ok(tokens)
}

/// Number of bytes of white space or of a comment at the beginning.
fn skipped(rest: &str) -> Checked<usize> {
    let space = rest.len() - rest.trim_ascii_start().len();
    if space > 0 {
        return Ok(space);
    }
    if rest.starts_with("//") {
        return Ok(rest.find('\n').unwrap_or(rest.len()));
    }
    if let Some(comment) = rest.strip_prefix("/*") {
        let end = comment.find("*/");
        return end.map(|end| end + 4).ok_or_else(|| {
            let found = "cut off before the end of a comment";
            Problem::new("the text", found, "`*/`")
        });
    }
    Ok(0)
}

/// The first word and its number of bytes.
fn token(rest: &str) -> Checked<(Kind<'_>, usize)> {
    let first = rest.chars().next().unwrap_or(' ');
    if first.is_ascii_alphanumeric() || first == '_' {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let word = &rest[..end.unwrap_or(rest.len())];
        let kind = match first.is_ascii_digit() {
            true => Kind::Number(number(word)?),
            false => Kind::Name(word),
        };
        return Ok((kind, word.len()));
    }
    if let Some(inner) = rest.strip_prefix('"') {
        let end = inner.find(['"', '\n']);
        return match end {
            Some(end) if inner[end..].starts_with('"') => Ok((Kind::Text(&inner[..end]), end + 2)),
            _ => Err(Problem::new(
                "a text in quotes",
                "cut off",
                "`\"` on the same line",
            )),
        };
    }
    let mark = MARKS.into_iter().find(|mark| rest.starts_with(mark));
    mark.map(|mark| (Kind::Mark(mark), mark.len()))
        .ok_or_else(|| {
            let found = shown(&rest[..first.len_utf8()]).to_string();
            Problem::new("a character", found, "one of the language")
        })
}

/// Reads an integer in decimal digits, or in hexadecimal digits after `0x`.
fn number(word: &str) -> Checked<i128> {
    let found = match word.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16),
        None => word.parse(),
    };
    found.map_err(|_| {
        let expected = "decimal digits, or 0x and hexadecimal ones, of at most 127 bits";
        Problem::new("a number", shown(word), expected)
    })
}

impl Kind<'_> {
    /// The word in the form in which errors show it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Name(word) => shown(word).to_string(),
            Self::Number(number) => format!("`{number}`"),
            Self::Text(text) => format!("\"{text}\""),
            Self::Mark(mark) => format!("`{mark}`"),
            Self::End => "the end of the text".into(),
        }
    }
}
