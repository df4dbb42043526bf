//! The byte form of everything that client and server exchange.
//!
//! Every object is sealed in `rlwe`'s container: kind, version, fingerprint of what it belongs to,
//! checksum. Evaluation keys belong to a profile, a query to an input layout, and an answer to a
//! program. No object here contains a secret: the client keeps its secrets in a file of their own.
//!
//! Files of the versions before the first release are read. They belong to one program each.

mod encryption_key;
mod keys;
mod messages;
mod offsets;
mod program;
mod terms;

pub use encryption_key::{
    encryption_key_file_len, encryption_key_from_bytes, encryption_key_head,
    encryption_key_to_bytes,
};
pub use keys::{
    KeysWriter, keys_file_len, keys_from_bytes, keys_head, keys_to_bytes, read_some_keys,
    some_keys_from_bytes,
};
pub use messages::{
    AnswerHead, QueryHead, answer_from_bytes, answer_head, answer_to_bytes, public_query_file_len,
    query_file_len, query_from_bytes, query_head, query_to_bytes,
};
pub use offsets::{Offsets, offsets};
pub use program::{program_from_bytes, program_to_bytes};
pub use terms::{terms_from_bytes, terms_to_bytes};

use crate::error::{Error, Result};
use ring::sample::{Seed, uniform_from_seed};
use rlwe::bytes::{BytesError, Fingerprint, Kind, Reader};

/// Makes a kind of file from its tag, its name in error messages, and the version of its format.
pub const fn kind(tag: &[u8; 4], words: &'static str, version: u32) -> Kind {
    Kind {
        tag: *tag,
        words,
        version,
    }
}

/// Reads the hash of a query.
///
/// # Errors
/// If the hash is missing or does not have 32 bytes.
pub fn read_hash(r: &mut Reader<'_>) -> Result<Fingerprint> {
    let hash = r.block("the hash of the query")?;
    let length = hash.len() as u64;
    Fingerprint::try_from(hash).map_err(|_| wrong("the length of a hash", length, "32".into()))
}

/// Bytes of JSON as text.
fn text(json: &[u8]) -> Result<&str> {
    Ok(std::str::from_utf8(json).map_err(|error| ::program::Error::Json(error.to_string()))?)
}

fn wrong(what: &'static str, found: u64, expected: String) -> Error {
    let error = BytesError::Value {
        what,
        found,
        expected,
    };
    error.into()
}

/// Reads a ciphertext whose mask is expanded from the seed and the index.
fn seeded(
    r: &mut Reader<'_>,
    params: &rlwe::Params,
    level: usize,
    (seed, index): (&Seed, usize),
) -> Result<bfv::Ciphertext> {
    let basis = params.basis(level);
    let body = r.poly(basis)?;
    let mask = uniform_from_seed(basis, seed, index as u32);
    let inner = rlwe::Ciphertext::new(vec![body, mask]);
    Ok(bfv::Ciphertext::new(inner, 1))
}
