//! The byte form of everything client and server exchange, and of what the client keeps.
//!
//! Every object is sealed in `rlwe`'s container: kind, version, fingerprint of the program it belongs to,
//! checksum. The secret key is an object of its own; no object a server reads contains one.

use crate::client::{Client, Input};
use crate::error::{Error, Result};
use crate::server::Output;
use crate::verified::{Exchange, Verified};
use circuits::{ClientKeys, EvaluationKey, EvaluationKeys, Layout, PackingKey};
use program::Program;
use program::trace::Trace;
use rand::CryptoRng;
use ring::sample;
use ring::{Eval, Poly};
use rlwe::bytes::{
    BytesError, Fingerprint, Kind, Reader, Sealer, Writer, dimension_key_len, fingerprint,
    poly_len, sealed_len, switch_key_len,
};
use rlwe::lwe::LweSecret;
use rlwe::{GaloisKeys, SecretKey, SwitchKey};
use std::collections::BTreeMap;
use std::io::Write;
use zeroize::Zeroizing;

const PROGRAM: Kind = kind(b"PROG", "a program", 2);
const PROGRAM_1: Kind = kind(b"PROG", "a program", 1);
const SECRET_KEY: Kind = kind(b"SKEY", "a secret key", 1);
const EVALUATION_KEYS: Kind = kind(b"EKEY", "evaluation keys", 1);
const INPUT: Kind = kind(b"ENCI", "encrypted images", 1);
const OUTPUT: Kind = kind(b"ENCO", "encrypted results", 2);

pub(crate) const fn kind(tag: &[u8; 4], words: &'static str, version: u32) -> Kind {
    Kind {
        tag: *tag,
        words,
        version,
    }
}

/// Bytes of a program, in the version that its fingerprint is of.
pub fn program_to_bytes(verified: &Verified) -> Vec<u8> {
    let mut w = Writer::new();
    w.block(verified.program().to_json().as_bytes());
    let identity = fingerprint(verified.program().identity().as_bytes());
    let kind = match identity == *verified.fingerprint() {
        true => &PROGRAM,
        false => &PROGRAM_1,
    };
    w.seal(kind, verified.fingerprint())
}

/// Reads a program.
///
/// Files of version 1 bear the hash of their text, predictions included. They keep it as their fingerprint, so that keys and
/// queries made for them stay good.
///
/// # Errors
/// If the bytes are no program, or the program is wrong or not secure.
pub fn program_from_bytes(bytes: &[u8]) -> Result<Verified> {
    let opened = Reader::open_any(bytes, &PROGRAM);
    let is_old = matches!(opened, Err(BytesError::Version { found: 1, .. }));
    let (mut r, found) = match is_old {
        true => Reader::open_any(bytes, &PROGRAM_1)?,
        false => opened?,
    };
    let json = r.block("the program")?;
    r.end()?;
    let text = std::str::from_utf8(json).map_err(|e| program::Error::Json(e.to_string()))?;
    let program = Program::from_json(text)?;
    let own = match is_old {
        true => fingerprint(program.to_json().as_bytes()),
        false => fingerprint(program.identity().as_bytes()),
    };
    if own != found {
        // Keys made for one program would not be taken for the other.
        return Err(BytesError::other_program(PROGRAM.words, &found, &own).into());
    }
    Verified::of_fingerprint(program, own)
}

/// Bytes of a client's secrets, overwritten when dropped.
pub fn client_to_bytes(client: &Client) -> Zeroizing<Vec<u8>> {
    let secrets = [
        client.keys().secret().coefficients(),
        client.keys().lwe().coefficients(),
    ];
    let mut w = Writer::with_room(secrets.iter().map(|s| s.len()).sum());
    for secret in secrets {
        w.small(secret);
    }
    w.seal(&SECRET_KEY, client.verified().fingerprint()).into()
}

/// Reads a client's secrets.
///
/// # Errors
/// If the bytes are no secret key of this program.
pub fn client_from_bytes(verified: &Verified, bytes: &[u8]) -> Result<Client> {
    let mut r = Reader::open(bytes, &SECRET_KEY, verified.fingerprint())?;
    let params = verified.params();
    let secret = r.small("a coefficient of the secret key", params.bfv().n(), 1)?;
    let lwe = r.small("a coefficient of the LWE secret", params.dimension(), 1)?;
    r.end()?;
    let secret = SecretKey::from_coefficients(params.bfv().rlwe(), secret);
    let keys = ClientKeys::from_parts(params, secret, LweSecret::from_coefficients(lwe));
    Ok(Client::from_keys(verified, keys))
}

