//! The files of queries and answers.

use super::{kind, read_hash, seeded};
use crate::answer::Answer;
use crate::error::Result;
use crate::params::LoopParams;
use crate::query::{Binding, Query};
use crate::terms::Exchange;
use program::MAX_BATCH;
use ring::sample::Seed;
use rlwe::KeyId;
use rlwe::bytes::{Fingerprint, Kind, Reader, Writer, poly_len, sealed_len};

/// Has whole ciphertexts, under a public key, and no seed.
const PUBLIC_QUERY: Kind = kind(b"ENCI", "encrypted images", 3);
const QUERY: Kind = kind(b"ENCI", "encrypted images", 2);
/// Has the fingerprint of a program in the place of the layout's, and no identity of its secret.
const QUERY_OF_PROGRAM: Kind = kind(b"ENCI", "encrypted images", 1);
const ANSWER: Kind = kind(b"ENCO", "encrypted results", 3);
/// Has no identity of its secret.
const ANSWER_BARE: Kind = kind(b"ENCO", "encrypted results", 2);

/// Returns the byte form of a query, in the version that its binding and its masks belong to.
pub fn query_to_bytes(query: &Query) -> Vec<u8> {
    let (kind, bound_to) = match &query.binding {
        Binding::Layout(layout) => (&QUERY, layout),
        Binding::Program(program) => (&QUERY_OF_PROGRAM, program),
    };
    let mut w = Writer::new();
    let Some(seed) = &query.seed else {
        w.u64(query.images as u64);
        // As below.
        w.key_id(query.key().unwrap_or_default());
        let ciphertexts = query.ciphertexts.iter();
        ciphertexts.for_each(|ct| w.ciphertext(ct.rlwe()));
        return w.seal(&PUBLIC_QUERY, bound_to);
    };
    w.seed(seed);
    w.u64(query.images as u64);
    if kind.version == QUERY.version {
        // Ciphertexts of several secrets are refused before they are used.
        w.key_id(query.key().unwrap_or_default());
    }
    query
        .ciphertexts
        .iter()
        .for_each(|ct| w.poly(&ct.rlwe().components()[0]));
    w.seal(kind, bound_to)
}

/// Bytes before the bodies of a query: the seed, the number of images, the identity of the secret.
pub(super) const QUERY_HEAD: usize = size_of::<Seed>() + size_of::<u64>() + KeyId::LEN;

/// Length of the file of a query with `ciphertexts` ciphertexts at `level`, in bytes.
pub fn query_file_len(params: &LoopParams, level: usize, ciphertexts: usize) -> usize {
    let body = poly_len(params.bfv().rlwe().basis(level));
    sealed_len(QUERY_HEAD + ciphertexts * body)
}

/// Length of the file of a query under a public key, in bytes. As [`query_file_len`].
pub fn public_query_file_len(params: &LoopParams, level: usize, ciphertexts: usize) -> usize {
    let component = poly_len(params.bfv().rlwe().basis(level));
    sealed_len(size_of::<u64>() + KeyId::LEN + ciphertexts * 2 * component)
}

/// Reads a query, under the secret or under a public key.
///
/// # Errors
/// [`Error::Layout`](crate::Error::Layout) for a query of another input layout, and if the bytes
/// are no query.
pub fn query_from_bytes(exchange: &Exchange, bytes: &[u8]) -> Result<Query> {
    let kind = PUBLIC_QUERY.since(QUERY_OF_PROGRAM.version, bytes);
    if kind.version == PUBLIC_QUERY.version {
        return public_query_from_bytes(exchange, bytes);
    }
    let is_new = kind.version == QUERY.version;
    let (mut r, found) = Reader::open_any(bytes, &kind)?;
    let binding = match is_new {
        true => Binding::Layout(found),
        false => Binding::Program(found),
    };
    binding.check(exchange)?;
    let (rlwe, level) = (exchange.params().bfv().rlwe(), exchange.input_level());
    let seed = r.seed()?;
    let images = r.bounded("the number of images", 1..=exchange.batch())?;
    let key = match is_new {
        true => r.key_id()?,
        false => KeyId::ANY,
    };
    let ciphertexts = (0..exchange.inputs())
        .map(|index| {
            let mut ct = seeded(&mut r, rlwe, level, (&seed, index))?;
            ct.rlwe_mut().set_key(key);
            Ok(ct)
        })
        .collect::<Result<_>>()?;
    r.end()?;
    Ok(Query {
        binding,
        seed: Some(seed),
        images,
        ciphertexts,
    })
}

