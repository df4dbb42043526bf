//! Encryption of images.

use crate::client::Client;
use crate::error::{Error, Result};
use crate::system_rng;
use exchange::{Binding, Query};
use program::Patch;
use ring::sample::Masks;

impl Client {
    /// Encrypts the images of one run: as many as the program's batch, or fewer.
    ///
    /// # Errors
    /// [`Error::Image`] for too many images, a wrong number of pixels, or a pixel out of range.
    pub fn encrypt(&self, images: &[Vec<i64>]) -> Result<Query> {
        let terms = self.exchange().terms();
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
        let (params, level) = (
            self.exchange().params().bfv(),
            self.exchange().input_level(),
        );
        let mut rng = system_rng();
        let mut masks = Masks::random(&mut rng);
        let count = images.len();
        let ciphertexts = terms
            .placement
            .iter()
            .map(|tiles| {
                let mut coefficients = vec![0; params.n()];
                for tile in tiles {
                    if let Some(image) = images.get(tile.image) {
                        place(image, terms.input, tile, &mut coefficients);
                    }
                }
                let message = params.encoder().coefficients(&coefficients);
                let (secret, masks) = (self.keys().secret(), &mut masks);
                let ct = bfv::encrypt(params, secret, &message, level, masks, &mut rng)?;
                Ok(ct)
            })
            .collect::<Result<_>>()?;
        Ok(Query {
            binding: Binding::Layout(self.exchange().input_layout()),
            seed: *masks.seed(),
            images: count,
            ciphertexts,
        })
    }
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
