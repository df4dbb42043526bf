//! The file of the public key under which inputs are encrypted.

use super::keys::{need_len, read_head, write_head};
use super::kind;
use crate::encryption_key::EncryptionKey;
use crate::error::{Error, Result};
use crate::label::Label;
use crate::needs::{Need, Needs};
use crate::params::LoopParams;
use crate::profile::Profile;
use crate::terms::Exchange;
use rlwe::PublicKey;
use rlwe::bytes::{Kind, Reader, Writer, sealed_len};

const PUBLIC_KEY: Kind = kind(b"PKEY", "a public key", 1);

/// Returns the byte form of a public key: its profile, its label, the seed of its mask, its body.
pub fn encryption_key_to_bytes(key: &EncryptionKey) -> Vec<u8> {
    let mut w = Writer::new();
    write_head(&mut w, key.profile(), key.label());
    let (body, seed) = key.key().parts();
    w.seed(seed);
    w.poly(body);
    w.seal(&PUBLIC_KEY, &key.profile().id())
}

/// Length of the file of a public key for inputs at `level`, in bytes.
///
/// # Panics
/// If the parameters do not have the level.
pub fn encryption_key_file_len(params: &LoopParams, level: usize) -> usize {
    let mut needs = Needs::default();
    needs.public(level);
    let mut head = Writer::new();
    write_head(&mut head, &Profile::new(params, &needs), &Label::default());
    let key = need_len(params, Need::Public { level });
    sealed_len(head.payload_len() + key.expect("a public key is packed in no layout"))
}

/// Reads a public key for the inputs of a program.
///
/// # Errors
/// [`Error::Profile`] for a key of other parameters, [`Error::Shape`] for one of too low a level,
/// and if the bytes are no public key. [`EncryptionKey::check`] says whether the program takes
/// inputs under public keys.
pub fn encryption_key_from_bytes(exchange: &Exchange, bytes: &[u8]) -> Result<EncryptionKey> {
    let (mut r, found) = Reader::open_any(bytes, &PUBLIC_KEY)?;
    let (profile, label) = read_head(&mut r, &found)?;
    profile.check_parameters(exchange.profile())?;
    let level = level_of(&profile)?;
    let params = exchange.params();
    let seed = r.seed()?;
    let body = r.poly(params.bfv().rlwe().basis(level))?;
    r.end()?;
    let key = PublicKey::from_parts(body, seed);
    Ok(EncryptionKey::new(params, label, key))
}

/// Reads the profile and the label of a public key's file, without the key.
///
/// # Errors
/// If the bytes are no public key.
pub fn encryption_key_head(bytes: &[u8]) -> Result<(Profile, Label)> {
    let (mut r, found) = Reader::open_any(bytes, &PUBLIC_KEY)?;
    let (profile, label) = read_head(&mut r, &found)?;
    level_of(&profile)?;
    Ok((profile, label))
}

/// The level of the public key, which must be the only key of the profile.
fn level_of(profile: &Profile) -> Result<usize> {
    match (profile.public, profile.needs().each().count()) {
        (Some(level), 1) => Ok(level),
        (_, count) => Err(Error::Shape {
            what: "the list of keys in the file of a public key",
            found: format!("{count} keys"),
            expected: "a public key alone".into(),
        }),
    }
}
