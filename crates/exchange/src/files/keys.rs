//! The file of evaluation keys, written whole or one key at a time.

use super::{kind, seeded, text, wrong};
use crate::error::{Error, Result};
use crate::keys::{EvaluationKey, EvaluationKeys, PackingKey};
use crate::label::{Label, MAX_LABEL};
use crate::layout::Layout;
use crate::needs::{Need, Needs};
use crate::packing;
use crate::params::LoopParams;
use crate::profile::{MAX_PROFILE, Profile};
use crate::terms::Exchange;
use ring::sample::Seed;
use rlwe::bytes::{
    BytesError, Fingerprint, Kind, Reader, Sealer, Unsealer, Writer, dimension_key_len,
    fingerprint, poly_len, sealed_len, switch_key_len,
};
use rlwe::{PublicKey, SwitchKey};
use std::collections::VecDeque;
use std::io::{Read, Write};

/// Bytes of a Galois element or of a number of values.
pub(super) const NUMBER: usize = size_of::<u64>();
const EVALUATION_KEYS: Kind = kind(b"EKEY", "evaluation keys", 3);
/// Length of a label, which spaces fill up.
const LABEL_LEN: usize = 256;
/// Has no profile and no label, and the fingerprint of a program in the place of the profile's.
const OF_PROGRAM: Kind = kind(b"EKEY", "evaluation keys", 2);

/// Returns the byte form of all evaluation keys in `keys`, with their profile and their label.
///
/// # Errors
/// [`rlwe::Error::KeyMismatch`] if they belong to several secrets.
pub fn keys_to_bytes(params: &LoopParams, keys: &EvaluationKeys) -> Result<Vec<u8>> {
    let profile = Profile::new(params, &keys.needs());
    let label = Label {
        key: keys.id()?,
        ..*keys.label()
    };
    let mut w = Writer::new();
    write_head(&mut w, &profile, &label);
    for need in profile.needs().each() {
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
    Ok(w.seal(&EVALUATION_KEYS, &profile.id()))
}

/// Appends the profile and the label of keys.
pub(super) fn write_head(w: &mut Writer, profile: &Profile, label: &Label) {
    w.block(profile.to_json().as_bytes());
    // All labels have one length, so the length of a file follows from its profile.
    w.block(format!("{:LABEL_LEN$}", label.to_json()).as_bytes());
}

/// Writes a file of evaluation keys one key at a time, so that none needs to stay in memory.
pub struct KeysWriter<'a, W> {
    params: &'a LoopParams,
    /// Keys that are still to be written.
    left: VecDeque<Need>,
    sealer: Sealer<W>,
}

