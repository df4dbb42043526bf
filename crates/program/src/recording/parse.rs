//! The parser of the text form.

use super::ir::{Op, Packing, Parameters, Recording, SampleParameters, Step};
use super::parse_types::ty;
use super::site::{Head, Site, recorded};
use super::text::HEADER;
use crate::error::Result;
use crate::ir::KeyNeeds;
use trace::Part;
use trace::reading::constant;
use trace::reading::{Checked, Problem, check};
use trace::reading::{END, Lines};
use trace::reading::{Words, marked, number, range, shown};

impl Recording {
    /// Reads the text form and verifies the recording.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) for the text of another version.
    /// [`Error::Recorded`](crate::Error::Recorded) with the line of text that cannot be read, or
    /// that [`Recording::verify`] refuses.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser {
            lines: Lines::after_header(text, HEADER)?,
            places: Places::default(),
        };
        let recording = parser.recording();
        let line = parser.lines.number();
        let recording = recording.map_err(|problem| recorded(problem, Some(line), Part::Text))?;
        recording.check().map_err(|fault| {
            let line = parser.places.line(fault.site);
            recorded(fault.problem, Some(line), recording.part(fault.site))
        })?;
        Ok(recording)
    }
}

struct Parser<'a> {
    lines: Lines<'a>,
    places: Places,
}

/// Lines of all parts of a recording.
#[derive(Default)]
struct Places {
    heads: [usize; Head::ALL.len()],
    constants: Vec<usize>,
    packings: Vec<usize>,
    steps: Vec<usize>,
}

impl Places {
    fn line(&self, site: Site) -> usize {
        match site {
            Site::Head(head) => self.heads[head as usize],
            Site::Constant(id) => self.constants[id],
            Site::Packing(id) => self.packings[id],
            Site::Step(index) => self.steps[index],
        }
    }
}

impl<'a> Parser<'a> {
    fn recording(&mut self) -> Checked<Recording> {
        let mut recording = Recording {
            parameters: Parameters {
                n: self.head(Head::Ring, |words| words.number("the ring degree"))?,
                q: self.head(Head::Moduli, |words| words.numbers("a modulus"))?,
                p: self.head(Head::Special, |words| words.numbers("a modulus"))?,
                digits: self.head(Head::Digits, |words| {
                    all(words, |word| range("the limbs of a digit", word))
                })?,
                t: self.head(Head::Plain, |words| words.numbers("a modulus"))?,
                samples: self.head(Head::Samples, samples)?,
            },
            keys: KeyNeeds {
                relinearization: self.head(Head::Relinearization, |words| {
                    none_or(words, |words| words.number("the level of the key"))
                })?,
                galois: self.head(Head::Galois, |words| all(words, key))?,
                packing: self.head(Head::PackingKeys, |words| all(words, key))?,
            },
            constants: Vec::new(),
            packings: Vec::new(),
            steps: Vec::new(),
        };
        let mut line = self.lines.next_line()?;
        while line.starts_with('@') {
            let next = recording.constants.len();
            recording.constants.push(constant(line, next)?);
            self.places.constants.push(self.lines.number());
            line = self.lines.next_line()?;
        }
        while line.starts_with("packing ") {
            let next = recording.packings.len();
            recording.packings.push(packing(line, next)?);
            self.places.packings.push(self.lines.number());
            line = self.lines.next_line()?;
        }
        self.steps(&mut recording, line)?;
        self.lines.end()?;
        Ok(recording)
    }

