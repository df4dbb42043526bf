//! Compares circuits on approximate numbers with plain numbers.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use ckks::{Ciphertext, Complex64, Evaluator, Params, ParamsSpec, Plaintext, decrypt, encrypt};
use palladion_circuits::approximate::{
    Arithmetic, BootstrapSpec, Bootstrapper, Chebyshev, LinearTransform, Matrix, evaluate,
};
use palladion_circuits::operations::RunRing;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::Masks;
use rlwe::{GaloisKeys, SecretKey};

struct Setup {
    params: Params,
    secret: SecretKey,
    rng: ChaCha20Rng,
}

impl Setup {
    fn new(params: Params, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        Self {
            params,
            secret,
            rng,
        }
    }

    fn message(&mut self, slots: usize) -> Vec<Complex64> {
        let mut part = || self.rng.random_range(-1.0..1.0) * 0.7;
        (0..slots).map(|_| Complex64::new(part(), part())).collect()
    }

    fn encrypt(&mut self, values: &[Complex64], level: usize) -> Ciphertext {
        let message = Plaintext::encode(&self.params, values, level, self.params.scale()).unwrap();
        encrypt(
            &self.secret,
            &message,
            &mut Masks::random(&mut self.rng),
            &mut self.rng,
        )
        .unwrap()
    }

    /// Mean square of the errors, over all slots of the ring.
    fn squares(&self, ct: &Ciphertext, expected: &[Complex64]) -> f64 {
        let message = decrypt(&self.secret, ct).unwrap();
        let found = message.decode(&self.params, self.params.slots()).unwrap();
        let errors = found.iter().zip(expected.iter().cycle());
        errors.map(|(a, b)| (a - b).norm_sqr()).sum::<f64>() / found.len() as f64
    }

    /// Bits of the largest error.
    fn precision(&self, ct: &Ciphertext, expected: &[Complex64]) -> f64 {
        let found = decrypt(&self.secret, ct)
            .unwrap()
            .decode(&self.params, expected.len())
            .unwrap();
        let errors = found.iter().zip(expected).map(|(a, b)| (a - b).norm());
        -errors.fold(0.0, f64::max).log2()
    }
}

/// Parameters with levels of 45 bits.
fn insecure_params(log_n: u32, count: usize) -> Params {
    let n = 1 << log_n;
    let first = ntt_primes(49, n, 3).unwrap();
    let mut levels = vec![vec![first[0]]];
    levels.extend(
        ntt_primes(45, n, count)
            .unwrap()
            .into_iter()
            .map(|q| vec![q]),
    );
    Params::new_insecure(&ParamsSpec {
        n,
        levels,
        special: first[1..].to_vec(),
        digit_limbs: 2,
        log_scale: 45.0,
    })
    .unwrap()
}

#[test]
fn stages_make_the_slot_transform() {
    let mut s = Setup::new(insecure_params(8, 1), 1);
    let encoder = s.params.encoder();
    for slots in [2usize, 16, 128] {
        let mut values = s.rng.clone().random_iter::<f64>();
        let x: Vec<Complex64> = (0..slots)
            .map(|_| Complex64::new(values.next().unwrap(), values.next().unwrap()))
            .collect();
        let bits = slots.ilog2();
        let mut reversed = x.clone();
        for (i, v) in reversed.iter_mut().enumerate() {
            *v = x[i.reverse_bits() >> (usize::BITS - bits)];
        }
        let stages = (1..=bits).map(|s| Matrix::join_stage(encoder, slots, 1 << s));
        let whole = stages.reduce(|done, next| next.after(&done)).unwrap();
        let mut expected = x.clone();
        encoder.coefficients_to_slots(&mut expected);
        let found = whole.apply(&reversed);
        assert!(
            found
                .iter()
                .zip(&expected)
                .all(|(a, b)| (a - b).norm() < 1e-12)
        );
        let stages = (1..=bits)
            .rev()
            .map(|s| Matrix::split_stage(encoder, slots, 1 << s));
        let inverse = stages.reduce(|done, next| next.after(&done)).unwrap();
        let back = inverse.apply(&found);
        assert!(
            back.iter()
                .zip(&reversed)
                .all(|(a, b)| (a - b).norm() < 1e-12)
        );
        let moved = inverse.rotated(3, 5);
        let mut input = found.clone();
        input.rotate_left(5 % slots);
        let mut output = back;
        output.rotate_left(3 % slots);
        assert!(
            moved
                .apply(&input)
                .iter()
                .zip(&output)
                .all(|(a, b)| (a - b).norm() < 1e-12)
        );
    }
    s.rng.random::<u8>();
}

