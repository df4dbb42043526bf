//! Decryption of results, and the check that they can be trusted.

use crate::client::Client;
use crate::error::{Error, Result};
use bfv::Ciphertext;
use exchange::{Answer, Query};
use program::Outputs;
use rlwe::noise::Size;
use zeroize::Zeroizing;

/// Least bits of margin that a result needs to be trusted, however large its predicted noise is.
const MIN_MARGIN_BITS: f64 = 0.5;
/// A result is not trusted if its noise is this many times the predicted root mean square. A wrong
/// key, or noise beyond the modulus, gives residuals that are uniform modulo `Q`. Residuals of `k`
/// outputs are then all smaller than this with probability `2^-(k b)`, where `b` bits lie between
/// this and the modulus.
///
/// The prediction is the mean over all coefficients, and it holds: 45.78 bits predicted for MNIST
/// w7a7, 45.79 measured. But outputs lie where noise is larger: the largest of ten
/// residuals was 2 to 9 times the mean in 12 runs, and 12.9 times in one run of a test.
const DEVIATIONS: f64 = 24.0;

/// Decrypted results.
#[derive(Clone, Debug, PartialEq)]
pub struct Decrypted {
    /// For each image, the last layer's accumulators.
    pub logits: Vec<Vec<i64>>,
    /// Bits between the largest measured residual of an output and the largest that decrypts
    /// correctly.
    pub margin_bits: f64,
}

impl Client {
    /// Decrypts the answer to `query`, which the client has kept.
    ///
    /// # Errors
    /// [`exchange::Error::OtherQuery`] for the answer to another query, [`Error::Image`] for a
    /// wrong number of images or results, [`exchange::Error::Bytes`] for a query of another
    /// program, [`exchange::Error::PublicInputs`] for a query under a public key if the client's
    /// file promises nothing of them, [`rlwe::Error::KeyMismatch`] for a query or an answer under
    /// another secret, [`Error::NoMargin`] if the noise is larger than predicted.
    pub fn decrypt(&self, answer: &Answer, query: &Query) -> Result<Decrypted> {
        query.check_program(self.exchange())?;
        let expected = query.hash();
        if *answer.query() != expected {
            return Err(
                exchange::Error::other_query("this answer", answer.query(), &expected).into(),
            );
        }
        // Ciphertexts of another secret decrypt to noise.
        let own = self.secret().label().key;
        for (what, found) in [("query", query.key()?), ("answer", answer.key()?)] {
            own.join(what, found).map_err(rlwe::Error::from)?;
        }
        if answer.images() != query.images {
            return Err(Error::Image {
                what: "the number of images of an answer",
                found: answer.images().to_string(),
                expected: format!("{}, as in the query", query.images),
            });
        }
        let (terms, params) = (self.exchange().terms(), self.exchange().params().bfv());
        if answer.ciphertexts().len() != terms.outputs.len() {
            return Err(Error::Image {
                what: "the number of results",
                found: answer.ciphertexts().len().to_string(),
                expected: terms.outputs.len().to_string(),
            });
        }
        // An output whose parts lie in several ciphertexts is their sum.
        let mut sums = vec![vec![0; terms.classes]; terms.batch];
        let t = params.t();
        let mut margin_bits = f64::INFINITY;
        for (outputs, ct) in terms.outputs.iter().zip(answer.ciphertexts()) {
            let message = bfv::decrypt_unchecked(params, self.keys().secret(), ct)?;
            let margin = self.margin(outputs, ct, query)?;
            margin_bits = margin_bits.min(margin);
            for (row, &place) in outputs.rows.iter().zip(&outputs.at) {
                let sum = &mut sums[row.image][row.output];
                *sum = t.add(*sum, message.coefficients()[place]);
            }
        }
        sums.truncate(query.images);
        let centred = |sums: &Vec<u64>| sums.iter().map(|&sum| t.center(sum)).collect();
        let logits = sums.iter().map(centred).collect();
        Ok(Decrypted {
            logits,
            margin_bits,
        })
    }

    /// Bits between the largest residual of the outputs and half of the modulus. All other
    /// coefficients of an answer are random.
    fn margin(&self, outputs: &Outputs, ct: &Ciphertext, query: &Query) -> Result<f64> {
        let params = self.exchange().params().bfv();
        let residuals = bfv::residuals(params, self.keys().secret(), ct)?;
        let shown = outputs.rows.iter().zip(&outputs.at);
        let shown = shown.filter(|(row, _)| row.image < query.images);
        let shown: Zeroizing<Vec<f64>> = shown
            .map(|(_, &place)| residuals[place])
            .collect::<Vec<_>>()
            .into();
        let largest = Size::of(&shown);
        let half = params.rlwe().log_q(outputs.level) - 1.0;
        let noise_bits = self.exchange().answer_noise_bits(outputs, query)?;
        let predicted = noise_bits + DEVIATIONS.log2();
        let (margin_bits, expected_bits) = (
            half - largest.log2_max,
            (half - predicted).max(MIN_MARGIN_BITS),
        );
        match margin_bits < expected_bits {
            true => Err(Error::NoMargin {
                margin_bits,
                expected_bits,
            }),
            false => Ok(margin_bits),
        }
    }
}