    /// Reads a line of the head: its name, then its content by `read`.
    fn head<T>(
        &mut self,
        head: Head,
        read: impl FnOnce(&mut Words<'a>) -> Checked<T>,
    ) -> Checked<T> {
        let mut words = Words::new(self.lines.next_line()?);
        self.places.heads[head as usize] = self.lines.number();
        words.expect(head.name())?;
        let found = read(&mut words)?;
        words.end()?;
        Ok(found)
    }

    /// Reads operations from `line` up to the last line.
    fn steps(&mut self, recording: &mut Recording, mut line: &'a str) -> Checked<()> {
        let plain = recording.parameters.t.first().copied();
        let mut of = None;
        while line != END {
            if let Some(head) = line.strip_prefix("step ") {
                of = Some(marked("the number of the step", head, "", ":")?);
            } else {
                let of = of.ok_or_else(|| {
                    let expected = "a constant, a packing, `step 0:` or `end`, in this order";
                    Problem::new("the line", shown(line), expected)
                })?;
                let step = step(line, (recording.steps.len(), of), plain)?;
                recording.steps.push(step);
                self.places.steps.push(self.lines.number());
            }
            line = self.lines.next_line()?;
        }
        recording.steps.shrink_to_fit();
        Ok(())
    }
}

/// Reads `%5 = add %3 %4 : level 1, factor 1`. It must have number `next`, and is a part of step
/// `of` of the program.
fn step(line: &str, (next, of): (usize, usize), plain: Option<u64>) -> Checked<Step> {
    let Some((op, stated)) = line.rsplit_once(" : ") else {
        let expected = "an operation and its type as `%5 = add %3 %4 : level 1, factor 1`";
        return Err(Problem::new("the line", shown(line), expected));
    };
    let mut words = Words::new(op);
    let what = "the number of a value";
    let found: usize = marked(what, words.word(what)?, "%", "")?;
    check(found == next, what, format_args!("%{found}"), || {
        format!("%{next}, the next one")
    })?;
    words.expect("=")?;
    let op = Op::read(&mut words, ())?;
    words.end()?;
    let ty = ty(stated, plain)?;
    Ok(Step { op, ty, of })
}

/// Reads the packing of a line. It must have number `next`.
fn packing(line: &str, next: usize) -> Checked<Packing> {
    let mut words = Words::new(line);
    let found: usize = words.named("packing")?;
    check(found == next, "the number of a packing", found, || {
        format!("{next}, the next one")
    })?;
    words.expect("=")?;
    let (values, baby_steps) = (words.named("values")?, words.named("baby")?);
    words.expect("sources")?;
    let sources = words.values()?;
    words.expect("samples")?;
    Ok(Packing {
        values,
        baby_steps,
        sources,
        samples: all(&mut words, sum)?,
    })
}

/// Reads the samples of a value, `0:5+1:7`, or `-` if there are none.
fn sum(word: &str) -> Checked<Vec<[usize; 2]>> {
    if word == "-" {
        return Ok(Vec::new());
    }
    let samples = word.split('+').map(|sample| {
        let [source, coefficient] = two("a sample", sample, "a source and a coefficient as 0:5")?;
        Ok([
            number("the source", source)?,
            number("the coefficient", coefficient)?,
        ])
    });
    samples.collect()
}

/// Reads the number for which a key is, such as a Galois element, and the key's level: `5:20`.
fn key(word: &str) -> Checked<(usize, usize)> {
    let [of, level] = two("a key", word, "a number and the level of its key as 5:20")?;
    Ok((
        number("what a key is for", of)?,
        number("the level of a key", level)?,
    ))
}

/// Splits a word at `:`.
fn two<'a>(what: &str, word: &'a str, expected: &str) -> Checked<[&'a str; 2]> {
    let sides = word.split_once(':').map(|(left, right)| [left, right]);
    sides.ok_or_else(|| Problem::new(what, shown(word), expected))
}

fn samples(words: &mut Words) -> Checked<Option<SampleParameters>> {
    none_or(words, |words| {
        Ok(SampleParameters {
            dimension: words.named("dimension")?,
            digit_bits: words.named("bits")?,
        })
    })
}

/// Reads `none`, or calls `read`.
fn none_or<'a, T>(
    words: &mut Words<'a>,
    read: impl FnOnce(&mut Words<'a>) -> Checked<T>,
) -> Checked<Option<T>> {
    if words.peek() == Some("none") {
        words.next_word();
        return Ok(None);
    }
    read(words).map(Some)
}

/// Reads all words in the rest of a line.
fn all<T>(words: &mut Words, read: impl Fn(&str) -> Checked<T>) -> Checked<Vec<T>> {
    let mut items = Vec::new();
    while let Some(word) = words.next_word() {
        items.push(read(word)?);
    }
    items.shrink_to_fit();
    Ok(items)
}