#[test]
fn matrices_multiply_slots_insecure() {
    let mut s = Setup::new(insecure_params(9, 3), 2);
    for (slots, indices, babies) in [
        (256, vec![0, 1, 2, 7, 30, 255], 4),
        (256, vec![0, 32, 64, 96, 224], 2),
        (256, vec![5], 8),
        (16, vec![0, 3, 15], 4),
        (256, (0..256).collect(), 16),
    ] {
        let diagonals: Vec<(isize, Vec<Complex64>)> =
            indices.iter().map(|&k| (k, s.message(slots))).collect();
        let matrix = Matrix::new(slots, diagonals);
        let scale = s.params.level_modulus(2);
        let map = LinearTransform::new(&s.params, &matrix, 2, scale, babies).unwrap();
        let mut keys = GaloisKeys::new();
        for k in map.rotations() {
            let element = s.params.encoder().rotation_element(*k as isize);
            keys.insert(element, s.secret.galois_key(element, 2, &mut s.rng));
        }
        let x = s.message(slots);
        let ct = s.encrypt(&x, 2);
        let params = s.params.clone();
        let operations = RunRing::new(params.rlwe(), None, &keys);
        let arithmetic = Arithmetic::of(&params, &operations);
        let apply = |ct: &Ciphertext| map.apply(&arithmetic, &arithmetic.open(ct).unwrap());
        let y = arithmetic.close(apply(&ct).unwrap());
        assert!((y.scale() / ct.scale() - 1.0).abs() < 1e-12);
        let bits = s.precision(&y, &matrix.apply(&x));
        assert!(bits > 25.0, "{bits} bits with {} diagonals", indices.len());
        let high = s.encrypt(&x, 3);
        let refused = apply(&high).unwrap_err();
        assert!(
            refused.to_string().contains("3") && refused.to_string().contains("2"),
            "{refused}"
        );
    }
}

#[test]
fn polynomials_take_the_fewest_levels_insecure() {
    let mut s = Setup::new(insecure_params(9, 6), 3);
    let key = s.secret.relinearization_key(6, &mut s.rng);
    let galois = GaloisKeys::new();
    let params = s.params.clone();
    let operations = RunRing::new(params.rlwe(), Some(&key), &galois);
    let arithmetic = Arithmetic::of(&params, &operations);
    let x: Vec<Complex64> = (0..256)
        .map(|j| (f64::from(j) / 128.0 - 1.0).into())
        .collect();
    let ct = arithmetic.open(&s.encrypt(&x, 6)).unwrap();
    for degree in [1, 2, 3, 4, 7, 8, 13, 15, 16, 30, 31, 32, 63] {
        let p = Chebyshev::interpolate(|x| (3.0 * x).sin() + 0.25 * x * x, degree);
        let scale = s.params.scale() * 1.25;
        let y = evaluate(&arithmetic, &p, &ct, scale).unwrap();
        assert_eq!(y.scale(), scale);
        let depth = (p.degree() + 1).next_power_of_two().ilog2() as usize;
        assert_eq!(
            (y.level(), p.depth()),
            (6 - depth, depth),
            "degree {degree}"
        );
        let expected: Vec<Complex64> = x.iter().map(|x| p.at(x.re).into()).collect();
        let bits = s.precision(&arithmetic.close(y), &expected);
        assert!(bits > 25.0, "{bits} bits at degree {degree}");
    }
    let long = Chebyshev::interpolate(|x| (9.0 * x).sin(), 64);
    let refused = evaluate(&arithmetic, &long, &ct, s.params.scale()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "7 levels needed, the ciphertext has 6 left: use fewer products or bootstrap"
    );
    assert!(evaluate(&arithmetic, &Chebyshev::new(vec![2.0]), &ct, 1.0).is_err());
}

