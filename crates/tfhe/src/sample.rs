//! Masks from seeds, noise on the torus, and binary secrets. All randomness comes from ChaCha20.

use rand::{CryptoRng, Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::StandardNormal;
use ring::sample::{SecretRng, Seed};
use ring::torus::Torus;
use zeroize::Zeroizing;

/// The uniform words given by `seed` and `stream`.
pub(crate) fn mask_into<T: Torus>(out: &mut [T], seed: &Seed, stream: u64) {
    let mut rng = ChaCha20Rng::from_seed(seed.0);
    rng.set_stream(stream);
    for word in out {
        *word = if T::BITS == 32 {
            T::from_low_bits(rng.next_u32().into())
        } else {
            T::from_low_bits(rng.next_u64())
        };
    }
}

/// Generators of secret noise, one for each row of a key. They share one seed, which is overwritten
/// when dropped.
pub(crate) struct NoiseSource {
    /// On the heap, so that moving it copies nothing.
    seed: Zeroizing<Vec<u8>>,
}

impl NoiseSource {
    pub(crate) fn new(rng: &mut impl CryptoRng) -> Self {
        let mut seed = Zeroizing::new(vec![0; 32]);
        rng.fill_bytes(&mut seed);
        Self { seed }
    }

    pub(crate) fn row(&self, row: usize) -> SecretRng {
        let seed = self.seed.as_slice().try_into().expect("32 bytes");
        let mut rng = SecretRng::from_seed(seed);
        rng.set_stream(row as u64);
        rng
    }
}

/// Adds a Gaussian of standard deviation `sigma`, a fraction of the torus, rounded, to every word.
///
/// The time depends on the values, because the sampler rejects.
pub(crate) fn add_noise<T: Torus>(words: &mut [T], sigma: f64, rng: &mut impl Rng) {
    for word in words {
        let normal: f64 = rng.sample(StandardNormal);
        *word = word.plus(T::from_torus(normal * sigma));
    }
}

/// `count` uniform bits.
pub(crate) fn bits(count: usize, rng: &mut impl CryptoRng) -> Zeroizing<Vec<i32>> {
    (0..count)
        .map(|_| i32::from(rng.random::<bool>()))
        .collect::<Vec<_>>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_its_variance() {
        const COUNT: usize = 1 << 16;
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for sigma in [1e-3f64, 2f64.powi(-25)] {
            let mut words = vec![0u64; COUNT];
            add_noise(&mut words, sigma, &mut rng);
            let variance = words.iter().map(|w| w.to_torus().powi(2)).sum::<f64>() / COUNT as f64;
            let tolerance = 6.0 * (2.0 / COUNT as f64).sqrt();
            assert!(
                (variance / (sigma * sigma) - 1.0).abs() < tolerance,
                "{sigma}: {variance}"
            );
        }
    }

    #[test]
    fn masks_are_named_by_seed_and_stream() {
        let draw = |seed, stream| {
            let mut words = [0u32; 64];
            mask_into(&mut words, &Seed([seed; 32]), stream);
            words
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn half_of_the_bits_of_a_secret_are_set() {
        let bits = bits(1 << 14, &mut ChaCha20Rng::seed_from_u64(3));
        let ones = bits.iter().sum::<i32>();
        assert!((ones - (1 << 13)).abs() < 6 * 64, "{ones}"); // deviation sqrt(2^14) / 2
    }
}
