//! Answers of a server: ciphertexts that show a client the outputs and nothing else.

use crate::error::{Error, Result};
use crate::keys::EvaluationKeys;
use crate::shares;
use crate::terms::Exchange;
use program::{Flood, Outputs};
use rand::{CryptoRng, Rng};
use ring::sample::{Seed, uniform_from_seed};
use ring::{Coeff, Poly};
use rlwe::KeyId;
use rlwe::bytes::{Fingerprint, Writer};

/// An answer before it is hidden: the ciphertexts that the last steps of a run make. They show more
/// than the outputs: a client that decrypts all coefficients reads products of single weights. Raw
/// answers therefore have no byte form, and [`hide`](Self::hide) makes the answer from them.
#[derive(Clone, Debug, PartialEq)]
pub struct RawAnswer {
    /// Hash of the query that was run: [`Query::hash`](crate::Query::hash).
    pub query: Fingerprint,
    /// Number of images in the query, at most a batch.
    pub images: usize,
    /// One ciphertext per `output` step.
    pub ciphertexts: Vec<bfv::Ciphertext>,
}

/// Encrypted results for a client. [`RawAnswer::hide`] made them, so they show the outputs alone.
#[derive(Clone, Debug)]
pub struct Answer {
    query: Fingerprint,
    images: usize,
    ciphertexts: Vec<bfv::Ciphertext>,
}

impl Answer {
    pub(crate) fn new(
        query: Fingerprint,
        images: usize,
        ciphertexts: Vec<bfv::Ciphertext>,
    ) -> Self {
        Self {
            query,
            images,
            ciphertexts,
        }
    }

    /// Hash of the query that this answers: [`Query::hash`](crate::Query::hash).
    pub fn query(&self) -> &Fingerprint {
        &self.query
    }

    /// Number of images in the query, at most a batch.
    pub fn images(&self) -> usize {
        self.images
    }

    /// One ciphertext per `output` step.
    pub fn ciphertexts(&self) -> &[bfv::Ciphertext] {
        &self.ciphertexts
    }

    /// Identity of the secret that decrypts it.
    ///
    /// # Errors
    /// [`rlwe::Error::KeyMismatch`] if there are several.
    pub fn key(&self) -> Result<KeyId> {
        let parts = self.ciphertexts.iter().map(bfv::Ciphertext::rlwe);
        Ok(rlwe::Ciphertext::common_key(parts)?)
    }
}

impl RawAnswer {
    /// SHA-256 of the ciphertexts. Runs of one query with the same keys have the same digest on
    /// every machine. It belongs to the server: whoever guesses the weights can check the guess.
    pub fn digest(&self) -> Fingerprint {
        let mut w = Writer::new();
        for ct in &self.ciphertexts {
            w.u64(ct.factor());
            w.ciphertext(ct.rlwe());
        }
        w.digest()
    }

    /// Makes the answer, from which a client learns the outputs of its images and nothing else.
    ///
    /// - An encryption of zero under the client's public key is added. It makes the mask `c_1`,
    ///   which depends on the weights, the mask of a fresh ciphertext.
    /// - Each coefficient of `c_0` that is no output becomes uniform modulo `Q`.
    /// - With a [`Flood`] the noise of the outputs is drowned as well.
    /// - If parts of one output lie in several ciphertexts, each part is uniform, and only their
    ///   sum is the output.
    ///
    /// # Errors
    /// [`Error::MissingKey`] if the keys have no public key, [`Error::Shape`] for results that the
    /// terms do not have, or for a public key of other parameters.
    pub fn hide(
        self,
        exchange: &Exchange,
        keys: &EvaluationKeys,
        rng: &mut impl CryptoRng,
    ) -> Result<Answer> {
        let outputs = exchange.outputs();
        if self.ciphertexts.len() != outputs.len() {
            return Err(Error::Shape {
                what: "the number of results",
                found: self.ciphertexts.len().to_string(),
                expected: outputs.len().to_string(),
            });
        }
        let images = self.images;
        let params = exchange.params().bfv();
        let shares = shares::draw(outputs, images, params.t().value(), rng);
        let hidden = self.ciphertexts.into_iter().zip(outputs).zip(shares);
        let hidden = hidden.map(|((mut ct, outputs), shares)| {
            if !shares.is_empty() {
                let mut words = vec![0; params.n()];
                let (t, factor) = (params.t(), ct.factor());
                for &(place, word) in &shares {
                    words[place] = t.mul(factor, word);
                }
                let message = params.encoder().from_residues(words);
                let share = bfv::trivial(params, &message, outputs.level);
                ct.rlwe_mut().add_assign(share.rlwe())?;
            }
            let shown = outputs.rows.iter().zip(&outputs.at);
            let shown = shown.filter(|(row, _)| row.image < images);
            let shown: Vec<usize> = shown.map(|(_, &place)| place).collect();
            hide(exchange, keys, ct, (outputs, &shown), rng)
        });
        let ciphertexts = hidden.collect::<Result<_>>()?;
        Ok(Answer::new(self.query, images, ciphertexts))
    }
}

/// Hides everything in a ciphertext except the messages at the places `shown`.
fn hide(
    exchange: &Exchange,
    keys: &EvaluationKeys,
    mut ct: bfv::Ciphertext,
    (outputs, shown): (&Outputs, &[usize]),
    rng: &mut impl CryptoRng,
) -> Result<bfv::Ciphertext> {
    let params = exchange.params().bfv();
    let basis = params.rlwe().basis(outputs.level);
    let public = keys.public()?;
    let fits = public.level() >= outputs.level
        && public.basis() == params.rlwe().basis(public.level())
        && ct.degree() == 1
        && ct.rlwe().components()[0].basis() == basis;
    if !fits {
        return Err(Error::Shape {
            what: "a result or the public key",
            found: "one of other parameters".into(),
            expected: format!("{} limbs of the program's", basis.len()),
        });
    }
    let zero = public.encrypt_zero(params.rlwe(), outputs.level, rng)?;
    ct.rlwe_mut().add_assign(&zero)?;
    let body = &mut ct.rlwe_mut().components_mut()[0];
    let coefficients = std::mem::replace(body, Poly::zero(basis)).into_coeff();
    let mut coefficients = masked(&coefficients, shown, rng);
    if let Some(flood) = outputs.flood {
        add_flood(&mut coefficients, shown, flood, rng);
    }
    ct.rlwe_mut().components_mut()[0] = coefficients.into_eval();
    Ok(ct)
}

/// Uniform residues at all coefficients but those `shown`.
fn masked(body: &Poly<Coeff>, shown: &[usize], rng: &mut impl CryptoRng) -> Poly<Coeff> {
    let mut masked: Poly<Coeff> = uniform_from_seed(body.basis(), &Seed::random(rng), 0);
    for (i, limb) in masked.limbs_mut().enumerate() {
        for &place in shown {
            limb[place] = body.limb(i)[place];
        }
    }
    masked
}

/// Adds the numbers of a flood at the given coefficients.
fn add_flood(body: &mut Poly<Coeff>, shown: &[usize], flood: Flood, rng: &mut impl CryptoRng) {
    let basis = body.basis().clone();
    for &place in shown {
        let numbers = (0..4).map(|_| rng.random::<u128>() & ((1 << flood.bits) - 1));
        let sum: u128 = numbers.sum();
        for (i, m) in basis.moduli().enumerate() {
            let below = m.reduce_u128(1 << (flood.bits + 1));
            let word = &mut body.limb_mut(i)[place];
            *word = m.sub(m.add(*word, m.reduce_u128(sum)), below);
        }
    }
}
