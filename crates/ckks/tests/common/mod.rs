//! Parameters, keys and messages for the tests.

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    dead_code,
    reason = "a module of test binaries, of which not every one uses all"
)]

use palladion_ckks::noise::{Model, Noise};
use palladion_ckks::{
    Ciphertext, Complex64, Evaluator, Params, ParamsSpec, Plaintext, decrypt, encrypt,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::Masks;
use rlwe::SecretKey;

pub struct Setup {
    pub params: Params,
    pub evaluator: Evaluator,
    pub model: Model,
    pub secret: SecretKey,
    pub rng: ChaCha20Rng,
}

impl Setup {
    pub fn new(params: Params, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        Self {
            evaluator: Evaluator::new(&params),
            model: Model::new(&params),
            params,
            secret,
            rng,
        }
    }

    /// Complex numbers with parts uniform in [-1, 1]: mean square 2/3.
    pub fn message(&mut self, slots: usize) -> Vec<Complex64> {
        let mut part = || self.rng.random_range(-1.0..1.0);
        (0..slots).map(|_| Complex64::new(part(), part())).collect()
    }

    pub fn encrypt(&mut self, values: &[Complex64], level: usize) -> Ciphertext {
        let message = Plaintext::encode(&self.params, values, level, self.params.scale()).unwrap();
        let masks = &mut Masks::random(&mut self.rng);
        encrypt(&self.secret, &message, masks, &mut self.rng).unwrap()
    }

    pub fn decrypt(&self, ct: &Ciphertext, slots: usize) -> Vec<Complex64> {
        decrypt(&self.secret, ct)
            .unwrap()
            .decode(&self.params, slots)
            .unwrap()
    }

    /// Compares measured with predicted precision, in bits, from both sides, and checks that no
    /// slot is far worse than the others.
    pub fn check(&self, what: &str, ct: &Ciphertext, expected: &[Complex64], predicted: Noise) {
        let found = self.decrypt(ct, expected.len());
        let measured = Noise(mean_square(&found, expected));
        let (measured, predicted) = (measured.precision(), predicted.precision());
        // Mean squares of 2^12 or more independent errors vary by 2 %: 0.03 bits of precision at
        // two deviations.
        assert!(
            (measured - predicted).abs() < 0.12,
            "{what}: {measured:.2} bits, predicted {predicted:.2}"
        );
        // In the worst case an error is a product of two independent complex normal values,
        // rounding and secret. Its square is above x times its mean with a probability below exp(-2
        // sqrt(x)) x: 1e-5 over all slots.
        let largest = found.iter().zip(expected).map(|(a, b)| (a - b).norm_sqr());
        let ratio = largest.fold(0.0, f64::max) / 2f64.powf(-2.0 * predicted);
        let bound = ((found.len() as f64).ln() + 16.0).powi(2) / 4.0;
        println!("{what}: {measured:.2} bits, the largest error squared {ratio:.1} of {bound:.1}");
        assert!(ratio < bound, "{what}: {ratio:.1} times the mean square");
    }
}

pub const SQUARE: f64 = 2.0 / 3.0;

pub fn mean_square(a: &[Complex64], b: &[Complex64]) -> f64 {
    let sum: f64 = a.iter().zip(b).map(|(a, b)| (a - b).norm_sqr()).sum();
    sum / a.len() as f64
}

/// Parameters of `count` levels of one limb of `bits` bits, above a first modulus of 49 bits.
pub fn insecure_params(log_n: u32, bits: u32, count: usize) -> Params {
    insecure_params_by_digits(log_n, bits, count, 2)
}

/// As [`insecure_params`], with digits of `digit_limbs` limbs.
pub fn insecure_params_by_digits(
    log_n: u32,
    bits: u32,
    count: usize,
    digit_limbs: usize,
) -> Params {
    let n = 1 << log_n;
    let first = ntt_primes(49, n, 3).unwrap();
    let mut levels = vec![vec![first[0]]];
    levels.extend(
        ntt_primes(bits, n, count)
            .unwrap()
            .into_iter()
            .map(|q| vec![q]),
    );
    Params::new_insecure(&ParamsSpec {
        n,
        levels,
        special: first[1..].to_vec(),
        digit_limbs,
        log_scale: f64::from(bits),
    })
    .unwrap()
}

/// Parameters of `count` levels of two limbs of 26 bits, with a scale of 52 bits, above a first
/// level of four limbs.
pub fn insecure_params_of_pairs(log_n: u32, count: usize) -> Params {
    let n = 1 << log_n;
    let primes = ntt_primes(26, n, 2 * count + 4).unwrap();
    let mut levels = vec![primes[..4].to_vec()];
    levels.extend(primes[4..].chunks_exact(2).map(<[u64]>::to_vec));
    Params::new_insecure(&ParamsSpec {
        n,
        levels,
        special: ntt_primes(49, n, 3).unwrap(),
        digit_limbs: 4,
        log_scale: 52.0,
    })
    .unwrap()
}
