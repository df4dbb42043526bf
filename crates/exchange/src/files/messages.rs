//! The files of queries and answers.

use super::{kind, read_hash, seeded};
use crate::answer::Answer;
use crate::error::Result;
use crate::params::LoopParams;
use crate::query::Query;
use crate::terms::Exchange;
use ring::sample::Seed;
use rlwe::bytes::{Kind, Reader, Writer, poly_len, sealed_len};

const QUERY: Kind = kind(b"ENCI", "encrypted images", 1);
const ANSWER: Kind = kind(b"ENCO", "encrypted results", 2);

/// Returns the byte form of a query.
pub fn query_to_bytes(query: &Query) -> Vec<u8> {
    let mut w = Writer::new();
    w.seed(&query.seed);
    w.u64(query.images as u64);
    query
        .ciphertexts
        .iter()
        .for_each(|ct| w.poly(&ct.rlwe().components()[0]));
    w.seal(&QUERY, &query.fingerprint)
}

/// Length of the file of a query with `ciphertexts` ciphertexts at `level`, in bytes.
pub fn query_file_len(params: &LoopParams, level: usize, ciphertexts: usize) -> usize {
    let body = poly_len(params.bfv().rlwe().basis(level));
    sealed_len(size_of::<Seed>() + size_of::<u64>() + ciphertexts * body)
}

/// Reads a query.
///
/// # Errors
/// If the bytes are no query for this program.
pub fn query_from_bytes(exchange: &Exchange, bytes: &[u8]) -> Result<Query> {
    let mut r = Reader::open(bytes, &QUERY, exchange.fingerprint())?;
    let (rlwe, level) = (exchange.params().bfv().rlwe(), exchange.input_level());
    let seed = r.seed()?;
    let images = r.bounded("the number of images", 1..=exchange.batch())?;
    let ciphertexts = (0..exchange.inputs())
        .map(|index| seeded(&mut r, rlwe, level, (&seed, index)))
        .collect::<Result<_>>()?;
    r.end()?;
    Ok(Query {
        fingerprint: *exchange.fingerprint(),
        seed,
        images,
        ciphertexts,
    })
}

/// Returns the byte form of an answer.
pub fn answer_to_bytes(exchange: &Exchange, answer: &Answer) -> Vec<u8> {
    let mut w = Writer::new();
    w.block(answer.query());
    w.u64(answer.images() as u64);
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
    let mut r = Reader::open(bytes, &ANSWER, exchange.fingerprint())?;
    let (rlwe, t) = (
        exchange.params().bfv().rlwe(),
        exchange.params().bfv().t().value() as usize,
    );
    let query = read_hash(&mut r)?;
    let images = r.bounded("the number of images", 1..=exchange.batch())?;
    let ciphertexts = exchange
        .outputs()
        .iter()
        .map(|outputs| {
            let factor = r.bounded("the factor of a result", 1..=t - 1)?;
            let ct = r.ciphertext(rlwe, outputs.level, 2)?;
            Ok(bfv::Ciphertext::new(ct, factor as u64))
        })
        .collect::<Result<_>>()?;
    r.end()?;
    Ok(Answer::new(query, images, ciphertexts))
}
