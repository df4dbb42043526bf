//! From ring ciphertexts to LWE samples, at full size.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use palladion_rlwe::bytes::{BytesError, Kind, Reader, Writer};
use palladion_rlwe::lwe::{LweBatch, LweSecret};
use palladion_rlwe::noise::{Size, centred};
use palladion_rlwe::{
    Ciphertext, DimensionKey, DimensionParams, Error, Params, ParamsSpec, SecretKey,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::{Masks, uniform_from_seed};
use ring::{Eval, Poly, ntt_primes, ntt_primes_avoiding};

const T: u64 = 65537;

struct Setup {
    params: Params,
    secret: SecretKey,
    small: LweSecret,
    key: DimensionKey,
    rng: ChaCha20Rng,
}

fn setup(dimension: &DimensionParams, seed: u64) -> Setup {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    // The ring's own special modulus is not used.
    let (n, q) = (dimension.basis().n(), dimension.basis().values());
    let params = Params::new_insecure(&ParamsSpec {
        n,
        p: ntt_primes_avoiding(40, n, 1, &q).unwrap(),
        q,
        digit_limbs: 1,
    })
    .unwrap();
    let secret = SecretKey::generate(&params, &mut rng);
    let small = LweSecret::generate(dimension.dimension(), &mut rng);
    let key = DimensionKey::generate(dimension, &secret, &small, &mut rng);
    Setup {
        params,
        secret,
        small,
        key,
        rng,
    }
}

fn small_insecure(n: usize, dimension: usize) -> DimensionParams {
    let q = ntt_primes(30, n, 1).unwrap()[0];
    DimensionParams::new_insecure(n, q, dimension, 4).unwrap()
}

impl Setup {
    /// Encrypts `q/t m`, rounded.
    fn encrypt(&mut self, message: &[u64]) -> Ciphertext {
        let q = self.params.basis(0).modulus(0).value();
        let masks = &mut Masks::random(&mut self.rng);
        let mut ct = self.secret.encrypt_zero(0, masks, &mut self.rng);
        let scaled: Vec<i64> = message
            .iter()
            .map(|&m| {
                let [m, q, t] = [m, q, T].map(u128::from);
                ((m * q + t / 2) / t) as i64
            })
            .collect();
        let scaled = Poly::from_signed(self.params.basis(0), &scaled).into_eval();
        ct.components_mut()[0].add_assign(&scaled);
        ct
    }

    fn messages(&mut self) -> Vec<u64> {
        (0..self.params.n())
            .map(|_| self.rng.random_range(0..T))
            .collect()
    }
}

#[test]
fn samples_survive_their_bytes() {
    const KIND: Kind = Kind {
        tag: *b"TEST",
        words: "samples",
        version: 1,
    };
    let (n, dimension) = (16, 4);
    let mut s = setup(&small_insecure(n, dimension), 5);
    let messages = s.messages();
    let batch = LweBatch::switch(&s.encrypt(&messages), &s.key, T).unwrap();
    let mut w = Writer::new();
    w.lwe_batch(&batch);
    let sealed = w.seal(&KIND, &[0; 32]);
    let (header, checksum, packed) = (56, 32, 16 * 17 / 8);
    assert_eq!(sealed.len(), header + 2 * packed + checksum);
    let mut r = Reader::open(&sealed, &KIND, &[0; 32]).unwrap();
    assert_eq!(r.lwe_batch(n, dimension, T).unwrap(), batch);
    r.end().unwrap();

    // Bytes that end early, and a residue that is too large.
    let mut w = Writer::new();
    w.u64(u64::MAX);
    let sealed = w.seal(&KIND, &[0; 32]);
    let mut r = Reader::open(&sealed, &KIND, &[0; 32]).unwrap();
    let error = r.lwe_batch(n, dimension, T).err();
    assert!(matches!(error, Some(BytesError::Truncated { .. })));
    let mut w = Writer::new();
    (0..9).for_each(|_| w.u64(u64::MAX));
    let sealed = w.seal(&KIND, &[0; 32]);
    let mut r = Reader::open(&sealed, &KIND, &[0; 32]).unwrap();
    let error = r.lwe_batch(n, dimension, T).err();
    let refused = matches!(error, Some(BytesError::Value { found, .. }) if found == (1 << 17) - 1);
    assert!(refused, "{error:?}");
}

/// `a - b` modulo `t`, centred.
fn difference(a: u64, b: u64) -> f64 {
    let d = (a + T - b) % T;
    if d > T / 2 {
        d as f64 - T as f64
    } else {
        d as f64
    }
}

#[test]
fn samples_hold_the_messages_with_the_rounding_noise_of_the_small_secret() {
    let n = 1 << 15;
    type New = fn(usize, u64, usize, u32) -> Result<DimensionParams, Error>;
    let (secure, insecure): (New, New) = (DimensionParams::new, DimensionParams::new_insecure);
    // The last three are insecure. They test digits whose sum exceeds a word.
    for (dimension, q_bits, digit_bits, new) in [
        (1024, 25, 2, secure),
        (1024, 26, 3, secure),
        (1024, 26, 4, secure),
        (2048, 30, 5, secure),
        (1024, 50, 25, insecure),
        (1024, 60, 25, insecure),
        (1024, 60, 30, insecure),
    ] {
        let q = ntt_primes(q_bits, n, 1).unwrap()[0];
        let params = new(n, q, dimension, digit_bits).unwrap();
        let mut s = setup(&params, u64::from(q_bits + digit_bits));
        let messages = s.messages();
        let ct = s.encrypt(&messages);
        let batch = LweBatch::switch(&ct, &s.key, T).unwrap();
        assert_eq!((batch.modulus(), batch.dimension()), (T, dimension));
        let errors: Vec<f64> = messages
            .iter()
            .enumerate()
            .map(|(k, &m)| difference(batch.phase(k, &s.small), m))
            .collect();
        let variance = errors.iter().map(|e| e * e).sum::<f64>() / n as f64;
        let largest = errors.iter().fold(0.0f64, |m, e| m.max(e.abs()));

        let norm: i64 = s.small.coefficients().iter().map(|z| z * z).sum();
        let rounding = (1.0 + norm as f64) / 12.0;
        // The rounding of the message and its fresh noise add at most 1/12 + sigma^2.
        let switching = params.noise_variance() + ring::sample::SIGMA.powi(2) + 1.0 / 12.0;
        let expected = rounding + switching * (T as f64 / q as f64).powi(2);
        let ratio = variance / expected;
        println!(
            "dimension {dimension}, q of {q_bits} bits, {} digits of {digit_bits}: deviation {:.3}, expected {:.3}, largest {largest}",
            params.digits(),
            variance.sqrt(),
            expected.sqrt()
        );
        // Rounding errors are multiplied by a fixed secret. For each pair of frequencies the
        // squared magnitudes of both are exponentially distributed, so the relative deviation of
        // the mean square is sqrt(4 / N).
        let tolerance = 6.0 * (4.0 / n as f64).sqrt();
        assert!((ratio - 1.0).abs() < tolerance, "ratio {ratio}");
        let uniform = (1.0 + 2.0 * f64::from(dimension as u32) / 3.0) / 12.0;
        assert!(
            (rounding / uniform - 1.0).abs() < 0.1,
            "a uniform ternary secret"
        );
        assert!(largest < 7.0 * expected.sqrt());
    }
}

#[test]
fn a_mask_is_the_ring_s_mask_shifted_by_multiples_of_the_gap() {
    let (n, dimension) = (64, 16);
    let mut s = setup(&small_insecure(n, dimension), 3);
    let messages = s.messages();
    let batch = LweBatch::switch(&s.encrypt(&messages), &s.key, T).unwrap();
    let gap = n / dimension;
    for (k, &message) in messages.iter().enumerate() {
        // Coefficient k of c_1 X^(j gap), for every j, by the definition of the ring's product.
        for j in 0..dimension {
            let source = (0..n).find(|i| (i + j * gap) % n == k).unwrap();
            let a = batch.mask(source, 0);
            let wraps = source + j * gap >= n;
            assert_eq!(
                batch.mask(k, j),
                if wraps { (T - a) % T } else { a },
                "{k}, {j}"
            );
        }
        let z = s.small.coefficients();
        let sum: i64 = (0..dimension).map(|j| batch.mask(k, j) as i64 * z[j]).sum();
        let phase = (batch.body(k) as i64 + sum).rem_euclid(T as i64) as u64;
        assert_eq!(batch.phase(k, &s.small), phase);
        assert!(difference(phase, message).abs() < 12.0);
    }
}

#[test]
fn dimensions_and_ciphertexts_that_do_not_fit_are_refused() {
    let n = 1 << 12;
    let q = ntt_primes(27, n, 1).unwrap()[0];
    for found in [0, 3, n + 1] {
        let error = DimensionParams::new(n, q, found, 3).unwrap_err();
        assert_eq!(error, Error::LweDimension { found, n });
    }
    for found in [0, 31] {
        let error = DimensionParams::new(n, q, n, found).unwrap_err();
        assert_eq!(error, Error::DigitBits { found });
    }
    for (dimension, limit) in [(1024, 26), (512, 0)] {
        let error = DimensionParams::new(n, q, dimension, 3).unwrap_err();
        let expected = Error::Insecure {
            log_qp: 27,
            limit,
            lambda: 128,
            n: dimension,
        };
        assert_eq!(error, expected);
    }
    assert!(DimensionParams::new(n, q, 2048, 3).is_ok());

    let mut s = setup(&small_insecure(64, 16), 5);
    let ct = s.encrypt(&vec![1; 64]);
    let mut parts = ct.components().to_vec();
    parts.push(parts[0].clone());
    let three = LweBatch::switch(&Ciphertext::new(parts), &s.key, T).unwrap_err();
    let expected = Error::Components {
        found: 3,
        expected: 2,
    };
    assert_eq!(three, expected);
    let basis = s.params.extended(0);
    let high = Ciphertext::new(vec![Poly::zero(&basis), Poly::zero(&basis)]);
    let (left, right) = (1, 0);
    let level = LweBatch::switch(&high, &s.key, T).unwrap_err();
    assert_eq!(level, Error::LevelMismatch { left, right });
}

#[test]
fn digits_hold_every_residue() {
    // Nine digits of 3 bits are one too few for 27 bits: half the modulus, about 2^26, exceeds their
    // largest sum, 3/7 2^27.
    for (bits, digit_bits, digits) in [
        (26, 3, 9),
        (27, 3, 10),
        (26, 2, 14),
        (26, 13, 3),
        (30, 30, 1),
        (50, 25, 3),
        (60, 25, 3),
        (60, 30, 3),
    ] {
        let q = ntt_primes(bits, 1 << 10, 1).unwrap()[0];
        let params = DimensionParams::new_insecure(1 << 10, q, 1 << 10, digit_bits).unwrap();
        assert_eq!(params.digits(), digits, "{bits} bits by {digit_bits}");
    }
}

/// Digit `j` encrypts `B^j s` under mask `j` of the seed. If they shared one mask, differences
/// would reveal the secret.
#[test]
fn no_two_digits_of_the_dimension_key_share_a_mask() {
    let s = setup(&small_insecure(1 << 10, 256), 8);
    let (params, basis) = (s.key.params(), s.key.params().basis());
    let (n, gap) = (basis.n(), basis.n() / params.dimension());
    let mut z = vec![0; n];
    for (place, &bit) in z.iter_mut().step_by(gap).zip(s.small.coefficients()) {
        *place = bit;
    }
    let z: Poly<Eval> = Poly::from_signed(basis, &z).into_eval();
    for (j, body) in (0..).zip(s.key.bodies()) {
        let mask: Poly<Eval> = uniform_from_seed(basis, s.key.seed(), j);
        let mut phase = body.clone();
        phase.add_assign(&mask.mul(&z));
        let power = 1 << (params.digit_bits() * j);
        let scaled: Vec<i64> = s.secret.coefficients().iter().map(|x| x * power).collect();
        phase.sub_assign(&Poly::from_signed(basis, &scaled).into_eval());
        let size = Size::of(&centred(&phase.to_coeff()));
        // The deviation of errors, within six deviations for 1024 samples.
        assert!((size.log2_rms - 3.19f64.log2()).abs() < 0.25, "digit {j}");
    }
}
