//! Streams as bytes.
//!
//! After the header come the streams. Integers are unsigned, in groups of seven bits, the lowest
//! first, with the high bit set in all bytes but the last. So an integer has one form alone.
//!
//! ```text
//! bytes    = "palladion-streams\x01" text(machine) n count { stream }
//! stream   = text(name) count { entry }
//! entry    = code stall busy fields
//! text     = length, then that many bytes of UTF-8
//! fields   = instruction turn result register count { operand }    code 0 to 13
//!          | instruction                           code 14: join
//!          | limb row                              code 15 to 17: load, generate, write
//! operand  = 4 number + 2 (is a register) + (is kept), then the register that keeps it, if any
//! result, register = 0 for none, or number + 1
//! ```

use super::fault::Fault;
use super::streams::{Action, Entry, Operand, Place, Stream, Streams};
use crate::vector::machine::Operation;

const MAGIC: &[u8] = b"palladion-streams\x01";
const JOIN: u64 = Operation::ALL.len() as u64;
const LOAD: u64 = JOIN + 1;
const GENERATE: u64 = JOIN + 2;
const WRITE: u64 = JOIN + 3;

impl Streams {
    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        put_text(&mut out, &self.machine);
        put(&mut out, self.n as u64);
        put(&mut out, self.streams.len() as u64);
        for stream in &self.streams {
            put_text(&mut out, &stream.name);
            put(&mut out, stream.entries.len() as u64);
            stream
                .entries
                .iter()
                .for_each(|entry| put_entry(&mut out, entry));
        }
        out
    }

    /// Bytes of the instructions of each stream, without header and names: what a machine fetches.
    pub fn fetched(&self) -> Vec<(&str, u64)> {
        let mut bytes = Vec::new();
        let size = |stream: &'_ Stream| {
            let entries = stream.entries.iter().map(|entry| {
                bytes.clear();
                put_entry(&mut bytes, entry);
                bytes.len() as u64
            });
            entries.sum()
        };
        let sizes: Vec<u64> = self.streams.iter().map(size).collect();
        let names = self.streams.iter().map(|stream| &*stream.name);
        names.zip(sizes).collect()
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// A [`Fault`] that names the byte, if the bytes are no streams.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader { bytes, at: 0 };
        if !bytes.starts_with(MAGIC) {
            return reader.fault("the header", "another", "palladion-streams, version 1");
        }
        reader.at = MAGIC.len();
        let machine = reader.text("the name of the machine")?;
        let n = reader.number("the ring degree")? as usize;
        let count = reader.count("the number of streams")?;
        let mut streams = Vec::new();
        for _ in 0..count {
            let name = reader.text("the name of a stream")?;
            let count = reader.count("the number of entries")?;
            let entries = (0..count).map(|_| reader.entry());
            let entries = entries.collect::<Result<_, _>>()?;
            streams.push(Stream { name, entries });
        }
        match reader.at == bytes.len() {
            true => Ok(Self {
                machine,
                n,
                streams,
            }),
            false => reader.fault(
                "the end",
                format!("{} more bytes", bytes.len() - reader.at),
                "none",
            ),
        }
    }
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        out.push(number as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend(text.as_bytes());
}

