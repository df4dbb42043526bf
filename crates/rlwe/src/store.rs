//! Keys and ciphertexts of every scheme in the [byte form](crate::bytes), sealed with the
//! fingerprint of their parameters.
//!
//! Masks that expand from a seed are stored as the seed: the masks of a public key, of each digit
//! of an evaluation key, and of a ciphertext that no operation has changed.
//!
//! All files state the identity of their secret. Files of the first version have no identity and
//! are read as belonging to any secret.

use crate::bytes::{BytesError, Fingerprint, Kind, Reader, Writer};
use crate::ciphertext::Ciphertext;
use crate::error::Result;
use crate::key_id::KeyId;
use crate::keys::{GaloisKeys, SecretKey, SwitchKey};
use crate::params::Params;
use crate::public::PublicKey;
use crate::rgsw::Rgsw;
use ring::sample::Seed;
use zeroize::Zeroizing;

const fn kind(tag: &[u8; 4], words: &'static str, version: u32) -> Kind {
    Kind {
        tag: *tag,
        words,
        version,
    }
}

const SECRET: Kind = kind(b"RSEC", "a secret key of a scheme", 2);
const PUBLIC: Kind = kind(b"RPUB", "a public key of a scheme", 2);
const EVALUATION: Kind = kind(b"REVA", "evaluation keys of a scheme", 3);
const BOOTSTRAP: Kind = kind(b"RBOO", "keys of bootstrapping of a scheme", 2);
const SWITCH: Kind = kind(b"RSWK", "a key to another secret of a scheme", 1);
const RGSW: Kind = kind(b"RGSW", "an RGSW ciphertext of a scheme", 2);
const CIPHERTEXT: Kind = kind(b"RCTX", "a ciphertext of a scheme", 2);
/// The last versions without identities.
const SECRET_BARE: u32 = 1;
const PUBLIC_BARE: u32 = 1;
const EVALUATION_BARE: u32 = 2;
const BOOTSTRAP_BARE: u32 = 1;
const RGSW_BARE: u32 = 1;
const CIPHERTEXT_BARE: u32 = 1;

/// Reads the identity that stands at the end of an object, unless its version is the last `bare`
/// one.
fn read_id(r: &mut Reader<'_>, kind: &Kind, bare: u32) -> Result<KeyId> {
    if kind.version == bare {
        return Ok(KeyId::ANY);
    }
    Ok(r.key_id()?)
}

/// Bytes of a secret key. They are overwritten when dropped.
pub fn secret_to_bytes(secret: &SecretKey, made_for: &Fingerprint) -> Zeroizing<Vec<u8>> {
    let mut w = Writer::with_room(secret.coefficients().len() + KeyId::LEN);
    w.small(secret.coefficients());
    w.key_id(secret.id());
    w.seal(&SECRET, made_for).into()
}

/// Reads a secret key.
///
/// # Errors
/// [`BytesError`] if the bytes are not a secret key made for these parameters.
pub fn secret_from_bytes(
    params: &Params,
    made_for: &Fingerprint,
    bytes: &[u8],
) -> Result<SecretKey> {
    let kind = SECRET.since(SECRET_BARE, bytes);
    let mut r = Reader::open(bytes, &kind, made_for)?;
    let coefficients = r.small("a coefficient of the secret key", params.n(), 1)?;
    let id = read_id(&mut r, &kind, SECRET_BARE)?;
    r.end()?;
    Ok(SecretKey::from_coefficients(params, coefficients).of_key(id))
}

/// Bytes of a public key.
pub fn public_to_bytes(key: &PublicKey, made_for: &Fingerprint) -> Vec<u8> {
    let (body, seed) = key.parts();
    let mut w = Writer::new();
    w.seed(seed);
    w.poly(body);
    w.key_id(key.key());
    w.seal(&PUBLIC, made_for)
}

/// Reads a public key.
///
/// # Errors
/// As [`secret_from_bytes`].
pub fn public_from_bytes(
    params: &Params,
    made_for: &Fingerprint,
    bytes: &[u8],
) -> Result<PublicKey> {
    let kind = PUBLIC.since(PUBLIC_BARE, bytes);
    let mut r = Reader::open(bytes, &kind, made_for)?;
    let seed = r.seed()?;
    let body = r.poly(params.basis(params.max_level()))?;
    let id = read_id(&mut r, &kind, PUBLIC_BARE)?;
    r.end()?;
    Ok(PublicKey::from_parts(body, seed).of_key(id))
}

