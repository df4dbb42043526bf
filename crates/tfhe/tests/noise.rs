//! Measured noise compared with its prediction, from both sides.
//!
//! Tolerances are six deviations of a sample variance, `sqrt(2 / count)`, and six for the variation
//! between keys. Variances for a given key are sums over its noise and its bits, so they differ
//! from the mean over keys. Each run draws new keys.

use crate::common::{digits, keys, rng};
use palladion_tfhe::noise::{Model, Switched, measure_rounding};
use palladion_tfhe::{
    Encoding, Ggsw, Glwe, GlweList, KeySwitch, Lwe, LweList, LweSecret, Params, ParamsSpec,
    Scratch, TestPolynomial, modulus_switch,
};
use rand::Rng;
use ring::torus::{Decomposition, Fft, Multiplier, Naive, Torus};

/// n = 16, N = 64, k = 2 in words of 32 bits.
fn params_insecure(bootstrap: Decomposition, key_switch: KeySwitch) -> Params {
    Params::new_insecure(&ParamsSpec {
        word_bits: 32,
        lwe_dimension: 16,
        lwe_sigma: 2f64.powi(-22),
        rank: 2,
        log_n: 6,
        ring_sigma: 2f64.powi(-26),
        bootstrap,
        key_switch,
        encoding: Encoding::Gates,
    })
    .expect("in range")
}

/// Checks the mean square of samples from `keys` keys, whose own variances have the relative
/// deviation `spread`.
fn check(what: &str, samples: &[f64], predicted: f64, (keys, spread): (usize, f64)) {
    let found = samples.iter().map(|e| e * e).sum::<f64>() / samples.len() as f64;
    let tolerance = 6.0 * ((2.0 / samples.len() as f64).sqrt() + spread / (keys as f64).sqrt());
    println!(
        "{what}: {found:.4e}, predicted {predicted:.4e}, ratio {:.3}, tolerance {tolerance:.3}",
        found / predicted
    );
    assert!(tolerance < 0.35, "{what}: {tolerance} proves little");
    assert!(
        (found / predicted - 1.0).abs() < tolerance,
        "{what}: {found:e}, predicted {predicted:e}"
    );
}

fn lwe_digits() -> KeySwitch {
    KeySwitch::Lwe(digits(5, 3))
}

#[test]
fn fresh_samples_insecure() {
    let params = params_insecure(digits(8, 2), lwe_digits());
    let (client, _) = keys::<u32>(&params, 1);
    let bits = vec![true; 4096];
    let fresh = client
        .compress_bits(&bits, &mut rng(2))
        .expect("gates")
        .bits()
        .expect("gates");
    let errors: Vec<f64> = fresh
        .iter()
        .map(|b| client.phase(b.lwe()).to_torus() - 0.125)
        .collect();
    check("fresh", &errors, params.noise().fresh(), (1, 0.0));
}

/// Digits that leave large rests, so that rests dominate, and digits that leave small ones, so that
/// noise does.
#[test]
fn key_switches_of_both_kinds_insecure() {
    const KEYS: usize = 40;
    for (kind, key_switch) in [
        ("samples", KeySwitch::Lwe as fn(_) -> _),
        ("ring", KeySwitch::Ring),
    ] {
        for digits in [digits(5, 3), digits(4, 2), digits(6, 4)] {
            let params = params_insecure(crate::common::digits(8, 2), key_switch(digits));
            let mut errors = Vec::new();
            for key in 0..KEYS {
                let (client, server) = keys::<u32>(&params, key as u64);
                let mut scratch = Scratch::new(&params, server.bootstrapper().multiplier());
                for _ in 0..50 {
                    // A uniform sample is an encryption of its own phase.
                    let lwe = uniform(params.big_dimension(), &mut rng(errors.len() as u64));
                    let switched = server.bootstrapper().key_switch(&lwe, &mut scratch);
                    let phase: u32 = client.small_secret().phase(switched.words());
                    errors.push(phase.wrapping_sub(client.phase(&lwe)).to_torus());
                }
            }
            // 128 l squares of noise per key. Rests have the same variance for every secret.
            let spread = (2.0 / (128.0 * f64::from(digits.levels()))).sqrt();
            check(
                &format!("key switch, {kind}, {digits:?}"),
                &errors,
                params.noise().key_switch(),
                (KEYS, spread),
            );
        }
    }
}

fn uniform(dimension: usize, rng: &mut impl Rng) -> Lwe<u32> {
    Lwe::from_words((0..=dimension).map(|_| rng.random()).collect())
}

