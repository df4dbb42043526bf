//! The parser of the text form.

use super::ir::{Circuit, Digits, KeySwitch, Op, Parameters};
use super::text::{END, HEADER};
use super::verify::Fault;
use crate::error::{Error, Result};
use std::str::{FromStr, Lines};
use trace::reading::constant;
use trace::reading::{Checked, Problem, check};
use trace::reading::{Words, marked, shown};

impl Circuit {
    /// Reads the text form and verifies the circuit.
    ///
    /// # Errors
    /// [`Error::Format`] for the text of another version. [`Error::Torus`] with the line of text
    /// that cannot be read, and for a circuit that [`Circuit::verify`] refuses.
    pub fn parse(text: &str) -> Result<Self> {
        let header = text.lines().next().unwrap_or("").trim_end();
        if header != HEADER {
            return Err(Error::Format {
                found: shown(header).to_string(),
                expected: format!("`{HEADER}`"),
            });
        }
        let mut reader = Reader {
            lines: text.lines(),
            line: 0,
        };
        let read = reader.circuit();
        let circuit = read.map_err(|problem| Fault::Line(reader.line).error(problem))?;
        circuit.verify()?;
        Ok(circuit)
    }
}

struct Reader<'a> {
    lines: Lines<'a>,
    /// Number of the last line that was read, counted from 1.
    line: usize,
}

impl<'a> Reader<'a> {
    /// Returns the next line that is neither empty nor a comment.
    fn next_line(&mut self) -> Checked<&'a str> {
        for line in self.lines.by_ref() {
            self.line += 1;
            let line = line.trim_ascii();
            if !line.is_empty() && !line.starts_with('#') {
                return Ok(line);
            }
        }
        let found = format!("cut off after line {}", self.line);
        let expected = format!("a last line `{END}`");
        Err(Problem::new("the text", found, expected))
    }

    fn circuit(&mut self) -> Checked<Circuit> {
        self.next_line()?; // the header
        let mut circuit = Circuit::new(self.parameters()?);
        let mut line = self.next_line()?;
        while line.starts_with('@') {
            let next = circuit.constants.len();
            circuit.constants.push(constant(line, next)?);
            line = self.next_line()?;
        }
        while line != END {
            let op = step(line, circuit.steps.len())?;
            circuit.steps.push(op);
            line = self.next_line()?;
        }
        match self.next_line() {
            Err(_) => Ok(circuit),
            Ok(line) => {
                let expected = format!("none after `{END}`");
                Err(Problem::new("the line", shown(line), expected))
            }
        }
    }

    fn parameters(&mut self) -> Checked<Parameters> {
        let mut line = |first: &str| -> Checked<Words<'a>> {
            let mut words = Words::new(self.next_line()?);
            words.expect(first)?;
            Ok(words)
        };
        let mut words = line("word")?;
        let word_bits = named(&mut words, "bits")?;
        words.end()?;
        let mut words = line("small")?;
        let dimension = named(&mut words, "dimension")?;
        words.end()?;
        let mut words = line("ring")?;
        let (n, rank) = (named(&mut words, "degree")?, named(&mut words, "rank")?);
        words.end()?;
        let bootstrap = digits(&mut line("bootstrap")?)?;
        let mut words = line("key_switch")?;
        let key_switch = match words.word("the kind of the key switch")? {
            "lwe" => KeySwitch::Lwe(digits(&mut words)?),
            "ring" => KeySwitch::Ring(digits(&mut words)?),
            kind => {
                let what = "the kind of the key switch";
                return Err(Problem::new(what, shown(kind), "lwe or ring"));
            }
        };
        Ok(Parameters {
            word_bits,
            dimension,
            rank,
            n,
            bootstrap,
            key_switch,
        })
    }
}

/// Reads digits, at the end of a line.
fn digits(words: &mut Words) -> Checked<Digits> {
    let digits = Digits {
        bits: named(words, "bits")?,
        count: named(words, "count")?,
    };
    words.end()?;
    Ok(digits)
}

/// Reads a number after its name.
fn named<T: FromStr>(words: &mut Words, name: &str) -> Checked<T> {
    words.expect(name)?;
    words.number(name)
}

/// Reads the step with number `next`.
fn step(line: &str, next: usize) -> Checked<Op> {
    let mut words = Words::new(line);
    let what = "the number of a step";
    let found: usize = marked(what, words.word(what)?, "%", ":")?;
    let expected = || format!("%{next}, the next one");
    check(found == next, what, format_args!("%{found}"), expected)?;
    let ty = words.word("the type")?;
    words.expect("=")?;
    let op = Op::read(&mut words, ())?;
    words.end()?;
    let own = op.ty().to_string();
    check(own == ty, "the type", shown(ty), || own.clone())?;
    Ok(op)
}
