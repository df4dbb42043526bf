//! Decryption of results, and the check that they can be trusted.

use crate::client::Client;
use crate::error::{Error, Result};
use exchange::{Answer, Query};
use program::Op;

/// Bits of margin that a result needs to be trusted. A wrong key, or noise beyond the modulus,
/// gives residuals that are uniform modulo `Q`. Then at least one of the `N` coefficients comes
/// closer to `Q/2` than this margin, except with probability `2^(-N/2)`.
const MIN_MARGIN_BITS: f64 = 0.5;

/// Decrypted results.
#[derive(Clone, Debug, PartialEq)]
pub struct Decrypted {
    /// For each image, the last layer's accumulators.
    pub logits: Vec<Vec<i64>>,
    /// Bits between the largest measured residual and the largest that decrypts correctly.
    pub margin_bits: f64,
}

impl Client {
    /// Decrypts the answer to `query`, which the client has kept.
    ///
    /// # Errors
    /// [`exchange::Error::OtherQuery`] for the answer to another query, [`Error::Image`] for a
    /// wrong number of images or results, [`exchange::Error::Bytes`] for a query of another
    /// program, [`Error::NoMargin`] if noise has reached the modulus or the results are encrypted
    /// under another key.
    pub fn decrypt(&self, answer: &Answer, query: &Query) -> Result<Decrypted> {
        query.check_program(self.verified())?;
        let expected = query.hash();
        if answer.query != expected {
            return Err(
                exchange::Error::other_query("this answer", &answer.query, &expected).into(),
            );
        }
        if answer.images != query.images {
            return Err(Error::Image {
                what: "the number of images of an answer",
                found: answer.images.to_string(),
                expected: format!("{}, as in the query", query.images),
            });
        }
        let (program, params) = (self.verified().program(), self.verified().params().bfv());
        let outputs: Vec<_> = program
            .steps
            .iter()
            .filter_map(|step| match &step.op {
                Op::Output { rows, at, .. } => Some((rows, at)),
                _ => None,
            })
            .collect();
        if answer.ciphertexts.len() != outputs.len() {
            return Err(Error::Image {
                what: "the number of results",
                found: answer.ciphertexts.len().to_string(),
                expected: outputs.len().to_string(),
            });
        }
        let mut logits = vec![vec![0; program.classes]; program.batch];
        let mut margin_bits = f64::INFINITY;
        for (&(rows, at), ct) in outputs.iter().zip(&answer.ciphertexts) {
            let message = bfv::decrypt(params, self.keys().secret(), ct)?;
            let (_, margin) = bfv::measure(params, self.keys().secret(), ct)?;
            margin_bits = margin_bits.min(margin);
            for (row, &place) in rows.iter().zip(at) {
                logits[row.image][row.output] = params.t().center(message.coefficients()[place]);
            }
        }
        if margin_bits < MIN_MARGIN_BITS {
            return Err(Error::NoMargin { margin_bits });
        }
        logits.truncate(query.images);
        Ok(Decrypted {
            logits,
            margin_bits,
        })
    }
}
