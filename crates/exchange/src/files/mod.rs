//! The byte form of everything that client and server exchange.
//!
//! Every object is sealed in `rlwe`'s container: kind, version, fingerprint of the program that it
//! belongs to, checksum. No object here contains a secret: the client keeps its secrets in a file
//! of their own.

mod keys;
mod messages;
mod offsets;
mod program;
mod terms;

pub use keys::{KeysWriter, keys_file_len, keys_from_bytes, keys_to_bytes};
pub use messages::{
    answer_from_bytes, answer_to_bytes, query_file_len, query_from_bytes, query_to_bytes,
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
