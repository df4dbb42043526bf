//! Offsets of seeds and bodies in the files of keys and of a query.
//!
//! Offsets of keys begin behind the profile and the label of the file, which are two blocks.

use super::keys::{NUMBER, need_len};
use super::messages::QUERY_HEAD;
use crate::error::Result;
use crate::needs::Need;
use crate::terms::Exchange;
use ring::sample::Seed;
use rlwe::bytes::poly_len;

/// The seed and the bodies of a key, or of a query, as offsets in the payload of its file. The
/// bodies follow each other without gaps, up to [`end`](Self::end).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// The key; `None` for the query.
    pub need: Option<Need>,
    /// Offset of the seed.
    pub seed: usize,
    /// Offset of the first body.
    pub bodies: usize,
    /// Bytes of a body.
    pub body_len: usize,
    /// Offset behind the last body.
    pub end: usize,
}

/// The offsets of all evaluation keys, in the order of the file, and of the query.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) if the number of values of a packing is no power of two.
pub fn offsets(exchange: &Exchange) -> Result<Vec<Offsets>> {
    let (rlwe, small) = (exchange.params().bfv().rlwe(), exchange.params().small());
    let mut all = Vec::new();
    let mut start = 0;
    for need in exchange.needs().each() {
        let (before, body_len) = match need {
            Need::Relinearization { level } => (NUMBER, poly_len(&rlwe.extended(level))),
            Need::Galois { level, .. } => (2 * NUMBER, poly_len(&rlwe.extended(level))),
            Need::Packing { level, .. } => (NUMBER, poly_len(rlwe.basis(level))),
            Need::Dimension => (0, poly_len(small.basis())),
            Need::Public { level } => (0, poly_len(rlwe.basis(level))),
        };
        let (seed, end) = (start + before, start + need_len(exchange.params(), need)?);
        all.push(Offsets {
            need: Some(need),
            seed,
            bodies: seed + size_of::<Seed>(),
            body_len,
            end,
        });
        start = end;
    }
    let (bodies, body_len) = (QUERY_HEAD, poly_len(rlwe.basis(exchange.input_level())));
    all.push(Offsets {
        need: None,
        seed: 0,
        bodies,
        body_len,
        end: bodies + exchange.inputs() * body_len,
    });
    Ok(all)
}