/// Bytes of a relinearization key, if there is one, and of Galois keys.
pub fn evaluation_to_bytes(
    relinearization: Option<&SwitchKey>,
    galois: &GaloisKeys,
    made_for: &Fingerprint,
) -> Vec<u8> {
    let mut w = Writer::new();
    w.u64(u64::from(relinearization.is_some()));
    relinearization
        .into_iter()
        .for_each(|key| w.switch_key(key));
    write_galois(&mut w, galois);
    w.key_id(id_of(relinearization, galois));
    w.seal(&EVALUATION, made_for)
}

/// Identity of the secret to which evaluation keys belong.
fn id_of(relinearization: Option<&SwitchKey>, galois: &GaloisKeys) -> KeyId {
    let first = relinearization.or_else(|| galois.iter().next().map(|(_, key)| key));
    first.map_or(KeyId::ANY, |key| key.ids()[1])
}

fn write_galois(w: &mut Writer, galois: &GaloisKeys) {
    w.u64(galois.iter().len() as u64);
    for (element, key) in galois.iter() {
        w.u64(element as u64);
        w.switch_key(key);
    }
}

/// Reads a relinearization key, if there is one, and Galois keys.
///
/// # Errors
/// As [`secret_from_bytes`].
pub fn evaluation_from_bytes(
    params: &Params,
    made_for: &Fingerprint,
    bytes: &[u8],
) -> Result<(Option<SwitchKey>, GaloisKeys)> {
    let kind = EVALUATION.since(EVALUATION_BARE, bytes);
    Reader::open_with(bytes, &kind, made_for, |r| {
        let relinearization = match r.bounded("the number of relinearization keys", 0..=1)? {
            0 => None,
            _ => Some(r.switch_key(params)?),
        };
        let galois = read_galois(r, params)?;
        let id = read_id(r, &kind, EVALUATION_BARE)?;
        let relinearization = relinearization.map(|key| key.of_keys(id, id));
        Ok((relinearization, galois.of_key(id)))
    })
}

/// Bytes of evaluation keys, of the key to a sparse secret and of the key back.
pub fn bootstrap_to_bytes(
    relinearization: &SwitchKey,
    galois: &GaloisKeys,
    sparse: [&SwitchKey; 2],
    made_for: &Fingerprint,
) -> Vec<u8> {
    let mut w = Writer::new();
    w.switch_key(relinearization);
    write_galois(&mut w, galois);
    sparse.into_iter().for_each(|key| w.switch_key(key));
    w.key_id(relinearization.ids()[1]);
    w.key_id(sparse[0].ids()[1]);
    w.seal(&BOOTSTRAP, made_for)
}

/// Reads the bytes of [`bootstrap_to_bytes`]. `sparse` are the parameters of the key to the sparse
/// secret.
///
/// # Errors
/// As [`secret_from_bytes`].
pub fn bootstrap_from_bytes(
    params: &Params,
    sparse: &Params,
    made_for: &Fingerprint,
    bytes: &[u8],
) -> Result<(SwitchKey, GaloisKeys, [SwitchKey; 2])> {
    let kind = BOOTSTRAP.since(BOOTSTRAP_BARE, bytes);
    Reader::open_with(bytes, &kind, made_for, |r| {
        let relinearization = r.switch_key(params)?;
        let galois = read_galois(r, params)?;
        let [there, back] = [r.switch_key(sparse)?, r.switch_key(params)?];
        let id = read_id(r, &kind, BOOTSTRAP_BARE)?;
        let small = read_id(r, &kind, BOOTSTRAP_BARE)?;
        Ok((
            relinearization.of_keys(id, id),
            galois.of_key(id),
            [there.of_keys(id, small), back.of_keys(small, id)],
        ))
    })
}

/// Bytes of a key that switches from one secret to another.
pub fn switch_to_bytes(key: &SwitchKey, made_for: &Fingerprint) -> Vec<u8> {
    let mut w = Writer::new();
    w.switch_key(key);
    key.ids().into_iter().for_each(|id| w.key_id(id));
    w.seal(&SWITCH, made_for)
}

/// Reads the bytes of [`switch_to_bytes`].
///
/// # Errors
/// As [`secret_from_bytes`].
pub fn switch_from_bytes(
    params: &Params,
    made_for: &Fingerprint,
    bytes: &[u8],
) -> Result<SwitchKey> {
    Reader::open_with(bytes, &SWITCH, made_for, |r| {
        let key = r.switch_key(params)?;
        Ok(key.of_keys(r.key_id()?, r.key_id()?))
    })
}

