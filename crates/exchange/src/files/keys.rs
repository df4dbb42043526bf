//! The file of evaluation keys, written whole or one key at a time.

use super::{kind, seeded, wrong};
use crate::error::{Error, Result};
use crate::keys::{EvaluationKey, EvaluationKeys, PackingKey};
use crate::layout::Layout;
use crate::needs::{Need, Needs};
use crate::packing;
use crate::params::LoopParams;
use crate::terms::Exchange;
use ring::sample::Seed;
use rlwe::bytes::{
    Kind, Reader, Sealer, Writer, dimension_key_len, poly_len, sealed_len, switch_key_len,
};
use rlwe::{PublicKey, SwitchKey};
use std::collections::VecDeque;
use std::io::Write;

/// Bytes of a Galois element or of a number of values.
pub(super) const NUMBER: usize = size_of::<u64>();
const EVALUATION_KEYS: Kind = kind(b"EKEY", "evaluation keys", 2);

/// Returns the byte form of the evaluation keys that the program needs, and no others.
///
/// # Errors
/// If a key is missing.
pub fn keys_to_bytes(exchange: &Exchange, keys: &EvaluationKeys) -> Result<Vec<u8>> {
    let mut w = Writer::new();
    for need in exchange.needs().each() {
        match need {
            Need::Relinearization { .. } => w.switch_key(keys.relinearization()?),
            Need::Galois { element, .. } => {
                write_galois(&mut w, element, keys.galois().get(element)?.0);
            }
            Need::Packing { values, .. } => write_packing(&mut w, values, keys.packing(values)?),
            Need::Dimension => w.dimension_key(keys.switch()?),
            Need::Public { .. } => write_public(&mut w, keys.public()?),
        }
    }
    Ok(w.seal(&EVALUATION_KEYS, exchange.fingerprint()))
}

/// Writes a file of evaluation keys one key at a time, so that none needs to stay in memory.
pub struct KeysWriter<'a, W> {
    exchange: &'a Exchange,
    /// Keys that are still to be written.
    left: VecDeque<Need>,
    sealer: Sealer<W>,
}

impl<'a, W: Write> KeysWriter<'a, W> {
    /// Begins the file of the keys that a program needs.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of values of a packing is no power of two, and [`Error::Io`].
    pub fn new(exchange: &'a Exchange, out: W) -> Result<Self> {
        let length = keys_len(exchange.params(), &exchange.needs())? as u64;
        Ok(Self {
            exchange,
            left: exchange.needs().each().collect(),
            sealer: Sealer::new(out, &EVALUATION_KEYS, exchange.fingerprint(), length)?,
        })
    }