#[test]
fn modulus_switch_has_half_the_variance_of_one_that_keeps_the_mean() {
    const DIMENSION: usize = 600;
    let rng = &mut rng(3);
    for (n, drop) in [(1024usize, 0u32), (2048, 2)] {
        let secret: Vec<bool> = (0..DIMENSION).map(|_| rng.random()).collect();
        let secret = |i: usize| u32::from(secret[i]);
        let mut errors = Vec::new();
        let mut exponents = vec![0; DIMENSION + 1];
        for _ in 0..4000 {
            let sample = uniform(DIMENSION, rng);
            modulus_switch(&mut exponents, sample.words(), n.ilog2() + 1, drop);
            assert!(exponents.iter().all(|&e| e < 2 * n && e % (1 << drop) == 0));
            let phase = |word: &dyn Fn(usize) -> u32| {
                (0..DIMENSION).fold(word(DIMENSION), |b, i| {
                    b.wrapping_sub(word(i).wrapping_mul(secret(i)))
                })
            };
            let before = phase(&|i| sample.words()[i]);
            let after = phase(&|i| (exponents[i] as u32) << (31 - n.ilog2()));
            // The body is rounded down, so the mean is half a step lower.
            let mean = -0.5 * f64::from(1u32 << drop) / (2 * n) as f64;
            errors.push(after.wrapping_sub(before).to_torus() - mean);
        }
        let model = Model {
            lwe_dimension: DIMENSION,
            n,
            ..params_insecure(digits(8, 2), lwe_digits()).noise()
        };
        let Switched { mask, body } = model.modulus_switch(drop);
        let step = f64::from(1u32 << drop) / (2 * n) as f64;
        assert!((mask / step.powi(2) - DIMENSION as f64 / 48.0).abs() < 1e-9);
        check(
            &format!("modulus switch, N = {n}, {drop} dropped"),
            &errors,
            mask + body,
            (1, 0.0),
        );
    }
}

#[test]
fn external_products_insecure() {
    const KEYS: usize = 24;
    for digits in [digits(8, 2), digits(4, 2)] {
        for bit in [0, 1] {
            let params = params_insecure(digits, lwe_digits());
            let multiplier = Naive::new(params.n());
            let mut errors = Vec::new();
            for key in 0..KEYS {
                let rng = &mut rng(key as u64);
                let secret = palladion_tfhe::GlweSecret::generate(2, params.n(), rng);
                let cipher = palladion_tfhe::GlweCipher::<u32, _>::new(
                    &secret,
                    &multiplier,
                    params.spec().ring_sigma,
                );
                let ggsw = Ggsw::encrypt(&cipher, &multiplier, digits, bit, rng);
                for _ in 0..4 {
                    let input = Glwe::from_words(
                        params.n(),
                        (0..3 * params.n()).map(|_| rng.random()).collect(),
                    );
                    let mut out = Glwe::trivial(2, &vec![0; params.n()]);
                    ggsw.external_product_add(&multiplier, &mut out, &input);
                    let (found, expected) =
                        (secret.phase(out.words()), secret.phase(input.words()));
                    let error = |(f, e): (&u32, &u32)| {
                        f.wrapping_sub(e.wrapping_mul(bit as u32)).to_torus()
                    };
                    errors.extend(found.iter().zip(&expected).map(error));
                }
            }
            // 3 l N squares of noise per key, and 128 bits of the ring secret.
            let spread = (2.0 / (192.0 * f64::from(digits.levels()))).sqrt() + 1.0 / 128f64.sqrt();
            let predicted = params.noise().external_product(bit == 1);
            check(
                &format!("external product, {digits:?}, bit {bit}"),
                &errors,
                predicted,
                (KEYS, spread),
            );
        }
    }
}

#[test]
fn outputs_of_bootstrappings_insecure() {
    const KEYS: usize = 150;
    // The accumulator of the first step has mask 0 and adds less noise: a few percent of 16 steps.
    // In the first case most noise is the key's. In the second most comes from rests, in the half
    // of the steps whose bit is 1.
    for (digits, spread) in [(digits(8, 3), 0.1), (digits(6, 2), 0.35)] {
        let params = params_insecure(digits, KeySwitch::Ring(crate::common::digits(5, 3)));
        let test = TestPolynomial::of_tables(params.n(), &[vec![1 << 29; 4], vec![1 << 28; 4]]);
        let mut errors = Vec::new();
        for key in 0..KEYS {
            let (client, server) = keys::<u32>(&params, key as u64);
            for i in 0..8 {
                let bit = client.encrypt_bit(i % 2 == 0, &mut rng(i)).expect("gates");
                for (lwe, size) in server
                    .bootstrap(bit.lwe(), &test)
                    .iter()
                    .zip([0.125, 0.0625])
                {
                    let expected = if i % 2 == 0 { size } else { -size };
                    errors.push(client.phase(lwe).to_torus() - expected);
                }
            }
        }
        check(
            &format!("output, {digits:?}"),
            &errors,
            params.noise().output(),
            (KEYS, spread),
        );
    }
}