#[test]
fn chebyshev_sums_are_what_they_interpolate() {
    let f = |x: f64| (2.0 * x - 0.3).exp();
    let p = Chebyshev::interpolate(f, 20);
    for k in -10..=10 {
        let x = f64::from(k) / 10.0;
        let naive: f64 = p
            .coefficients()
            .iter()
            .enumerate()
            .map(|(k, c)| c * (k as f64 * x.acos()).cos())
            .sum();
        assert!((p.at(x) - f(x)).abs() < 1e-12 && (p.at(x) - naive).abs() < 1e-12);
    }
}

/// The levels of `Bootstrapper::params_2_16` on a small ring.
fn insecure_bootstrap_params(log_n: u32, left: usize, matrices: usize) -> Params {
    let n = 1 << log_n;
    let primes = |bits, count| ntt_primes(bits, n, count).unwrap();
    let singles = |primes: Vec<u64>| primes.into_iter().map(|q| vec![q]);
    let pairs = |primes: Vec<u64>| {
        primes
            .chunks_exact(2)
            .map(<[u64]>::to_vec)
            .collect::<Vec<_>>()
    };
    let mut levels = pairs(primes(30, 18));
    let reduction = levels.split_off(1);
    levels.extend(singles(primes(40, left)));
    levels.extend(singles(primes(42, matrices)));
    levels.extend(reduction);
    levels.extend(pairs(primes(28, 2 * matrices)));
    Params::new_insecure(&ParamsSpec {
        n,
        levels,
        special: primes(49, 9),
        digit_limbs: 15,
        log_scale: 40.0,
    })
    .unwrap()
}

#[test]
fn bootstrapping_gives_the_message_back_insecure() {
    for (log_n, matrices) in [(10, 3), (11, 3)] {
        let mut s = Setup::new(insecure_bootstrap_params(log_n, 2, matrices), 5);
        let bootstrapper = Bootstrapper::new(&s.params, &BootstrapSpec::default()).unwrap();
        assert_eq!(bootstrapper.output_level(), 2);
        let keys = bootstrapper.generate_keys(&s.secret, &mut s.rng);
        let x = s.message(s.params.slots());
        let ct = s.encrypt(&x, 0);
        let y = bootstrapper.bootstrap(&ct, &keys).unwrap();
        let evaluator = Evaluator::new(&s.params);
        assert_eq!(evaluator.level(&y), Ok(2));
        assert!((y.scale() / s.params.scale() - 1.0).abs() < 1e-3);
        let bits = s.precision(&y, &x);
        assert!(bits > 22.0, "{bits} bits at N = 2^{log_n}");
    }
}

#[test]
fn messages_that_repeat_are_bootstrapped_by_fewer_matrices_insecure() {
    let mut s = Setup::new(insecure_bootstrap_params(11, 2, 3), 6);
    for (slots, level) in [(1, 4), (2, 4), (16, 4), (64, 3), (256, 3), (512, 2)] {
        let spec = BootstrapSpec::for_slots(slots);
        let bootstrapper = Bootstrapper::new(&s.params, &spec).unwrap();
        assert_eq!(bootstrapper.output_level(), level, "{slots} slots");
        let keys = bootstrapper.generate_keys(&s.secret, &mut s.rng);
        // Equal slots make the largest possible coefficient.
        for x in [s.message(slots), vec![Complex64::ONE; slots]] {
            let ct = s.encrypt(&x, 0);
            let y = bootstrapper.bootstrap(&ct, &keys).unwrap();
            let repeated = x.repeat(s.params.slots() / slots);
            let bits = s.precision(&y, &repeated);
            println!("{slots} slots: {bits:.1} bits");
            assert!(bits > 22.0, "{bits} bits of {slots} slots");
        }
    }
    for slots in [0, 3, 2048] {
        let spec = BootstrapSpec::for_slots(slots);
        let refused = Bootstrapper::new(&s.params, &spec).map(drop).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "the number of slots to bootstrap is {slots}, expected a power of two up to 1024"
            )
        );
    }
}