fn read_galois(r: &mut Reader<'_>, params: &Params) -> Result<GaloisKeys> {
    let mut galois = GaloisKeys::new();
    for _ in 0..r.bounded("the number of Galois keys", 0..=params.n())? {
        let element = r.bounded("a Galois element", 1..=2 * params.n() - 1)?;
        if element % 2 == 0 {
            return Err(value("a Galois element", element as u64, "an odd number").into());
        }
        galois.insert(element, r.switch_key(params)?);
    }
    Ok(galois)
}

/// Bytes of an RGSW ciphertext. Its masks are stored as seeds.
pub fn rgsw_to_bytes(rgsw: &Rgsw, made_for: &Fingerprint) -> Vec<u8> {
    let mut w = Writer::new();
    rgsw.keys().iter().for_each(|key| w.switch_key(key));
    w.key_id(rgsw.keys()[0].ids()[1]);
    w.seal(&RGSW, made_for)
}

/// Reads an RGSW ciphertext.
///
/// # Errors
/// As [`secret_from_bytes`].
pub fn rgsw_from_bytes(params: &Params, made_for: &Fingerprint, bytes: &[u8]) -> Result<Rgsw> {
    let kind = RGSW.since(RGSW_BARE, bytes);
    let mut r = Reader::open(bytes, &kind, made_for)?;
    let keys = [r.switch_key(params)?, r.switch_key(params)?];
    let id = read_id(&mut r, &kind, RGSW_BARE)?;
    let keys = keys.map(|key| key.of_keys(id, id));
    r.end()?;
    let [first, second] = keys.each_ref().map(SwitchKey::level);
    if first != second {
        let expected = format!("{first}, that of the first");
        let what = "the level of the second key of an RGSW ciphertext";
        return Err(value(what, second as u64, &expected).into());
    }
    Ok(Rgsw::from_keys(keys))
}

/// Bytes of a ciphertext of two components, and of a number that its scheme keeps with it.
///
/// # Errors
/// [`Error::Components`](crate::Error::Components) for a product that was not relinearised.
pub fn ciphertext_to_bytes(
    ct: &Ciphertext,
    seed: Option<&Seed>,
    number: u64,
    made_for: &Fingerprint,
) -> Result<Vec<u8>> {
    let (body, mask) = ct.pair()?;
    let mut w = Writer::new();
    w.u64(number);
    w.u64(ct.level() as u64);
    w.u64(u64::from(seed.is_some()));
    w.poly(body);
    match seed {
        Some(seed) => w.seed(seed),
        None => w.poly(mask),
    }
    w.key_id(ct.key());
    Ok(w.seal(&CIPHERTEXT, made_for))
}

/// A ciphertext as it is stored.
#[derive(Debug)]
pub struct Stored {
    /// The ciphertext.
    pub ct: Ciphertext,
    /// Seed of the mask, at index 0, if the ciphertext is fresh.
    pub seed: Option<Seed>,
    /// The number that the scheme keeps with the ciphertext. The scheme checks it.
    pub number: u64,
}

/// Reads a ciphertext.
///
/// # Errors
/// As [`secret_from_bytes`].
pub fn ciphertext_from_bytes(
    params: &Params,
    made_for: &Fingerprint,
    bytes: &[u8],
) -> Result<Stored> {
    let kind = CIPHERTEXT.since(CIPHERTEXT_BARE, bytes);
    let mut r = Reader::open(bytes, &kind, made_for)?;
    let number = r.u64("the number of a ciphertext")?;
    let level = r.bounded("the level of a ciphertext", 0..=params.max_level())?;
    let fresh = r.bounded("the form of a ciphertext", 0..=1)? == 1;
    let basis = params.basis(level);
    let body = r.poly(basis)?;
    let (ct, seed) = if fresh {
        let seed = r.seed()?;
        (Ciphertext::from_seed(body, &seed, 0), Some(seed))
    } else {
        (Ciphertext::new(vec![body, r.poly(basis)?]), None)
    };
    let id = read_id(&mut r, &kind, CIPHERTEXT_BARE)?;
    r.end()?;
    Ok(Stored {
        ct: ct.of_key(id),
        seed,
        number,
    })
}

fn value(what: &'static str, found: u64, expected: &str) -> BytesError {
    BytesError::Value {
        what,
        found,
        expected: expected.into(),
    }
}