/// An exact multiplier rounds nothing, and the rounding of others is measured.
#[test]
fn rounding_is_measured() {
    struct Rounds(Naive);
    impl Multiplier<u32> for Rounds {
        type Word = u32;
        type Scratch = ();
        fn name(&self) -> &'static str {
            "rounds"
        }
        fn n(&self) -> usize {
            Multiplier::<u32>::n(&self.0)
        }
        fn prepared_len(&self) -> usize {
            Multiplier::<u32>::prepared_len(&self.0)
        }
        fn scratch(&self, _: usize, _: usize) {}
        fn prepare(&self, polys: &[u32]) -> Vec<u32> {
            self.0.prepare(polys)
        }
        fn dot_add(&self, out: &mut [u32], digits: &[i32], matrix: &[u32], scratch: &mut ()) {
            self.0.dot_add(out, digits, matrix, scratch);
            out.iter_mut()
                .for_each(|w| *w = (*w + (1 << 11)) & !((1 << 12) - 1));
        }
        fn error_bound(&self, _: usize, _: f64) -> f64 {
            2f64.powi(-21)
        }
    }
    assert_eq!(
        measure_rounding::<u32>(&Naive::new(64), 3, 8, &mut rng(1)),
        0.0
    );
    let found = measure_rounding::<u32>(&Rounds(Naive::new(1024)), 2, 8, &mut rng(1));
    let expected = 2f64.powi(-40) / 12.0;
    assert!(
        (found / expected - 1.0).abs() < 6.0 * (1.0 / 1024f64).sqrt(),
        "{found:e}, expected {expected:e}"
    );
}

/// The fast multiplier rounds, so words are multiplied in pieces. The lists equal those of exact
/// products, word for word.
#[test]
fn lists_are_exact_whatever_the_multiplier() {
    fn lists<T: Torus>(n: usize, rank: usize) {
        let secret = palladion_tfhe::GlweSecret::generate(rank, n, &mut rng(6));
        let fast = Fft::new(n).expect("a degree of the transform");
        let naive = Naive::new(n);
        let fast = palladion_tfhe::GlweCipher::<T, _>::new(&secret, &fast, 2f64.powi(-25));
        let naive = palladion_tfhe::GlweCipher::<T, _>::new(&secret, &naive, 2f64.powi(-25));
        let list = GlweList::encrypt(&naive, 3, &mut rng(7), |_, _| {});
        assert!(
            list == GlweList::encrypt(&fast, 3, &mut rng(7), |_, _| {}),
            "N = {n}, {} bits",
            T::BITS
        );
    }
    lists::<u32>(512, 3);
    lists::<u32>(1024, 1);
    lists::<u64>(512, 4);
    lists::<u64>(2048, 1);
    lists::<u64>(4096, 1);
}

#[test]
fn lists_encrypt_what_they_are_given() {
    let rng = &mut rng(5);
    let multiplier = Naive::new(32);
    let secret = palladion_tfhe::GlweSecret::generate(2, 32, rng);
    let cipher = palladion_tfhe::GlweCipher::<u64, _>::new(&secret, &multiplier, 2f64.powi(-40));
    let list = GlweList::encrypt(&cipher, 40, rng, |row, body| {
        body[row % 32] = body[row % 32].wrapping_add(1 << 60)
    });
    let mut errors = Vec::new();
    for row in 0..list.len() {
        let phase = secret.phase(&list.expand(row..row + 1));
        let expected = |i| if i == row % 32 { 1u64 << 60 } else { 0 };
        errors.extend(
            phase
                .iter()
                .enumerate()
                .map(|(i, p)| p.wrapping_sub(expected(i)).to_torus()),
        );
    }
    check("rows", &errors, 2f64.powi(-80), (1, 0.0));
}

/// Rows with the same noise would reveal differences of the values they encrypt.
#[test]
fn no_two_rows_share_noise_or_masks() {
    let rng = &mut rng(9);
    let multiplier = Naive::new(32);
    let secret = palladion_tfhe::GlweSecret::generate(1, 32, rng);
    let cipher = palladion_tfhe::GlweCipher::<u64, _>::new(&secret, &multiplier, 2f64.powi(-20));
    let list = GlweList::encrypt(&cipher, 8, rng, |_, _| {});
    let rows: Vec<Vec<u64>> = (0..8).map(|row| list.expand(row..row + 1)).collect();
    let phases: Vec<Vec<u64>> = rows.iter().map(|row| secret.phase(row)).collect();
    let small = LweSecret::generate(64, rng);
    let samples = LweList::encrypt(&small, 2f64.powi(-20), &[0u64; 8], rng);
    let samples: Vec<Vec<u64>> = (0..8).map(|i| samples.expand(i..i + 1)).collect();
    let errors: Vec<u64> = samples.iter().map(|s| small.phase(s)).collect();
    for j in 0..8 {
        for i in 0..j {
            assert_ne!(rows[i][..32], rows[j][..32], "masks of rows {i} and {j}");
            assert_ne!(phases[i], phases[j], "noise of rows {i} and {j}");
            assert_ne!(
                samples[i][..64],
                samples[j][..64],
                "masks of samples {i} and {j}"
            );
            assert_ne!(errors[i], errors[j], "noise of samples {i} and {j}");
        }
    }
}