/// A run differs from the sampled one by its own samples of errors, of the secret and of the
/// multiples of `q_0`.
#[test]
fn the_precision_of_bootstrapping_is_predicted_insecure() {
    for (log_n, slots) in [(11, None), (11, Some(64)), (12, None)] {
        let mut s = Setup::new(insecure_bootstrap_params(log_n, 2, 3), 7);
        let spec = slots.map_or_else(BootstrapSpec::default, BootstrapSpec::for_slots);
        let bootstrapper = Bootstrapper::new(&s.params, &spec).unwrap();
        let keys = bootstrapper.generate_keys(&s.secret, &mut s.rng);
        let predicted = bootstrapper.precision(s.params.scale()).unwrap();
        // For large messages the sine's error is the largest part, for small messages the noise.
        for size in [1.0, 0.02] {
            let mut x = s.message(slots.unwrap_or(s.params.slots()));
            x.iter_mut().for_each(|x| *x *= size);
            let ct = s.encrypt(&x, 0);
            let low = s.squares(&ct, &x);
            let high = bootstrapper.bootstrap(&ct, &keys).unwrap();
            let expected = bootstrapper.as_stated().to_scale;
            assert!((high.scale() / expected - 1.0).abs() < 1e-9);
            let sine = bootstrapper.sine_errors(&x, ct.scale()).unwrap();
            let sine = sine.iter().map(|e| e.norm_sqr()).sum::<f64>() / x.len() as f64;
            let expected = -(predicted.0 + sine + low).log2() / 2.0;
            let measured = -s.squares(&high, &x).log2() / 2.0;
            println!(
                "N = 2^{log_n}, {slots:?}, size {size}: {measured:.2} bits, expected {expected:.2} (sine {:.2}, fresh {:.2})",
                -sine.log2() / 2.0,
                -low.log2() / 2.0
            );
            assert!((measured - expected).abs() < 0.25, "{measured}, {expected}");
        }
    }
}

/// The moduli that the secret of weight 32 protects are bounded, whatever the security of the other
/// keys.
#[test]
fn a_sparse_secret_over_many_bits_is_refused() {
    let n = 1 << 15;
    let params = |q0: &[u32], special: u32| {
        let levels: Vec<u32> = [q0, &[35; 17], &[special]].concat();
        let mut primes = ring::ntt_primes_of_sizes(&levels, n).unwrap();
        let special = vec![primes.pop().unwrap()];
        let upper = primes.split_off(q0.len());
        let levels = [vec![primes], upper.into_iter().map(|q| vec![q]).collect()].concat();
        let spec = ParamsSpec {
            n,
            levels,
            special,
            digit_limbs: 1,
            log_scale: 35.0,
        };
        Params::new(&spec).unwrap()
    };
    let spec = BootstrapSpec::default();
    // 220 bits. Primal attacks alone break these in 2^125 operations.
    let error = Bootstrapper::new(&params(&[54, 54, 54], 58), &spec)
        .err()
        .unwrap();
    let refused = rlwe::Error::InsecureSparse {
        weight: 32,
        least: 32,
        log_q: 220,
        limit: 150,
        n,
    };
    assert!(matches!(error, palladion_circuits::Error::Ckks(found) if found == refused.into()));
    let found = Bootstrapper::new(&params(&[50], 50), &spec).unwrap();
    assert_eq!(found.sparse().weight(), Some(32));
    // The parameters' own secret is the weaker one. The sparse secret has 148 bits by MATZOV.
    assert_eq!(found.sparse().security().bits(), Some(148.0));
    assert_eq!(found.security().bits(), Some(128.3));
}
