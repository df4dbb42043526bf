//! The client's half: secrets, evaluation keys, encryption, decryption.

use crate::error::{Error, Result};
use crate::files::input_to_bytes;
use crate::server::Output;
use crate::verified::{Exchange, Verified};
use circuits::{ClientKeys, EvaluationKeys};
use program::{Op, Tile};
use rand::CryptoRng;
use ring::sample::{Masks, SecretRng, Seed};
use rlwe::bytes::{BytesError, Fingerprint, fingerprint};

/// Bits of margin a result must have to be believed. What a wrong key decrypts, or noise beyond the modulus,
/// is uniform modulo `Q`: of `N` coefficients one comes closer to `Q/2` than this, but for a
/// chance of `2^(-N/2)`.
const MIN_MARGIN_BITS: f64 = 0.5;

/// The client of one program.
#[derive(Clone)]
pub struct Client {
    verified: Verified,
    keys: ClientKeys,
}

/// Encrypted images of one run; the masks expand from the seed.
#[derive(Clone, Debug)]
pub struct Input {
    /// Fingerprint of the program the images are for.
    pub fingerprint: Fingerprint,
    /// Seed of the masks.
    pub seed: Seed,
    /// Images in them, at most a batch.
    pub images: usize,
    /// The ciphertexts.
    pub ciphertexts: Vec<bfv::Ciphertext>,
}

impl Input {
    /// Hash of the whole query, by which an answer and a checkpoint name it: SHA-256 of its byte form.
    pub fn hash(&self) -> Fingerprint {
        fingerprint(&input_to_bytes(self))
    }

    /// Refuses images that were encrypted for another program.
    pub(crate) fn check_program(&self, exchange: &Exchange) -> Result<()> {
        let expected = exchange.fingerprint();
        if self.fingerprint == *expected {
            return Ok(());
        }
        let error = BytesError::other_program("encrypted images", &self.fingerprint, expected);
        Err(error.into())
    }
}

/// Decrypted results.
#[derive(Clone, Debug, PartialEq)]
pub struct Decrypted {
    /// For each image, the last layer's accumulators.
    pub logits: Vec<Vec<i64>>,
    /// Bits between the largest measured residual and what decryption bears.
    pub margin_bits: f64,
}

/// A generator seeded by the operating system, which is overwritten when dropped.
///
/// # Panics
/// If the operating system gives no randomness.
pub fn system_rng() -> SecretRng {
    SecretRng::from_os()
}

impl Client {
    /// Fresh secrets from the operating system's randomness.
    pub fn generate(verified: &Verified) -> Self {
        Self::generate_from(verified, &mut system_rng())
    }

    /// Secrets from the given generator: for tests that must repeat.
    pub fn generate_from(verified: &Verified, rng: &mut impl CryptoRng) -> Self {
        Self::from_keys(verified, ClientKeys::generate(verified.params(), rng))
    }

    /// A client with the given secrets.
    pub fn from_keys(verified: &Verified, keys: ClientKeys) -> Self {
        Self {
            verified: verified.clone(),
            keys,
        }
    }

    /// The secrets.
    pub fn keys(&self) -> &ClientKeys {
        &self.keys
    }

    /// The program.
    pub fn verified(&self) -> &Verified {
        &self.verified
    }

    /// The evaluation keys the program needs, and no others.
    ///
    /// # Errors
    /// From the circuits.
    pub fn evaluation_keys(&self) -> Result<EvaluationKeys> {
        Ok(self
            .keys
            .evaluation_keys(&self.verified.needs(), &mut system_rng())?)
    }

