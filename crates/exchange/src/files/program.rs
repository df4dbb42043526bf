//! A program's file.

use super::{kind, text};
use crate::error::Result;
use crate::verified::Verified;
use program::Program;
use rlwe::bytes::{BytesError, Kind, Reader, Writer, fingerprint};

const PROGRAM: Kind = kind(b"PROG", "a program", 2);
const PROGRAM_1: Kind = kind(b"PROG", "a program", 1);

/// Returns the byte form of a program, in the format version that its fingerprint belongs to.
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
/// Files of version 1 carry the hash of their whole text, predictions included. The program read
/// from such a file keeps that hash as its fingerprint, so that keys and queries made for it stay
/// valid.
///
/// # Errors
/// If the bytes are no program, or the program breaks a rule or is not secure.
pub fn program_from_bytes(bytes: &[u8]) -> Result<Verified> {
    let opened = Reader::open_any(bytes, &PROGRAM);
    let is_old = matches!(opened, Err(BytesError::Version { found: 1, .. }));
    let (mut r, found) = match is_old {
        true => Reader::open_any(bytes, &PROGRAM_1)?,
        false => opened?,
    };
    let json = r.block("the program")?;
    r.end()?;
    let program = Program::from_json(text(json)?)?;
    let own = match is_old {
        true => fingerprint(program.to_json().as_bytes()),
        false => fingerprint(program.identity().as_bytes()),
    };
    if own != found {
        // Keys made for one of the two programs must not be used with the other.
        return Err(BytesError::other_program(PROGRAM.words, &found, &own).into());
    }
    Verified::of_fingerprint(program, own)
}
