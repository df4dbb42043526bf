//! GLWE ciphertexts, and lists of them whose masks expand from a seed. GLev ciphertexts, GGSW
//! ciphertexts and keys are such lists.

use crate::lwe::Lwe;
use crate::poly::extract_into;
use crate::sample::{NoiseSource, add_noise, mask_into};
use crate::secret::GlweSecret;
use rand::{CryptoRng, Rng};
use ring::sample::Seed;
use ring::torus::{Multiplier, Torus};
use std::ops::Range;

/// A GLWE ciphertext: `k` mask polynomials, then the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glwe<T> {
    n: usize,
    words: Vec<T>,
}

impl<T: Torus> Glwe<T> {
    /// The ciphertext with the given polynomials of degree below `n`.
    ///
    /// # Panics
    /// If `words` are not whole polynomials, or fewer than two.
    pub fn from_words(n: usize, words: Vec<T>) -> Self {
        assert!(
            words.len() >= 2 * n && words.len().is_multiple_of(n),
            "a mask and a body"
        );
        Self { n, words }
    }

    /// A ciphertext with mask 0 and the given body. It hides nothing.
    pub fn trivial(rank: usize, body: &[T]) -> Self {
        let mut words = vec![T::default(); rank * body.len()];
        words.extend_from_slice(body);
        Self {
            n: body.len(),
            words,
        }
    }

    /// The words of the mask, then those of the body.
    pub fn words(&self) -> &[T] {
        &self.words
    }

    pub(crate) fn words_mut(&mut self) -> &mut [T] {
        &mut self.words
    }

    /// Ring degree `N`.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Rank `k`.
    pub fn rank(&self) -> usize {
        self.words.len() / self.n - 1
    }

    /// The sample of coefficient `place` of the phase.
    ///
    /// # Panics
    /// If there is no such coefficient.
    pub fn extract(&self, place: usize) -> Lwe<T> {
        assert!(place < self.n, "coefficient {place} of {}", self.n);
        let mut words = vec![T::default(); self.rank() * self.n + 1];
        extract_into(&mut words, &self.words, self.n, place);
        Lwe::from_words(words)
    }
}

/// GLWE ciphertexts under one secret. The mask of row `r` is stream `r` of a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlweList<T> {
    n: usize,
    rank: usize,
    seed: Seed,
    bodies: Vec<T>,
}

impl<T: Torus> GlweList<T> {
    /// Encrypts `rows` polynomials. `message(r, body)` adds the message of row `r` to `body`.
    pub fn encrypt<M: Multiplier<T>>(
        cipher: &GlweCipher<'_, T, M>,
        rows: usize,
        rng: &mut impl CryptoRng,
        message: impl Fn(usize, &mut [T]) + Sync,
    ) -> Self {
        let seed = Seed::random(rng);
        let noise = NoiseSource::new(rng);
        let n = cipher.secret.n();
        let rank = cipher.secret.rank();
        let mut bodies = Vec::with_capacity(rows * n);
        for start in (0..rows).step_by(BLOCK) {
            let end = rows.min(start + BLOCK);
            let runs = ring::par_map((end - start).div_ceil(RUN), |i| {
                let run = start + i * RUN..end.min(start + (i + 1) * RUN);
                let mut scratch = cipher.multiplier.scratch(rank, 1);
                let mut mask = vec![T::default(); rank * n];
                let mut bodies = vec![T::default(); run.len() * n];
                for (body, row) in bodies.chunks_exact_mut(n).zip(run) {
                    mask_into(&mut mask, &seed, row as u64);
                    cipher.zero_into(body, &mut mask, &mut noise.row(row), &mut scratch);
                    message(row, body);
                }
                cipher.forget(&mut mask, &mut scratch);
                bodies
            });
            runs.iter().for_each(|run| bodies.extend_from_slice(run));
        }
        Self {
            n,
            rank,
            seed,
            bodies,
        }
    }

    pub(crate) fn from_parts(n: usize, rank: usize, seed: Seed, bodies: Vec<T>) -> Self {
        Self {
            n,
            rank,
            seed,
            bodies,
        }
    }

    pub(crate) fn parts(&self) -> (&Seed, &[T]) {
        (&self.seed, &self.bodies)
    }

    /// Number of ciphertexts.
    pub fn len(&self) -> usize {
        self.bodies.len() / self.n
    }

    /// Returns true if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// The seed of all masks.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The bodies, one after another.
    pub fn bodies(&self) -> &[T] {
        &self.bodies
    }

