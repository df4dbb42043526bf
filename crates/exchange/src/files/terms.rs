//! The client's file: the terms of a program, without the program.

use super::{kind, text};
use crate::error::Result;
use crate::terms::Exchange;
use rlwe::bytes::{BytesError, Kind, Reader, Writer};

/// May have a promise for inputs under a public key.
const TERMS: Kind = kind(b"CLNT", "a client's file", 2);
const TERMS_1: Kind = kind(b"CLNT", "a client's file", 1);

/// Returns the byte form of a program's terms: all that a client needs. No weight, bias or table of
/// the network is in it.
pub fn terms_to_bytes(exchange: &Exchange) -> Vec<u8> {
    let mut w = Writer::new();
    w.block(exchange.to_json().as_bytes());
    let kind = match exchange.terms().public_inputs {
        Some(_) => &TERMS,
        None => &TERMS_1,
    };
    w.seal(kind, exchange.fingerprint())
}

/// Reads the terms of a program.
///
/// # Errors
/// If the bytes are no client's file, or its terms break a rule or are not secure.
pub fn terms_from_bytes(bytes: &[u8]) -> Result<Exchange> {
    let kind = TERMS.since(TERMS_1.version, bytes);
    let (mut r, found) = Reader::open_any(bytes, &kind)?;
    let json = r.block("the terms")?;
    r.end()?;
    let exchange = Exchange::from_json(text(json)?)?;
    match *exchange.fingerprint() == found {
        true => Ok(exchange),
        false => Err(BytesError::other_program(TERMS.words, &found, exchange.fingerprint()).into()),
    }
}
