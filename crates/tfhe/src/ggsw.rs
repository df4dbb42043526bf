//! GGSW ciphertexts of bits and small integers, the external product, and CMux.
//!
//! Rows: component `0..=k` outer, level `1..=l` inner. The row of component `c` and level `j`
//! encrypts `-m S_c q / B^j` for a mask component and `m q / B^j` for the body. Hence the sum of
//! the digits of a ciphertext times the rows is `m` times the ciphertext. A run of `l` rows is a
//! GLev ciphertext.
//!
//! Source: Chillotti et al. 2020, section 3.3; Athena on Versal, eq. (3), where the sign is that of
//! `q / B^j`.

use crate::glwe::{Glwe, GlweCipher, GlweList};
use rand::CryptoRng;
use ring::torus::{Decomposition, Multiplier, Torus};

/// Encrypts `values` as GGSW ciphertexts, one after another.
pub(crate) fn encrypt<T: Torus, M: Multiplier<T>>(
    cipher: &GlweCipher<'_, T, M>,
    digits: Decomposition,
    values: &[i32],
    rng: &mut impl CryptoRng,
) -> GlweList<T> {
    let (n, rank, levels) = (
        cipher.secret.n(),
        cipher.secret.rank(),
        digits.levels() as usize,
    );
    let rows = (rank + 1) * levels;
    GlweList::encrypt(cipher, values.len() * rows, rng, |row, body| {
        let (value, component, level) = (values[row / rows], row % rows / levels, row % levels);
        let scaled = digits.weight::<T>(level as u32 + 1).times(value.into());
        if component == rank {
            body[0] = body[0].plus(scaled);
        } else {
            for (b, &s) in body.iter_mut().zip(&cipher.secret.bits()[component * n..]) {
                *b = b.minus(scaled.times(s.into()));
            }
        }
    })
}

/// Digits of all components of a ciphertext, in the order of the rows of a GGSW ciphertext.
pub(crate) fn digits_into<T: Torus>(out: &mut [i32], words: &[T], n: usize, digits: Decomposition) {
    let run = n * digits.levels() as usize;
    for (out, poly) in out.chunks_exact_mut(run).zip(words.chunks_exact(n)) {
        digits.digits_into(out, poly);
    }
}

/// A GGSW ciphertext, prepared for external products.
pub struct Ggsw<T: Torus, M: Multiplier<T>> {
    digits: Decomposition,
    words: Vec<M::Word>,
}

impl<T: Torus, M: Multiplier<T>> Ggsw<T, M> {
    /// Encrypts a small integer. For CMux it is a bit.
    pub fn encrypt(
        cipher: &GlweCipher<'_, T, M>,
        multiplier: &M,
        digits: Decomposition,
        value: i32,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let words = encrypt(cipher, digits, &[value], rng).prepare(multiplier);
        Self { digits, words }
    }

    /// `out += self * input`, the external product. The phase of `out` grows by the encrypted value
    /// times the phase of `input`.
    ///
    /// # Panics
    /// If ring degrees or ranks differ.
    pub fn external_product_add(&self, multiplier: &M, out: &mut Glwe<T>, input: &Glwe<T>) {
        let (n, components) = (input.n(), input.rank() + 1);
        let rows = components * self.digits.levels() as usize;
        let mut digits = vec![0; rows * n];
        digits_into(&mut digits, input.words(), n, self.digits);
        let mut scratch = multiplier.scratch(rows, components);
        multiplier.dot_add(out.words_mut(), &digits, &self.words, &mut scratch);
    }

    /// Returns `zero` if the encrypted value is 0, and `one` if it is 1.
    ///
    /// # Panics
    /// As [`external_product_add`](Self::external_product_add).
    pub fn cmux(&self, multiplier: &M, zero: &Glwe<T>, one: &Glwe<T>) -> Glwe<T> {
        let words = one
            .words()
            .iter()
            .zip(zero.words())
            .map(|(x, &y)| x.minus(y))
            .collect();
        let difference = Glwe::from_words(zero.n(), words);
        let mut out = zero.clone();
        self.external_product_add(multiplier, &mut out, &difference);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::GlweSecret;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;
    use ring::torus::Naive;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        /// Digits and noise are small, so the product's error is far below the distance of
        /// messages.
        #[test]
        fn cmux_chooses_a_ciphertext(bit in 0i32..2, rank in 1usize..3, seed in any::<u64>()) {
            const N: usize = 16;
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let multiplier = Naive::new(N);
            let secret = GlweSecret::generate(rank, N, &mut rng);
            let cipher = GlweCipher::<u32, _>::new(&secret, &multiplier, 2f64.powi(-28));
            let digits = Decomposition::new(6, 3).expect("in range");
            let ggsw = Ggsw::encrypt(&cipher, &multiplier, digits, bit, &mut rng);
            let messages = GlweList::encrypt(&cipher, 2, &mut rng, |row, body| {
                body.iter_mut().enumerate().for_each(|(i, b)| *b = b.plus(((i + 3 * row) as u32) << 27));
            });
            let [zero, one] = [0, 1].map(|i| Glwe::from_words(N, messages.expand(i..i + 1)));
            let chosen = ggsw.cmux(&multiplier, &zero, &one);
            for (i, phase) in secret.phase(chosen.words()).into_iter().enumerate() {
                let expected = ((i + 3 * bit as usize) as u32) << 27;
                let error = phase.wrapping_sub(expected) as i32;
                prop_assert!(error.unsigned_abs() < 1 << 20, "coefficient {i} is off by {error}");
            }
        }
    }
}
