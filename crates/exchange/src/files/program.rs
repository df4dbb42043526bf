//! A program's file.

use super::{kind, text};
use crate::error::Result;
use crate::verified::Verified;
use program::Program;
use rlwe::bytes::{BytesError, Kind, Reader, Writer, fingerprint};

/// May have a promise for inputs under a public key.
const PROGRAM: Kind = kind(b"PROG", "a program", 3);
const PROGRAM_2: Kind = kind(b"PROG", "a program", 2);
const PROGRAM_1: Kind = kind(b"PROG", "a program", 1);

/// Returns the byte form of a program, in the oldest format version that has all of it. A program
/// of a file of version 1 keeps its fingerprint, which belongs to that version.
pub fn program_to_bytes(verified: &Verified) -> Vec<u8> {
    let mut w = Writer::new();
    w.block(verified.program().to_json().as_bytes());
    let identity = fingerprint(verified.program().identity().as_bytes());
    let promise = verified.program().prediction.public_inputs;
    let kind = match (identity == *verified.fingerprint(), promise) {
        (true, Some(_)) => &PROGRAM,
        (true, None) => &PROGRAM_2,
        (false, _) => &PROGRAM_1,
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
    let kind = PROGRAM.since(PROGRAM_1.version, bytes);
    let is_old = kind.version == PROGRAM_1.version;
    let (mut r, found) = Reader::open_any(bytes, &kind)?;
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
