//! Encryption of images, under the secret or under a public key.

use crate::client::Client;
use crate::error::{Error, Result};
use crate::system_rng;
use bfv::Plaintext;
use exchange::{Binding, EncryptionKey, Exchange, Query};
use program::Patch;
use rand::CryptoRng;
use ring::sample::Masks;
use zeroize::Zeroizing;

impl Client {
    /// Encrypts the images of one run: as many as the program's batch, or fewer.
    ///
    /// # Errors
    /// [`Error::Image`] for too many images, a wrong number of pixels, or a pixel out of range.
    pub fn encrypt(&self, images: &[Vec<i64>]) -> Result<Query> {
        let exchange = self.exchange();
        let (params, level) = (exchange.params().bfv(), exchange.input_level());
        let mut rng = system_rng();
        let mut masks = Masks::random(&mut rng);
        check(exchange, images)?;
        let ciphertexts = messages(exchange, images).map(|message| {
            let (secret, masks) = (self.keys().secret(), &mut masks);
            let ct = bfv::encrypt(params, secret, &message, level, masks, &mut rng)?;
            Ok(ct)
        });
        let ciphertexts = ciphertexts.collect::<Result<_>>()?;
        Ok(Query {
            binding: Binding::Layout(exchange.input_layout()),
            seed: Some(*masks.seed()),
            images: images.len(),
            ciphertexts,
        })
    }
}

/// Encrypts inputs of one program under a public key. It has no secret, and cannot decrypt.
#[derive(Clone)]
pub struct Encryptor {
    exchange: Exchange,
    key: EncryptionKey,
}

impl Encryptor {
    /// Makes an encryptor.
    ///
    /// # Errors
    /// As [`EncryptionKey::check`].
    pub fn new(exchange: &Exchange, key: &EncryptionKey) -> Result<Self> {
        key.check(exchange)?;
        Ok(Self {
            exchange: exchange.clone(),
            key: key.clone(),
        })
    }

    /// The public key.
    pub fn key(&self) -> &EncryptionKey {
        &self.key
    }

    /// The terms of the program.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// As [`Client::encrypt`].
    ///
    /// # Errors
    /// As [`Client::encrypt`].
    pub fn encrypt(&self, images: &[Vec<i64>]) -> Result<Query> {
        self.encrypt_from(images, &mut system_rng())
    }

    /// As [`encrypt`](Self::encrypt), with randomness of the given generator. For tests that must
    /// repeat.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt).
    pub fn encrypt_from(&self, images: &[Vec<i64>], rng: &mut impl CryptoRng) -> Result<Query> {
        let (params, level) = (self.exchange.params().bfv(), self.exchange.input_level());
        check(&self.exchange, images)?;
        let ciphertexts = messages(&self.exchange, images).map(|message| {
            let ct = bfv::encrypt_public(params, self.key.key(), &message, level, rng)?;
            Ok(ct)
        });
        Ok(Query {
            binding: Binding::Layout(self.exchange.input_layout()),
            seed: None,
            images: images.len(),
            ciphertexts: ciphertexts.collect::<Result<_>>()?,
        })
    }
}

/// Checks that images are those of one run.
fn check(exchange: &Exchange, images: &[Vec<i64>]) -> Result<()> {
    let terms = exchange.terms();
    if images.is_empty() || images.len() > terms.batch {
        return Err(Error::Image {
            what: "the number of images",
            found: images.len().to_string(),
            expected: format!(
                "1 to {}, the program's batch: compile a larger one with --batch",
                terms.batch
            ),
        });
    }
    let pixels: usize = terms.input.iter().product();
    for image in images {
        if image.len() != pixels {
            return Err(Error::Image {
                what: "the number of pixels of an image",
                found: image.len().to_string(),
                expected: pixels.to_string(),
            });
        }
        let [min, max] = terms.input_range;
        if let Some(pixel) = image.iter().find(|p| !(min..=max).contains(*p)) {
            return Err(Error::Image {
                what: "a pixel",
                found: pixel.to_string(),
                expected: format!("{min} to {max}"),
            });
        }
    }
    Ok(())
}

/// The messages of the ciphertexts of a query, in order. The images must pass [`check`].
fn messages<'a>(
    exchange: &'a Exchange,
    images: &'a [Vec<i64>],
) -> impl Iterator<Item = Zeroizing<Plaintext>> + 'a {
    let (terms, params) = (exchange.terms(), exchange.params().bfv());
    (0..terms.inputs()).map(move |index| {
        let mut coefficients = Zeroizing::new(vec![0; params.n()]);
        if terms.interleaved {
            for (value, image) in coefficients.iter_mut().zip(images) {
                *value = image[index];
            }
        }
        for tile in terms.placement.get(index).into_iter().flatten() {
            if let Some(image) = images.get(tile.image) {
                place(image, terms.input, tile, &mut coefficients);
            }
        }
        Zeroizing::new(params.encoder().coefficients(&coefficients))
    })
}

/// Copies one tile of an image of the given shape to the coefficients where it lies.
fn place(image: &[i64], [_, height, width]: [usize; 3], tile: &Patch, out: &mut [i64]) {
    let [from, to] = tile.channels;
    for c in from..to {
        for y in 0..height {
            let start = tile.start + (c - from) * tile.pitch[0] + y * tile.pitch[1];
            let row = &image[(c * height + y) * width..][..width];
            out[start..start + width].copy_from_slice(row);
        }
    }
}