    /// Writes the next key, in the order of [`Needs::each`](crate::Needs::each), and frees it.
    ///
    /// # Errors
    /// [`Error::Shape`] if the key is not the next one or has other parameters, and [`Error::Io`].
    pub fn write(&mut self, key: EvaluationKey) -> Result<()> {
        let (found, expected) = (key.need(), self.left.pop_front());
        if Some(found) != expected {
            return Err(Error::Shape {
                what: "the next evaluation key",
                found: found.to_string(),
                expected: expected.map_or("none".into(), |need| need.to_string()),
            });
        }
        let mut w = Writer::new();
        match &key {
            EvaluationKey::Relinearization(key) => w.switch_key(key),
            EvaluationKey::Galois(element, key) => write_galois(&mut w, *element, key),
            EvaluationKey::Packing(values, key) => write_packing(&mut w, *values, key),
            EvaluationKey::Dimension(key) => w.dimension_key(key),
            EvaluationKey::Public(key) => write_public(&mut w, key),
        }
        drop(key);
        let expected = need_len(self.exchange.params(), found)?;
        if w.payload_len() != expected {
            return Err(Error::Shape {
                what: "the number of bytes of an evaluation key",
                found: w.payload_len().to_string(),
                expected: format!("{expected}: a key of the program's parameters"),
            });
        }
        Ok(self.sealer.part(w)?)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// [`Error::Shape`] if a key has not been written, and [`Error::Io`].
    pub fn end(self) -> Result<()> {
        if let Some(need) = self.left.front() {
            return Err(Error::Shape {
                what: "the next evaluation key",
                found: "missing".into(),
                expected: need.to_string(),
            });
        }
        Ok(self.sealer.end()?)
    }
}

fn write_galois(w: &mut Writer, element: usize, key: &SwitchKey) {
    w.u64(element as u64);
    w.switch_key(key);
}

fn write_packing(w: &mut Writer, values: usize, key: &PackingKey) {
    w.u64(values as u64);
    w.seed(key.seed());
    let ciphertexts = key.ciphertexts().iter();
    ciphertexts.for_each(|ct| w.poly(&ct.rlwe().components()[0]));
}

fn write_public(w: &mut Writer, key: &PublicKey) {
    let (body, seed) = key.parts();
    w.seed(seed);
    w.poly(body);
}

/// Length of a file with the evaluation keys `needs`, in bytes.
///
/// # Errors
/// [`Error::Shape`] if the number of values of a packing is no power of two.
pub fn keys_file_len(params: &LoopParams, needs: &Needs) -> Result<usize> {
    Ok(sealed_len(keys_len(params, needs)?))
}

/// Length of the keys in a file, in bytes, without header and checksum.
fn keys_len(params: &LoopParams, needs: &Needs) -> Result<usize> {
    needs.each().map(|need| need_len(params, need)).sum()
}

/// Length of one key in a file, in bytes.
pub(super) fn need_len(params: &LoopParams, need: Need) -> Result<usize> {
    let rlwe = params.bfv().rlwe();
    Ok(match need {
        Need::Relinearization { level } => switch_key_len(rlwe, level),
        Need::Galois { level, .. } => NUMBER + switch_key_len(rlwe, level),
        Need::Packing { values, level } => {
            let layout = Layout::new(rlwe.n(), values)?;
            let bodies = packing::key_len(params, layout) * poly_len(rlwe.basis(level));
            NUMBER + size_of::<Seed>() + bodies
        }
        Need::Dimension => dimension_key_len(params.small()),
        Need::Public { level } => size_of::<Seed>() + poly_len(rlwe.basis(level)),
    })
}

/// Reads evaluation keys: exactly those that the program needs.
///
/// # Errors
/// If the bytes are no evaluation keys of this program.
pub fn keys_from_bytes(exchange: &Exchange, bytes: &[u8]) -> Result<EvaluationKeys> {
    Reader::open_with(bytes, &EVALUATION_KEYS, exchange.fingerprint(), |r| {
        let mut keys = EvaluationKeys::default();
        for need in exchange.needs().each() {
            keys.insert(read(r, exchange, need)?);
        }
        Ok(keys)
    })
}

/// Reads the key `need`.
fn read(r: &mut Reader<'_>, exchange: &Exchange, need: Need) -> Result<EvaluationKey> {
    let params = exchange.params();
    let rlwe = params.bfv().rlwe();
    Ok(match need {
        Need::Relinearization { level } => {
            EvaluationKey::Relinearization(read_switch_key(r, rlwe, level)?)
        }
        Need::Galois { element, level } => {
            read_number(r, "a Galois element", element)?;
            EvaluationKey::Galois(element, read_switch_key(r, rlwe, level)?)
        }
        Need::Packing { values, level } => {
            read_number(r, "the number of values of a packing key", values)?;
            let seed = r.seed()?;
            let count = packing::key_len(params, Layout::new(rlwe.n(), values)?);
            let ciphertexts = (0..count).map(|index| seeded(r, rlwe, level, (&seed, index)));
            let ciphertexts = ciphertexts.collect::<Result<_>>()?;
            EvaluationKey::Packing(values, PackingKey::new(seed, ciphertexts))
        }
        Need::Dimension => EvaluationKey::Dimension(r.dimension_key(params.small())?),
        Need::Public { level } => {
            let seed = r.seed()?;
            EvaluationKey::Public(PublicKey::from_parts(r.poly(rlwe.basis(level))?, seed))
        }
    })
}

/// Reads a number that must be `expected`.
fn read_number(r: &mut Reader<'_>, what: &'static str, expected: usize) -> Result<()> {
    let found = r.u64(what)?;
    match found == expected as u64 {
        true => Ok(()),
        false => Err(wrong(what, found, expected.to_string())),
    }
}

fn read_switch_key(r: &mut Reader<'_>, params: &rlwe::Params, level: usize) -> Result<SwitchKey> {
    let key = r.switch_key(params)?;
    match key.level() == level {
        true => Ok(key),
        false => {
            let found = key.level() as u64;
            Err(wrong("the level of a key", found, level.to_string()))
        }
    }
}