fn public_query_from_bytes(exchange: &Exchange, bytes: &[u8]) -> Result<Query> {
    let (mut r, layout) = Reader::open_any(bytes, &PUBLIC_QUERY)?;
    let binding = Binding::Layout(layout);
    binding.check(exchange)?;
    let (rlwe, level) = (exchange.params().bfv().rlwe(), exchange.input_level());
    let images = r.bounded("the number of images", 1..=exchange.batch())?;
    let key = r.key_id()?;
    let ciphertexts = (0..exchange.inputs()).map(|_| {
        let ct = r.ciphertext(rlwe, level, 2)?;
        Ok(bfv::Ciphertext::new(ct.of_key(key), 1))
    });
    let ciphertexts = ciphertexts.collect::<Result<_>>()?;
    r.end()?;
    Ok(Query {
        binding,
        seed: None,
        images,
        ciphertexts,
    })
}

/// Returns the byte form of an answer.
pub fn answer_to_bytes(exchange: &Exchange, answer: &Answer) -> Vec<u8> {
    let mut w = Writer::new();
    w.block(answer.query());
    w.u64(answer.images() as u64);
    // Ciphertexts of several secrets are refused when they are decrypted.
    w.key_id(answer.key().unwrap_or_default());
    for ct in answer.ciphertexts() {
        w.u64(ct.factor());
        w.ciphertext(ct.rlwe());
    }
    w.seal(&ANSWER, exchange.fingerprint())
}

/// Reads an answer.
///
/// # Errors
/// If the bytes are no answer of this program.
pub fn answer_from_bytes(exchange: &Exchange, bytes: &[u8]) -> Result<Answer> {
    let kind = ANSWER.since(ANSWER_BARE.version, bytes);
    let mut r = Reader::open(bytes, &kind, exchange.fingerprint())?;
    let rlwe = exchange.params().bfv().rlwe();
    let query = read_hash(&mut r)?;
    let images = r.bounded("the number of images", 1..=exchange.batch())?;
    let key = match kind.version == ANSWER.version {
        true => r.key_id()?,
        false => KeyId::ANY,
    };
    let ciphertexts = exchange
        .outputs()
        .iter()
        .map(|outputs| {
            let factor = outputs.factor as usize; // below 2^32
            r.bounded("the factor of a result", factor..=factor)?;
            let ct = r.ciphertext(rlwe, outputs.level, 2)?;
            Ok(bfv::Ciphertext::new(ct.of_key(key), outputs.factor))
        })
        .collect::<Result<_>>()?;
    r.end()?;
    Ok(Answer::new(query, images, ciphertexts))
}

/// The statements of a query's file about itself, for one who has no terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryHead {
    /// The layout or the program that the images are for.
    pub binding: Binding,
    /// Number of images.
    pub images: usize,
    /// Identity of the secret under which they are encrypted, or under whose public key.
    pub key: KeyId,
    /// Whether they are encrypted under a public key.
    pub public: bool,
}

/// Reads the statements of a query's file about itself. The ciphertexts are not read.
///
/// # Errors
/// If the bytes are no query.
pub fn query_head(bytes: &[u8]) -> Result<QueryHead> {
    let kind = PUBLIC_QUERY.since(QUERY_OF_PROGRAM.version, bytes);
    let (mut r, found) = Reader::open_any(bytes, &kind)?;
    let public = kind.version == PUBLIC_QUERY.version;
    if !public {
        r.seed()?;
    }
    let images = r.bounded("the number of images", 1..=MAX_BATCH)?;
    let (binding, key) = match kind.version == QUERY_OF_PROGRAM.version {
        true => (Binding::Program(found), KeyId::ANY),
        false => (Binding::Layout(found), r.key_id()?),
    };
    Ok(QueryHead {
        binding,
        images,
        key,
        public,
    })
}

/// The statements of an answer's file about itself, for one who has no terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerHead {
    /// Fingerprint of the program that answered.
    pub program: Fingerprint,
    /// Hash of the query.
    pub query: Fingerprint,
    /// Number of images.
    pub images: usize,
    /// Identity of the secret that decrypts it.
    pub key: KeyId,
}

/// Reads the statements of an answer's file about itself. The ciphertexts are not read.
///
/// # Errors
/// If the bytes are no answer.
pub fn answer_head(bytes: &[u8]) -> Result<AnswerHead> {
    let kind = ANSWER.since(ANSWER_BARE.version, bytes);
    let (mut r, program) = Reader::open_any(bytes, &kind)?;
    let query = read_hash(&mut r)?;
    let images = r.bounded("the number of images", 1..=MAX_BATCH)?;
    let key = match kind.version == ANSWER.version {
        true => r.key_id()?,
        false => KeyId::ANY,
    };
    Ok(AnswerHead {
        program,
        query,
        images,
        key,
    })
}