    /// The words of some ciphertexts, one after another.
    ///
    /// # Panics
    /// If there are not so many ciphertexts.
    pub fn expand(&self, range: Range<usize>) -> Vec<T> {
        let masks = self.rank * self.n;
        let mut out = vec![T::default(); range.len() * (masks + self.n)];
        for (words, row) in out.chunks_exact_mut(masks + self.n).zip(range) {
            mask_into(&mut words[..masks], &self.seed, row as u64);
            words[masks..].copy_from_slice(&self.bodies[row * self.n..][..self.n]);
        }
        out
    }

    /// All ciphertexts, prepared for products, row by row in one buffer.
    pub fn prepare<M: Multiplier<T>>(&self, multiplier: &M) -> Vec<M::Word> {
        let rows = self.len();
        let mut out = Vec::with_capacity(rows * (self.rank + 1) * multiplier.prepared_len());
        // In blocks, so that the results of threads need no second buffer of the whole size.
        for start in (0..rows).step_by(BLOCK) {
            let count = BLOCK.min(rows - start);
            let block = ring::par_map(count, |i| {
                multiplier.prepare(&self.expand(start + i..start + i + 1))
            });
            block.iter().for_each(|row| out.extend_from_slice(row));
        }
        out
    }
}

/// Rows worked on at a time.
const BLOCK: usize = 512;
/// Rows encrypted with one scratch memory.
const RUN: usize = 16;

/// Encrypts under a ring secret.
pub struct GlweCipher<'a, T, M> {
    pub(crate) secret: &'a GlweSecret,
    multiplier: &'a M,
    sigma: f64,
    /// Number of pieces into which words are cut, so that a multiplier that rounds gives exact
    /// products.
    pieces: u32,
    word: std::marker::PhantomData<T>,
}

impl<'a, T: Torus, M: Multiplier<T>> GlweCipher<'a, T, M> {
    /// A cipher with noise of standard deviation `sigma`.
    ///
    /// The product of mask and secret must be exact. A rounding error would be noise that depends
    /// on both.
    ///
    /// # Panics
    /// If the multiplier is made for another ring degree.
    pub fn new(secret: &'a GlweSecret, multiplier: &'a M, sigma: f64) -> Self {
        assert_eq!(secret.n(), multiplier.n(), "the ring degree of the secret");
        let bound = multiplier.error_bound(secret.rank(), 1.0);
        let exact = |&pieces: &u32| bound * f64::from(T::BITS / pieces).exp2() < 0.5;
        let pieces = [1, 2, 4].into_iter().find(exact).unwrap_or(8);
        Self {
            secret,
            multiplier,
            sigma,
            pieces,
            word: std::marker::PhantomData,
        }
    }

    /// Computes `body = sum A_i S_i + noise`. `body` must be 0 before. Overwrites `mask`.
    ///
    /// All values computed from the secret stay in `body`, except the values that the multiplier
    /// leaves in its scratch memory until [`forget`](Self::forget).
    fn zero_into(
        &self,
        body: &mut [T],
        mask: &mut [T],
        rng: &mut impl Rng,
        scratch: &mut M::Scratch,
    ) {
        let width = T::BITS / self.pieces;
        let whole = mask.to_vec();
        // a = sum of 2^(i width) times piece i, signed. The last piece comes first in the product's
        // Horner scheme.
        for i in (0..self.pieces).rev() {
            let halves = (0..i).fold(0u64, |sum, j| sum | 1 << (j * width + width - 1));
            for (piece, word) in mask.iter_mut().zip(&whole) {
                let bits = word.to_u64().wrapping_add(halves) >> (i * width);
                *piece = T::from_low_bits(((bits << (64 - width)) as i64 >> (64 - width)) as u64);
            }
            body.iter_mut()
                .for_each(|b| *b = b.times(1i64.wrapping_shl(width)));
            let prepared = self.multiplier.prepare(mask);
            self.multiplier
                .dot_add(body, self.secret.bits(), &prepared, scratch);
        }
        add_noise(body, self.sigma, rng);
    }

    /// Overwrites the values that a product with the secret left in the scratch memory, by a
    /// product with digits 0.
    fn forget(&self, mask: &mut [T], scratch: &mut M::Scratch) {
        let zeros = vec![0; mask.len()];
        let mut out = vec![T::default(); self.multiplier.n()];
        let prepared = self.multiplier.prepare(mask);
        self.multiplier
            .dot_add(&mut out, &zeros, &prepared, scratch);
        std::hint::black_box(out);
    }
}
