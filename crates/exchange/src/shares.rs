//! Outputs whose parts lie in several ciphertexts of an answer.
//!
//! The parts are added up after decryption. Each part alone is no output, and would tell a client
//! about the model. The server therefore adds to each part a uniform number modulo `t`, and the
//! numbers of one output add up to 0: any parts but all of them are uniform, and the sum is
//! unchanged.

use program::{Outputs, Row};
use rand::{CryptoRng, Rng};
use std::collections::BTreeMap;

/// For each ciphertext of an answer, the numbers that the server adds at coefficients: place and
/// residue modulo `t`. Only images below `images` are answered.
pub(crate) fn draw(
    outputs: &[Outputs],
    images: usize,
    t: u64,
    rng: &mut impl CryptoRng,
) -> Vec<Vec<(usize, u64)>> {
    let mut parts: BTreeMap<(usize, usize), Vec<(usize, usize)>> = BTreeMap::new();
    for (index, outputs) in outputs.iter().enumerate() {
        for (&Row { image, output }, &place) in outputs.rows.iter().zip(&outputs.at) {
            if image < images {
                let own = parts.entry((image, output)).or_default();
                own.push((index, place));
            }
        }
    }
    let mut drawn = vec![Vec::new(); outputs.len()];
    for own in parts.into_values() {
        let Some(((last, place), others)) = own.split_last() else {
            continue;
        };
        if others.is_empty() {
            continue; // one part is the output
        }
        let mut rest = 0;
        for &(index, place) in others {
            let number = rng.random_range(0..t);
            rest = (rest + t - number) % t;
            drawn[index].push((place, number));
        }
        drawn[*last].push((*place, rest));
    }
    drawn
}