fn put_entry(out: &mut Vec<u8>, entry: &Entry) {
    let code = match entry.action {
        Action::Execute { kind, .. } => kind as u64,
        Action::Join { .. } => JOIN,
        Action::Load { .. } => LOAD,
        Action::Generate { .. } => GENERATE,
        Action::Write { .. } => WRITE,
    };
    [code, entry.stall, entry.busy]
        .into_iter()
        .for_each(|number| put(out, number));
    let optional = |number: Option<u32>| number.map_or(0, |number| u64::from(number) + 1);
    match &entry.action {
        Action::Execute {
            instruction,
            turn,
            operands,
            row,
            register,
            ..
        } => {
            let fields = [
                (*instruction).into(),
                (*turn).into(),
                optional(*row),
                optional(*register),
                operands.len() as u64,
            ];
            fields.into_iter().for_each(|number| put(out, number));
            for &Operand { from, keep } in operands {
                let (number, register) = match from {
                    Place::Row(row) => (row, 0),
                    Place::Register(register) => (register, 1),
                };
                put(
                    out,
                    4 * u64::from(number) + 2 * register + u64::from(keep.is_some()),
                );
                if let Some(keep) = keep {
                    put(out, keep.into());
                }
            }
        }
        Action::Join { instruction } => put(out, (*instruction).into()),
        Action::Load { limb, row }
        | Action::Generate { limb, row }
        | Action::Write { limb, row } => {
            put(out, (*limb).into());
            put(out, (*row).into());
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn fault<T>(
        &self,
        what: &'static str,
        found: impl ToString,
        expected: impl ToString,
    ) -> Result<T, Fault> {
        Err(Fault::new(
            format!("byte {}", self.at),
            what,
            found,
            expected,
        ))
    }

    fn number(&mut self, what: &'static str) -> Result<u64, Fault> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let Some(&byte) = self.bytes.get(self.at) else {
                return self.fault(what, "cut off", "an integer");
            };
            let group = u64::from(byte & 127);
            let repeated = shift > 0 && byte == 0;
            if repeated || group << shift >> shift != group {
                return self.fault(
                    what,
                    format!("the byte {byte}"),
                    "the shortest form of 64 bits at most",
                );
            }
            self.at += 1;
            number |= group << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        self.fault(what, "longer", "an integer of 64 bits")
    }

    fn short(&mut self, what: &'static str) -> Result<u32, Fault> {
        let number = self.number(what)?;
        number
            .try_into()
            .or_else(|_| self.fault(what, number, "below 2^32"))
    }

    /// A number of parts, each of at least a byte.
    fn count(&mut self, what: &'static str) -> Result<usize, Fault> {
        let number = self.number(what)?;
        let rest = self.bytes.len() - self.at;
        match usize::try_from(number).ok().filter(|&count| count <= rest) {
            Some(count) => Ok(count),
            None => self.fault(
                what,
                number,
                format!("at most {rest}, the bytes that follow"),
            ),
        }
    }

    fn text(&mut self, what: &'static str) -> Result<String, Fault> {
        let length = self.count(what)?;
        let bytes = &self.bytes[self.at..self.at + length];
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\n') => {
                self.at += length;
                Ok(text.to_owned())
            }
            _ => self.fault(what, "no line of UTF-8", "one"),
        }
    }

    fn optional(&mut self, what: &'static str) -> Result<Option<u32>, Fault> {
        match self.number(what)?.checked_sub(1) {
            None => Ok(None),
            Some(number) => match u32::try_from(number) {
                Ok(number) => Ok(Some(number)),
                Err(_) => self.fault(what, number, "below 2^32"),
            },
        }
    }

    fn entry(&mut self) -> Result<Entry, Fault> {
        let code = self.number("the code of an operation")?;
        let (stall, busy) = (
            self.number("the stall")?,
            self.number("the number of busy cycles")?,
        );
        let action = match code {
            code if code < JOIN => Action::Execute {
                kind: Operation::ALL[code as usize],
                instruction: self.short("the instruction")?,
                turn: self.short("the turn")?,
                row: self.optional("the row of the result")?,
                register: self.optional("the register of the result")?,
                operands: {
                    let count = self.count("the number of operands")?;
                    (0..count)
                        .map(|_| self.operand())
                        .collect::<Result<_, _>>()?
                },
            },
            JOIN => Action::Join {
                instruction: self.short("the instruction")?,
            },
            LOAD..=WRITE => {
                let (limb, row) = (self.short("the limb")?, self.short("the row")?);
                match code {
                    LOAD => Action::Load { limb, row },
                    GENERATE => Action::Generate { limb, row },
                    _ => Action::Write { limb, row },
                }
            }
            _ => return self.fault("the code of an operation", code, format!("at most {WRITE}")),
        };
        Ok(Entry {
            stall,
            busy,
            action,
        })
    }

    fn operand(&mut self) -> Result<Operand, Fault> {
        let packed = self.number("an operand")?;
        let Ok(number) = u32::try_from(packed >> 2) else {
            return self.fault("an operand", packed >> 2, "below 2^32");
        };
        let from = match packed & 2 {
            0 => Place::Row(number),
            _ => Place::Register(number),
        };
        let keep = match packed & 1 {
            0 => None,
            _ => Some(self.short("the register of an operand")?),
        };
        Ok(Operand { from, keep })
    }
}
