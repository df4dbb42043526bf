//! What a server answers: encrypted results.

use rlwe::bytes::Fingerprint;

/// Encrypted results.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Hash of the query that this answers: [`Query::hash`](crate::Query::hash).
    pub query: Fingerprint,
    /// Number of images in the query, at most a batch.
    pub images: usize,
    /// One ciphertext per `output` step.
    pub ciphertexts: Vec<bfv::Ciphertext>,
}