/// Bytes of evaluation keys.
///
/// # Errors
/// If a key is missing.
pub fn keys_to_bytes(exchange: &Exchange, keys: &EvaluationKeys) -> Result<Vec<u8>> {
    let mut w = Writer::new();
    let needs = exchange.needs();
    if needs.relinearization().is_some() {
        w.switch_key(keys.relinearization()?);
    }
    for (element, key) in keys.galois().iter() {
        write_galois(&mut w, element, key);
    }
    for (&values, key) in keys.packings() {
        write_packing(&mut w, values, key);
    }
    if needs.switches() {
        w.dimension_key(keys.switch()?);
    }
    Ok(w.seal(&EVALUATION_KEYS, exchange.fingerprint()))
}

/// Makes the evaluation keys of a client's program and writes them, one at a time: none stays in memory.
///
/// # Errors
/// From the circuits, and [`Error::Io`].
pub fn write_new_keys(client: &Client, rng: &mut impl CryptoRng, out: impl Write) -> Result<()> {
    let exchange = client.verified();
    let (needs, length) = (exchange.needs(), keys_len(exchange)?);
    let mut sealer = Sealer::new(out, &EVALUATION_KEYS, exchange.fingerprint(), length as u64)?;
    client.keys().each_evaluation_key(&needs, rng, |key| {
        let mut w = Writer::new();
        match &key {
            EvaluationKey::Relinearization(key) => w.switch_key(key),
            EvaluationKey::Galois(element, key) => write_galois(&mut w, *element, key),
            EvaluationKey::Packing(values, key) => write_packing(&mut w, *values, key),
            EvaluationKey::Dimension(key) => w.dimension_key(key),
        }
        drop(key);
        sealer.part(w)?;
        ring::release_pool();
        Ok::<_, Error>(())
    })?;
    Ok(sealer.end()?)
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

/// Bytes of a file of evaluation keys.
///
/// # Errors
/// If a packing is no power of two of values.
pub fn keys_file_len(exchange: &Exchange) -> Result<usize> {
    Ok(sealed_len(keys_len(exchange)?))
}

/// Bytes of the keys in a file, without header and checksum.
fn keys_len(exchange: &Exchange) -> Result<usize> {
    let (params, needs) = (exchange.params(), exchange.needs());
    let rlwe = params.bfv().rlwe();
    let relinearization = needs.relinearization().into_iter();
    let relinearization: usize = relinearization.map(|l| switch_key_len(rlwe, l)).sum();
    let galois = needs.galois_elements().values();
    let galois: usize = galois.map(|&level| 8 + switch_key_len(rlwe, level)).sum();
    let mut packing = 0;
    for (&values, &level) in needs.packings() {
        let layout = Layout::new(rlwe.n(), values)?;
        let bodies = circuits::pack::key_len(params, layout);
        packing += 8 + size_of::<sample::Seed>() + bodies * poly_len(rlwe.basis(level));
    }
    let dimension = match needs.switches() {
        true => dimension_key_len(params.small()),
        false => 0,
    };
    Ok(relinearization + galois + packing + dimension)
}

/// Reads evaluation keys: exactly those the program needs.
///
/// # Errors
/// If the bytes are no evaluation keys of this program.
pub fn keys_from_bytes(exchange: &Exchange, bytes: &[u8]) -> Result<EvaluationKeys> {
    let mut r = Reader::open(bytes, &EVALUATION_KEYS, exchange.fingerprint())?;
    let (params, needs) = (exchange.params(), exchange.needs());
    let rlwe = params.bfv().rlwe();
    let at_level = |key: rlwe::SwitchKey, level: usize| -> Result<rlwe::SwitchKey> {
        if key.level() == level {
            return Ok(key);
        }
        Err(wrong("the level of a key", key.level(), level.to_string()))
    };
    let relinearization = match needs.relinearization() {
        Some(level) => Some(at_level(r.switch_key(rlwe)?, level)?),
        None => None,
    };
    let mut galois = GaloisKeys::new();
    for (&element, &level) in needs.galois_elements() {
        let found = r.u64("a Galois element")?;
        if found != element as u64 {
            return Err(wrong(
                "a Galois element",
                found as usize,
                element.to_string(),
            ));
        }
        galois.insert(element, at_level(r.switch_key(rlwe)?, level)?);
    }
    let mut packing = BTreeMap::new();
    for (&values, &level) in needs.packings() {
        let found = r.u64("the number of values of a packing key")?;
        if found != values as u64 {
            return Err(wrong(
                "the number of values of a packing key",
                found as usize,
                values.to_string(),
            ));
        }
        let seed = r.seed()?;
        let layout = Layout::new(rlwe.n(), values)?;
        let count = circuits::pack::key_len(params, layout);
        let ciphertexts = (0..count)
            .map(|index| seeded(&mut r, rlwe, level, &seed, index as u32))
            .collect::<Result<_>>()?;
        packing.insert(values, PackingKey::new(seed, ciphertexts));
    }
    let switch = match needs.switches() {
        true => Some(r.dimension_key(params.small())?),
        false => None,
    };
    r.end()?;
    Ok(EvaluationKeys::from_parts(
        relinearization,
        galois,
        packing,
        switch,
    ))
}

pub(crate) fn wrong(what: &'static str, found: usize, expected: String) -> Error {
    let found = found as u64;
    BytesError::Value {
        what,
        found,
        expected,
    }
    .into()
}

/// Reads the hash of a query.
pub(crate) fn read_hash(r: &mut Reader<'_>) -> Result<Fingerprint> {
    let hash = r.block("the hash of the query")?;
    Fingerprint::try_from(hash).map_err(|_| wrong("the length of a hash", hash.len(), "32".into()))
}

/// Reads a ciphertext whose mask expands from a seed.
fn seeded(
    r: &mut Reader<'_>,
    params: &rlwe::Params,
    level: usize,
    seed: &sample::Seed,
    index: u32,
) -> Result<bfv::Ciphertext> {
    let basis = params.basis(level);
    let body: Poly<Eval> = r.poly(basis)?;
    let mask = sample::uniform_from_seed(basis, seed, index);
    Ok(bfv::Ciphertext::new(
        rlwe::Ciphertext::new(vec![body, mask]),
        1,
    ))
}

/// Bytes of encrypted images.
pub fn input_to_bytes(input: &Input) -> Vec<u8> {
    let mut w = Writer::new();
    w.seed(&input.seed);
    w.u64(input.images as u64);
    input
        .ciphertexts
        .iter()
        .for_each(|ct| w.poly(&ct.rlwe().components()[0]));
    w.seal(&INPUT, &input.fingerprint)
}

/// Reads encrypted images.
///
/// # Errors
/// If the bytes are no encrypted images for this program.
pub fn input_from_bytes(exchange: &Exchange, bytes: &[u8]) -> Result<Input> {
    let mut r = Reader::open(bytes, &INPUT, exchange.fingerprint())?;
    let (rlwe, level) = (exchange.params().bfv().rlwe(), exchange.input_level());
    let seed = r.seed()?;
    let images = r.bounded("the number of images", 1..=exchange.batch())?;
    let ciphertexts = (0..exchange.inputs())
        .map(|index| seeded(&mut r, rlwe, level, &seed, index as u32))
        .collect::<Result<_>>()?;
    r.end()?;
    let fingerprint: Fingerprint = *exchange.fingerprint();
    Ok(Input {
        fingerprint,
        seed,
        images,
        ciphertexts,
    })
}

/// The text of a trace, with the terms on which its program's keys and queries are exchanged as a comment.
pub fn trace_to_text(exchange: &Exchange, trace: &Trace) -> String {
    let text = trace.to_string();
    let (header, rest) = text.split_once('\n').unwrap_or((&text, ""));
    format!("{header}\n{TERMS}{}\n{rest}", exchange.to_json())
}

/// Reads the text of a trace.
///
/// # Errors
/// If the terms are missing or wrong, and those of [`Trace::parse`].
pub fn trace_from_text(text: &str) -> Result<(Exchange, Trace)> {
    let trace = Trace::parse(text)?;
    let terms = text.lines().find_map(|line| line.strip_prefix(TERMS));
    let terms = terms.ok_or_else(|| Error::Replay {
        what: "the trace's program".into(),
        found: "missing".into(),
        expected: format!(
            "a line that begins with `{}`, as `palladion lower` writes",
            TERMS.trim_end()
        ),
    })?;
    Ok((Exchange::from_json(terms)?, trace))
}

/// Begins the comment of a trace that has its program's terms.
const TERMS: &str = "# of ";

/// Bytes of encrypted results.
pub fn output_to_bytes(exchange: &Exchange, output: &Output) -> Vec<u8> {
    let mut w = Writer::new();
    w.block(&output.query);
    w.u64(output.images as u64);
    for ct in &output.ciphertexts {
        w.u64(ct.factor());
        w.ciphertext(ct.rlwe());
    }
    w.seal(&OUTPUT, exchange.fingerprint())
}

/// Reads encrypted results.
///
/// # Errors
/// If the bytes are no results of this program.
pub fn output_from_bytes(exchange: &Exchange, bytes: &[u8]) -> Result<Output> {
    let mut r = Reader::open(bytes, &OUTPUT, exchange.fingerprint())?;
    let (rlwe, t) = (
        exchange.params().bfv().rlwe(),
        exchange.params().bfv().t().value() as usize,
    );
    let query = read_hash(&mut r)?;
    let images = r.bounded("the number of images", 1..=exchange.batch())?;
    let ciphertexts = exchange
        .output_levels()
        .iter()
        .map(|&level| {
            let factor = r.bounded("the factor of a result", 1..=t - 1)?;
            let ct = r.ciphertext(rlwe, level, 2)?;
            Ok(bfv::Ciphertext::new(ct, factor as u64))
        })
        .collect::<Result<_>>()?;
    r.end()?;
    Ok(Output {
        query,
        images,
        ciphertexts,
    })
}