impl<'a, W: Write> KeysWriter<'a, W> {
    /// Begins the file of the keys `needs`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of values of a packing is no power of two, and [`Error::Io`].
    pub fn new(params: &'a LoopParams, needs: &Needs, label: &Label, out: W) -> Result<Self> {
        let profile = Profile::new(params, needs);
        let mut head = Writer::new();
        write_head(&mut head, &profile, label);
        let length = (head.payload_len() + keys_len(params, needs)?) as u64;
        let mut sealer = Sealer::new(out, &EVALUATION_KEYS, &profile.id(), length)?;
        sealer.part(head)?;
        Ok(Self {
            params,
            left: needs.each().collect(),
            sealer,
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
        let expected_len = need_len(self.params, found)?;
        let mut w = Writer::with_room(expected_len);
        match &key {
            EvaluationKey::Relinearization(key) => w.switch_key(key),
            EvaluationKey::Galois(element, key) => write_galois(&mut w, *element, key),
            EvaluationKey::Packing(values, key) => write_packing(&mut w, *values, key),
            EvaluationKey::Dimension(key) => w.dimension_key(key),
            EvaluationKey::Public(key) => write_public(&mut w, key),
        }
        drop(key);
        if w.payload_len() != expected_len {
            return Err(Error::Shape {
                what: "the number of bytes of an evaluation key",
                found: w.payload_len().to_string(),
                expected: format!("{expected_len}: a key of the program's parameters"),
            });
        }
        Ok(self.sealer.part(w)?)
    }

    /// Ends the file. Returns its digest: SHA-256 of all its bytes.
    ///
    /// # Errors
    /// [`Error::Shape`] if a key has not been written, and [`Error::Io`].
    pub fn end(self) -> Result<Fingerprint> {
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
    let mut head = Writer::new();
    write_head(&mut head, &Profile::new(params, needs), &Label::default());
    Ok(sealed_len(head.payload_len() + keys_len(params, needs)?))
}

/// Length of the keys in a file, in bytes, without what stands around them.
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

/// Reads the evaluation keys that the program needs. The file may have more.
///
/// A file of version 2 is one of a single program, with no others.
///
/// # Errors
/// [`Error::Profile`] for keys of other parameters, [`Error::MissingKeys`], and if the bytes are no
/// evaluation keys.
pub fn keys_from_bytes(exchange: &Exchange, bytes: &[u8]) -> Result<EvaluationKeys> {
    let keys = some_keys_from_bytes(exchange, bytes)?;
    keys.check(&exchange.needs())?;
    Ok(keys)
}

/// As [`keys_from_bytes`], but some of the keys may be missing: they are in another file, which
/// [`EvaluationKeys::merge`] adds.
///
/// # Errors
/// As [`keys_from_bytes`], except [`Error::MissingKeys`].
pub fn some_keys_from_bytes(exchange: &Exchange, bytes: &[u8]) -> Result<EvaluationKeys> {
    Ok(read_some_keys(exchange, bytes)?.0)
}

/// As [`some_keys_from_bytes`], from a file or a connection. It holds one key at a time in the
/// form of the file. Also returns the checksum at the end of the file.
///
/// # Errors
/// As [`some_keys_from_bytes`], and [`Error::Io`].
pub fn read_some_keys(
    exchange: &Exchange,
    input: impl Read + Send,
) -> Result<(EvaluationKeys, Fingerprint)> {
    let params = exchange.params();
    let unsealer = Unsealer::new::<Error>(input, EVALUATION_KEYS, OF_PROGRAM.version)?;
    let kind = unsealer.kind();
    let found = *unsealer.fingerprint();
    if kind.version == OF_PROGRAM.version {
        if found != *exchange.fingerprint() {
            let expected = exchange.fingerprint();
            return Err(BytesError::other_program(kind.words, &found, expected).into());
        }
        return unsealer.read_all(|from| {
            let mut keys = EvaluationKeys::default();
            for need in exchange.needs().each() {
                keys.insert(read(from, params, need)?);
            }
            Ok(keys)
        });
    }
    unsealer.read_all(|from| {
        let (profile, label) = read_head_of(from, &found)?;
        profile.check_parameters(exchange.profile())?;
        let wanted = exchange.needs();
        let mut keys = EvaluationKeys::default();
        for need in profile.needs().each() {
            match wanted.has(need) {
                true => keys.insert(read(from, params, need)?),
                false => skip(from, need_len(params, need)?)?,
            }
        }
        Ok(keys.labelled(label))
    })
}

/// Passes over a key.
fn skip<R: Read + Send>(from: &mut Unsealer<R>, length: usize) -> Result<()> {
    const WHAT: &str = "an evaluation key";
    from.part(WHAT, length, |r| Ok(r.skip(WHAT, length)?))
}

/// Reads the profile and the label of a file of evaluation keys. It passes over the keys, so that
/// the checksum is checked and little of the file is in memory at a time.
///
/// # Errors
/// If the bytes are no evaluation keys, or such of a version before 3, which has neither, and
/// [`Error::Io`].
pub fn keys_head(input: impl Read + Send) -> Result<(Profile, Label)> {
    let version = EVALUATION_KEYS.version;
    let unsealer = Unsealer::new::<Error>(input, EVALUATION_KEYS, version)?;
    let profile_hash = *unsealer.fingerprint();
    let (head, _) = unsealer.read_all(|from| {
        let head = read_head_of(from, &profile_hash)?;
        from.skip_rest::<Error>()?;
        Ok::<_, Error>(head)
    })?;
    Ok(head)
}

/// As [`read_head`], from a file or a connection.
fn read_head_of<R: Read + Send>(
    from: &mut Unsealer<R>,
    profile_hash: &Fingerprint,
) -> Result<(Profile, Label)> {
    let json = from.bounded_block::<Error>("the profile of the keys", MAX_PROFILE)?;
    let profile = profile_of(&json, profile_hash)?;
    let label = from.bounded_block::<Error>("the label of the keys", MAX_LABEL)?;
    Ok((profile, Label::from_json(text(&label)?)?))
}

pub(super) fn read_head(r: &mut Reader<'_>, found: &Fingerprint) -> Result<(Profile, Label)> {
    let profile = profile_of(
        r.bounded_block("the profile of the keys", MAX_PROFILE)?,
        found,
    )?;
    let label = Label::from_json(text(r.bounded_block("the label of the keys", MAX_LABEL)?)?)?;
    Ok((profile, label))
}

/// The profile with the JSON `json`, whose hash must be `found`.
fn profile_of(json: &[u8], found: &Fingerprint) -> Result<Profile> {
    let own = fingerprint(json);
    match own == *found {
        true => Ok(Profile::from_json(text(json)?)?),
        false => Err(BytesError::other_program("the profile of the keys", found, &own).into()),
    }
}

/// Reads the key `need`.
fn read<R: Read + Send>(
    from: &mut Unsealer<R>,
    params: &LoopParams,
    need: Need,
) -> Result<EvaluationKey> {
    let length = need_len(params, need)?;
    from.part("an evaluation key", length, |r| read_need(r, params, need))
}

fn read_need(r: &mut Reader<'_>, params: &LoopParams, need: Need) -> Result<EvaluationKey> {
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