    /// Encrypts the images of one run: as many as the program's batch, or fewer.
    ///
    /// # Errors
    /// [`Error::Image`] for too many images, a wrong number of pixels, or a pixel out of range.
    pub fn encrypt(&self, images: &[Vec<i64>]) -> Result<Input> {
        let program = self.verified.program();
        if images.is_empty() || images.len() > program.batch {
            return Err(Error::Image {
                what: "the number of images",
                found: images.len().to_string(),
                expected: format!(
                    "1 to {}, the program's batch: compile a larger one with --batch",
                    program.batch
                ),
            });
        }
        let pixels: usize = program.input.iter().product();
        for image in images {
            if image.len() != pixels {
                return Err(Error::Image {
                    what: "the number of pixels of an image",
                    found: image.len().to_string(),
                    expected: pixels.to_string(),
                });
            }
            let [min, max] = program.input_range;
            if let Some(pixel) = image.iter().find(|p| !(min..=max).contains(*p)) {
                return Err(Error::Image {
                    what: "a pixel",
                    found: pixel.to_string(),
                    expected: format!("{min} to {max}"),
                });
            }
        }
        let (params, level) = (self.verified.params().bfv(), self.verified.input_level());
        let mut rng = system_rng();
        let mut masks = Masks::random(&mut rng);
        let count = images.len();
        let ciphertexts = program
            .placement
            .iter()
            .map(|tiles| {
                let mut coefficients = vec![0; params.n()];
                for tile in tiles {
                    if let Some(image) = images.get(tile.image) {
                        place(image, program.input, tile, &mut coefficients);
                    }
                }
                let message = params.encoder().coefficients(&coefficients);
                let (secret, masks) = (self.keys.secret(), &mut masks);
                let ct = bfv::encrypt(params, secret, &message, level, masks, &mut rng)?;
                Ok(ct)
            })
            .collect::<Result<_>>()?;
        Ok(Input {
            fingerprint: *self.verified.fingerprint(),
            seed: *masks.seed(),
            images: count,
            ciphertexts,
        })
    }

    /// Decrypts the answer to `query`, which the client has kept.
    ///
    /// # Errors
    /// [`Error::OtherQuery`] for the answer to another query, [`Error::Image`] for a wrong number of
    /// images or results, [`Error::Bytes`] for a query of another program, [`Error::NoMargin`] if noise
    /// has reached the modulus, or the results are under another key.
    pub fn decrypt(&self, output: &Output, query: &Input) -> Result<Decrypted> {
        query.check_program(&self.verified)?;
        let expected = query.hash();
        if output.query != expected {
            return Err(Error::other_query("this answer", &output.query, &expected));
        }
        if output.images != query.images {
            return Err(Error::Image {
                what: "the number of images of an answer",
                found: output.images.to_string(),
                expected: format!("{}, as in the query", query.images),
            });
        }
        let (program, params) = (self.verified.program(), self.verified.params().bfv());
        let outputs: Vec<_> = program
            .steps
            .iter()
            .filter_map(|step| match &step.op {
                Op::Output { rows, at, .. } => Some((rows, at)),
                _ => None,
            })
            .collect();
        if output.ciphertexts.len() != outputs.len() {
            return Err(Error::Image {
                what: "the number of results",
                found: output.ciphertexts.len().to_string(),
                expected: outputs.len().to_string(),
            });
        }
        let mut logits = vec![vec![0; program.classes]; program.batch];
        let mut margin_bits = f64::INFINITY;
        for (&(rows, at), ct) in outputs.iter().zip(&output.ciphertexts) {
            let message = bfv::decrypt(params, self.keys.secret(), ct)?;
            let (_, margin) = bfv::measure(params, self.keys.secret(), ct)?;
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

/// Puts a part of an image of the given shape where it lies.
fn place(image: &[i64], [_, height, width]: [usize; 3], tile: &Tile, out: &mut [i64]) {
    let [from, to] = tile.channels;
    for c in from..to {
        for y in 0..height {
            let start = tile.start + (c - from) * tile.pitch[0] + y * tile.pitch[1];
            let row = &image[(c * height + y) * width..][..width];
            out[start..start + width].copy_from_slice(row);
        }
    }
}
