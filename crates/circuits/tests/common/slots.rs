//! Small CKKS parameters, keys, and a comparison of slots.

use ckks::{Ciphertext, Evaluator, Params, ParamsSpec, Plaintext, decrypt, encrypt};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::Masks;
use rlwe::{GaloisKeys, SecretKey};

/// Bits after the binary point that must be correct in results of some hundred terms below 1 at
/// scale 2^45. Rounding of `N = 2^9` coefficients takes about 6 bits, sums and keys a few more.
const BITS: f64 = 25.0;

pub(crate) struct Setup {
    pub(crate) params: Params,
    pub(crate) evaluator: Evaluator,
    pub(crate) secret: SecretKey,
    pub(crate) rng: ChaCha20Rng,
}

impl Setup {
    /// 256 slots, 2 levels of 45 bits.
    pub(crate) fn insecure(seed: u64) -> Self {
        let n = 1 << 9;
        let wide = ntt_primes(49, n, 3).unwrap();
        let narrow = ntt_primes(45, n, 2).unwrap();
        let params = Params::new_insecure(&ParamsSpec {
            n,
            levels: vec![vec![wide[0]], vec![narrow[0]], vec![narrow[1]]],
            special: wide[1..].to_vec(),
            digit_limbs: 2,
            log_scale: 45.0,
        })
        .unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        Self {
            evaluator: Evaluator::new(&params),
            secret: SecretKey::generate(params.rlwe(), &mut rng),
            params,
            rng,
        }
    }

    pub(crate) fn values(&mut self, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| self.rng.random_range(-1.0..1.0))
            .collect()
    }

    pub(crate) fn encrypt(&mut self, values: &[f64]) -> Ciphertext {
        let scale = self.params.scale();
        let message = Plaintext::encode_real(&self.params, values, 2, scale).unwrap();
        encrypt(
            &self.secret,
            &message,
            &mut Masks::random(&mut self.rng),
            &mut self.rng,
        )
        .unwrap()
    }

    pub(crate) fn keys(&mut self, rotations: impl IntoIterator<Item = isize>) -> GaloisKeys {
        let mut keys = GaloisKeys::new();
        for k in rotations {
            let element = self.params.encoder().rotation_element(k);
            keys.insert(element, self.secret.galois_key(element, 2, &mut self.rng));
        }
        keys
    }

    pub(crate) fn check(&self, ct: &Ciphertext, expected: &[f64], what: &str) {
        let found = decrypt(&self.secret, ct)
            .unwrap()
            .decode(&self.params, self.params.slots())
            .unwrap();
        let errors = found
            .iter()
            .zip(expected.iter().cycle())
            .map(|(a, b)| (a - b).norm());
        let bits = -errors.fold(0.0, f64::max).log2();
        assert!(bits > BITS, "{bits} bits: {what}");
    }
}
