//! Binary secrets. Overwritten when dropped.

use crate::sample::bits;
use rand::CryptoRng;
use ring::torus::Torus;
use zeroize::Zeroizing;

/// Secret of LWE samples: bits, one for each word of a mask.
#[derive(Clone)]
pub struct LweSecret {
    bits: Zeroizing<Vec<i32>>,
}

impl LweSecret {
    /// Uniform bits.
    pub fn generate(dimension: usize, rng: &mut impl CryptoRng) -> Self {
        Self {
            bits: bits(dimension, rng),
        }
    }

    /// Number of bits.
    pub fn dimension(&self) -> usize {
        self.bits.len()
    }

    pub(crate) fn bits(&self) -> &[i32] {
        &self.bits
    }

    pub(crate) fn from_bits(bits: Zeroizing<Vec<i32>>) -> Self {
        Self { bits }
    }

    /// `b - <a, s>` for the words `a, b`.
    ///
    /// # Panics
    /// If there are not `dimension + 1` words.
    pub fn phase<T: Torus>(&self, words: &[T]) -> T {
        assert_eq!(
            words.len(),
            self.dimension() + 1,
            "a mask of the secret's dimension, and a body"
        );
        let (mask, body) = words.split_at(self.dimension());
        phase_of(mask, body[0], &self.bits)
    }

    /// The ring secret whose first coefficients are these bits and whose other coefficients are 0:
    /// a *partial* secret.
    ///
    /// Noise under it must be that of dimension `n`, not of `k N`: known zeros do not help.
    /// Bergerat, Chillotti, Ligier, Orfila, Roux-Langlois, Tap, "New Secret Keys for Enhanced
    /// Performance in (T)FHE", CCS 2024, <https://ia.cr/2023/979>, assume that LWE with a partial
    /// secret over a ring is as hard as LWE of the dimension of the unknown part.
    pub fn partial(&self, n: usize) -> GlweSecret {
        let mut coefficients = Zeroizing::new(vec![0; self.dimension().next_multiple_of(n)]);
        coefficients[..self.dimension()].copy_from_slice(&self.bits);
        GlweSecret {
            n,
            bits: coefficients,
        }
    }
}

/// Secret of GLWE ciphertexts: `k` polynomials of `N` bits.
#[derive(Clone)]
pub struct GlweSecret {
    n: usize,
    bits: Zeroizing<Vec<i32>>,
}

impl GlweSecret {
    /// Uniform bits: `rank` polynomials of degree below `n`.
    pub fn generate(rank: usize, n: usize, rng: &mut impl CryptoRng) -> Self {
        Self {
            n,
            bits: bits(rank * n, rng),
        }
    }

    /// Ring degree `N`.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of polynomials.
    pub fn rank(&self) -> usize {
        self.bits.len() / self.n
    }

    pub(crate) fn bits(&self) -> &[i32] {
        &self.bits
    }

    pub(crate) fn from_bits(n: usize, bits: Zeroizing<Vec<i32>>) -> Self {
        Self { n, bits }
    }

    /// The secret of samples that are extracted from its ciphertexts.
    pub fn to_lwe(&self) -> LweSecret {
        LweSecret {
            bits: self.bits.clone(),
        }
    }

    /// `B - sum A_i S_i` for the polynomials `A_1 .. A_k, B`, by the definition, in `k N^2` steps.
    ///
    /// # Panics
    /// If there are not `k + 1` polynomials.
    pub fn phase<T: Torus>(&self, words: &[T]) -> Vec<T> {
        let masks = self.bits.len();
        assert_eq!(
            words.len(),
            masks + self.n,
            "a polynomial for each of the secret's, and a body"
        );
        let mut sample = vec![T::default(); masks + 1];
        (0..self.n)
            .map(|place| {
                crate::poly::extract_into(&mut sample, words, self.n, place);
                phase_of(&sample[..masks], sample[masks], &self.bits)
            })
            .collect()
    }
}

fn phase_of<T: Torus>(mask: &[T], body: T, bits: &[i32]) -> T {
    mask.iter()
        .zip(bits)
        .fold(body, |sum, (&a, &s)| sum.minus(a.times(s.into())))
}
