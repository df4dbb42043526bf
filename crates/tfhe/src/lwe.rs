//! LWE samples, and lists of them whose masks expand from a seed.

use crate::sample::{NoiseSource, add_noise, mask_into};
use crate::secret::LweSecret;
use rand::CryptoRng;
use ring::sample::Seed;
use ring::torus::Torus;
use rlwe::KeyId;
use std::ops::Range;

/// An LWE sample: the words of its mask, then its body. It carries the [identity](KeyId) of its
/// secret. Two samples are equal if their words are.
#[derive(Clone, Debug)]
pub struct Lwe<T> {
    words: Vec<T>,
    key: KeyId,
}

impl<T: PartialEq> PartialEq for Lwe<T> {
    fn eq(&self, other: &Self) -> bool {
        let Self { words, key: _ } = self;
        *words == other.words
    }
}

impl<T: Eq> Eq for Lwe<T> {}

impl<T: Torus> Lwe<T> {
    /// A sample with mask 0 and the given body. It hides nothing, and belongs to any secret.
    pub fn trivial(dimension: usize, body: T) -> Self {
        let mut words = vec![T::default(); dimension + 1];
        words[dimension] = body;
        Self::from_words(words)
    }

    /// The sample with the words `a, b`, which belongs to any secret until
    /// [`of_key`](Self::of_key) says to which.
    ///
    /// # Panics
    /// If there are no words.
    pub fn from_words(words: Vec<T>) -> Self {
        assert!(!words.is_empty(), "a sample has a body");
        Self {
            words,
            key: KeyId::ANY,
        }
    }

    /// The same sample, as one of the secret with the given identity.
    #[must_use]
    pub fn of_key(mut self, key: KeyId) -> Self {
        self.key = key;
        self
    }

    /// Identity of its secret.
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// The mask, then the body.
    pub fn words(&self) -> &[T] {
        &self.words
    }

    /// Number of words of the mask.
    pub fn dimension(&self) -> usize {
        self.words.len() - 1
    }

    /// Adds `factor` times another sample of the same secret, which the caller has checked.
    ///
    /// # Panics
    /// If dimensions differ.
    pub fn add_scaled(&mut self, other: &Self, factor: i64) {
        assert_eq!(
            self.words.len(),
            other.words.len(),
            "samples of one dimension"
        );
        for (x, &y) in self.words.iter_mut().zip(&other.words) {
            *x = x.plus(y.times(factor));
        }
        if self.key == KeyId::ANY {
            self.key = other.key;
        }
    }

    /// Multiplies by an integer.
    pub fn scale(&mut self, factor: i64) {
        for x in &mut self.words {
            *x = x.times(factor);
        }
    }

    /// Adds `word` to the body.
    pub fn add_body(&mut self, word: T) {
        let last = self.dimension();
        self.words[last] = self.words[last].plus(word);
    }
}

/// LWE samples under one secret. The mask of sample `r` is stream `r` of a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LweList<T> {
    dimension: usize,
    seed: Seed,
    bodies: Vec<T>,
}

impl<T: Torus> LweList<T> {
    /// Encrypts `messages`, given as words, with noise of standard deviation `sigma`.
    pub fn encrypt(
        secret: &LweSecret,
        sigma: f64,
        messages: &[T],
        rng: &mut impl CryptoRng,
    ) -> Self {
        let seed = Seed::random(rng);
        let noise = NoiseSource::new(rng);
        let dimension = secret.dimension();
        let bodies = ring::par_map(messages.len(), |r| {
            let mut mask = vec![T::default(); dimension];
            mask_into(&mut mask, &seed, r as u64);
            let mut body = [messages[r]];
            add_noise(&mut body, sigma, &mut noise.row(r));
            let sum = |sum: T, (&a, &s): (&T, &i32)| sum.plus(a.times(s.into()));
            mask.iter().zip(secret.bits()).fold(body[0], sum)
        });
        Self {
            dimension,
            seed,
            bodies,
        }
    }

    pub(crate) fn from_parts(dimension: usize, seed: Seed, bodies: Vec<T>) -> Self {
        Self {
            dimension,
            seed,
            bodies,
        }
    }

    pub(crate) fn parts(&self) -> (&Seed, &[T]) {
        (&self.seed, &self.bodies)
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.bodies.len()
    }

    /// Returns true if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// The words of some samples, one after another.
    ///
    /// # Panics
    /// If there are not so many samples.
    pub fn expand(&self, range: Range<usize>) -> Vec<T> {
        let size = self.dimension + 1;
        let mut out = vec![T::default(); range.len() * size];
        for (words, r) in out.chunks_exact_mut(size).zip(range) {
            mask_into(&mut words[..self.dimension], &self.seed, r as u64);
            words[self.dimension] = self.bodies[r];
        }
        out
    }
}
