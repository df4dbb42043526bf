//! Streams as texts for people: a file for each stream.
//!
//! ```text
//! palladion-streams/1
//! machine tiny
//! ring 32768
//! stream region 0: ntt
//! wait 120 busy 4096: intt 17 s3 -> s9
//! wait 0 busy 8192: dot 20 s9 s4>r1 r0 s4 -> r2 turn 1
//! ```
//!
//! `s` is a row of the scratchpad and `r` a register; `>` names the register that keeps an operand
//! which passes. Behind the operation is the number of the instruction, and for `load`, `generate`
//! and `write` the number of the limb, which is its address in memory.

use super::fault::Fault;
use super::streams::{Action, Entry, Operand, Place, Stream, Streams};
use crate::vector::machine::Operation;
use std::fmt::Write;

const HEADER: &str = "palladion-streams/1";

impl Streams {
    /// The text of each stream, with its name.
    pub fn to_texts(&self) -> impl Iterator<Item = (&str, String)> {
        self.streams.iter().map(|stream| {
            let Self { machine, n, .. } = self;
            let name = &stream.name;
            let mut text = format!("{HEADER}\nmachine {machine}\nring {n}\nstream {name}\n");
            for entry in &stream.entries {
                write_entry(&mut text, entry).expect("strings take all that is written");
            }
            (&*stream.name, text)
        })
    }

    /// Reads the texts of all streams, in their order.
    ///
    /// # Errors
    /// A [`Fault`] that names the text and the line.
    pub fn from_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, Fault> {
        let mut all: Option<Self> = None;
        for (number, text) in texts.into_iter().enumerate() {
            let one = read(text, number)?;
            match &mut all {
                None => all = Some(one),
                Some(all) if (&all.machine, all.n) == (&one.machine, one.n) => {
                    all.streams.extend(one.streams)
                }
                Some(all) => {
                    let found = format!("{}, ring {}", one.machine, one.n);
                    let expected = format!("{}, ring {}, as in the first", all.machine, all.n);
                    return Err(Fault::new(
                        format!("text {number}"),
                        "the machine",
                        found,
                        expected,
                    ));
                }
            }
        }
        all.ok_or_else(|| Fault::new("the streams", "the number of texts", 0, "at least one"))
    }
}

fn write_entry(text: &mut String, entry: &Entry) -> std::fmt::Result {
    write!(text, "wait {} busy {}:", entry.stall, entry.busy)?;
    match &entry.action {
        Action::Execute {
            kind,
            instruction,
            turn,
            operands,
            row,
            register,
        } => {
            write!(text, " {} {instruction}", kind.name())?;
            for Operand { from, keep } in operands {
                match from {
                    Place::Row(row) => write!(text, " s{row}")?,
                    Place::Register(register) => write!(text, " r{register}")?,
                }
                keep.map_or(Ok(()), |keep| write!(text, ">r{keep}"))?;
            }
            write!(text, " ->")?;
            row.map_or(Ok(()), |row| write!(text, " s{row}"))?;
            register.map_or(Ok(()), |register| write!(text, " r{register}"))?;
            if *turn > 0 {
                write!(text, " turn {turn}")?;
            }
            writeln!(text)
        }
        Action::Join { instruction } => writeln!(text, " join {instruction}"),
        Action::Load { limb, row } => writeln!(text, " load {limb} s{row}"),
        Action::Generate { limb, row } => writeln!(text, " generate {limb} s{row}"),
        Action::Write { limb, row } => writeln!(text, " write {limb} s{row}"),
    }
}

/// Reads the text with a number.
fn read(text: &str, number: usize) -> Result<Streams, Fault> {
    let mut lines = text.lines().enumerate();
    let mut header = |key: &'static str| {
        let (at, line) = lines.next().unwrap_or((0, ""));
        let value = line.strip_prefix(key);
        let expected = format!("{key}...");
        value.ok_or_else(|| {
            Fault::new(
                format!("text {number}, line {}", at + 1),
                "the header",
                line,
                expected,
            )
        })
    };
    header(HEADER)?;
    let machine = header("machine ")?.to_owned();
    let ring = header("ring ")?;
    let n = ring.parse();
    let n = n.map_err(|_| {
        Fault::new(
            format!("text {number}, line 3"),
            "the ring degree",
            ring,
            "an integer",
        )
    })?;
    let name = header("stream ")?.to_owned();
    let entries = lines.map(|(at, line)| {
        read_entry(line).ok_or_else(|| {
            let place = format!("text {number}, line {}", at + 1);
            Fault::new(
                place,
                "the entry",
                line,
                "wait CYCLES busy CYCLES: OPERATION NUMBER OPERANDS -> RESULT",
            )
        })
    });
    let entries = entries.collect::<Result<_, _>>()?;
    Ok(Streams {
        machine,
        n,
        streams: vec![Stream { name, entries }],
    })
}

fn read_entry(line: &str) -> Option<Entry> {
    let (times, rest) = line.split_once(": ")?;
    let (stall, busy) = times.strip_prefix("wait ")?.split_once(" busy ")?;
    let (name, rest) = rest.split_once(' ')?;
    let action = match name {
        "join" => Action::Join {
            instruction: integer(rest)?,
        },
        "load" | "generate" | "write" => {
            let (limb, row) = rest.split_once(' ')?;
            let (limb, row) = (integer(limb)?, integer(row.strip_prefix('s')?)?);
            match name {
                "load" => Action::Load { limb, row },
                "generate" => Action::Generate { limb, row },
                _ => Action::Write { limb, row },
            }
        }
        _ => {
            let kind = Operation::ALL
                .into_iter()
                .find(|kind| kind.name() == name)?;
            let (read, results) = rest.split_once(" ->")?;
            let (results, turn) = results.split_once(" turn ").unwrap_or((results, "0"));
            let mut read = read.split(' ');
            let instruction = integer(read.next()?)?;
            let operands = read.map(operand).collect::<Option<_>>()?;
            let mut results = results.split_whitespace().peekable();
            let row = results.next_if(|word| word.starts_with('s'));
            let register = results.next();
            if results.next().is_some() {
                return None;
            }
            Action::Execute {
                kind,
                instruction,
                turn: integer(turn)?,
                operands,
                row: row
                    .map(|row| integer(&row[1..]))
                    .map_or(Some(None), |row| row.map(Some))?,
                register: match register {
                    None => None,
                    Some(register) => Some(integer(register.strip_prefix('r')?)?),
                },
            }
        }
    };
    Some(Entry {
        stall: integer(stall)?,
        busy: integer(busy)?,
        action,
    })
}

fn operand(word: &str) -> Option<Operand> {
    let (from, keep) = match word.split_once(">r") {
        Some((from, keep)) => (from, Some(integer(keep)?)),
        None => (word, None),
    };
    let from = match from.strip_prefix('s') {
        Some(row) => Place::Row(integer(row)?),
        None => Place::Register(integer(from.strip_prefix('r')?)?),
    };
    Some(Operand { from, keep })
}

/// A decimal integer without sign.
fn integer<T: std::str::FromStr>(word: &str) -> Option<T> {
    word.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| word.parse().ok())
        .flatten()
}
