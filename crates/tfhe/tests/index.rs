//! Noise of the index into a table, which decides failures, after key switch and modulus switch. It
//! is compared with the prediction from both sides, at secure sizes and with the digits of the
//! sets.
//!
//! Only the key for the key switch is generated, so that there can be many keys. Predictions are
//! averages over keys, and with digits of one bit half of the noise is the same for all key
//! switches with one key.

use crate::common::rng;
use palladion_tfhe::{
    Bootstrapper, Encoding, GlweCipher, GlweList, GlweSecret, KeySwitch, Lwe, LweSecret, Params,
    Scratch, SwitchKey, modulus_switch, sets,
};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use ring::torus::{Fft, Torus};

/// Distances between the phase and that of its index, for uniform samples with the noise of the
/// noisiest operand.
fn index_errors<T: Torus>(params: &Params, input: f64, (key, samples): (u64, usize)) -> Vec<f64> {
    let rng = &mut rng(key);
    let fft = || Fft::new(params.n()).expect("a degree of the transform");
    let big = GlweSecret::generate(params.rank(), params.n(), rng);
    let small = LweSecret::generate(params.lwe_dimension(), rng);
    let switch = SwitchKey::generate(params, (&big, &small), &fft(), rng);
    let multiplier = fft();
    let cipher = GlweCipher::<T, _>::new(&big, &multiplier, params.spec().ring_sigma);
    let none = GlweList::encrypt(&cipher, 0, rng, |_, _| {});
    let bootstrapper = Bootstrapper::new(params, &none, &switch, fft());
    let mut scratch = Scratch::new(params, bootstrapper.multiplier());
    let lwe_secret = big.to_lwe();
    let (steps, bits) = (2 * params.n(), bits(&small));
    let mut exponents = vec![0; params.lwe_dimension() + 1];
    let mut error = || {
        let words = (0..=params.big_dimension()).map(|_| T::from_low_bits(rng.random()));
        let lwe = Lwe::from_words(words.collect());
        let phase = lwe_secret.phase::<T>(lwe.words());
        let small_lwe = bootstrapper.key_switch(&lwe, &mut scratch);
        modulus_switch(&mut exponents, small_lwe.words(), steps.ilog2(), 0);
        let (mask, body) = exponents.split_at(params.lwe_dimension());
        // Bit i of the small secret: the amount by which a word 1 at place i lowers the phase.
        let index = mask
            .iter()
            .zip(&bits)
            .fold(body[0], |index, (&a, &s)| (index + (steps - a) * s) % steps);
        let normal: f64 = StandardNormal.sample(rng);
        // The body is rounded down, so the mean is half a step lower.
        let found = T::from_torus((index as f64 + 0.5) / steps as f64);
        found.minus(phase).to_torus() + normal * input.sqrt()
    };
    (0..samples).map(|_| error()).collect()
}

fn bits(secret: &LweSecret) -> Vec<usize> {
    let place = |i: usize| {
        let mut words = vec![0u64; secret.dimension() + 1];
        words[i] = 1;
        secret.phase::<u64>(&words).wrapping_neg() as usize
    };
    (0..secret.dimension()).map(place).collect()
}

/// Checks the noise of `keys` keys, with `samples` samples each.
fn check<T: Torus>(params: &Params, keys: usize, samples: usize) {
    let model = params.noise();
    let squared_norm = match params.encoding() {
        Encoding::Gates => 8.0,
        Encoding::Integers { .. } => (params.max_noise() as f64).powi(2),
    };
    let predicted = model.index(squared_norm, 0) + model.modulus_switch(0).body;
    let input = squared_norm * model.output();
    let errors = ring::par_map(keys, |key| {
        index_errors::<T>(params, input, (key as u64, samples))
    });
    let (mean_square, means): (Vec<f64>, Vec<f64>) = errors
        .iter()
        .map(|e| {
            let square = e.iter().map(|e| e * e).sum::<f64>() / samples as f64;
            (square, e.iter().sum::<f64>() / samples as f64)
        })
        .unzip();
    let found = mean_square.iter().sum::<f64>() / keys as f64;
    // The part that is the same for all samples of a key: digits have mean -1/2 and mean square
    // (B^2 + 2) / 12.
    let digits = params.spec().key_switch.decomposition();
    let fixed_share = 0.25 / digits.mean_square();
    let fixed = fixed_share * model.key_switch() / predicted;
    let tolerance =
        6.0 * ((2.0 / (keys * samples) as f64).sqrt() + fixed * (2.0 / keys as f64).sqrt());
    let between = means.iter().map(|m| m * m).sum::<f64>() / keys as f64;
    println!(
        "n = {}, N = {}, {digits:?}: {found:.3e}, predicted {predicted:.3e}, ratio {:.3}, \
         tolerance {tolerance:.3}; {:.0} % of the variance is the key's, {:.0} % predicted",
        params.lwe_dimension(),
        params.n(),
        found / predicted,
        100.0 * (between - found / samples as f64) / found,
        100.0 * fixed,
    );
    assert!(tolerance < 0.36, "{tolerance} proves little");
    assert!((found / predicted - 1.0).abs() < tolerance);
}

#[test]
fn gates_in_the_ring() {
    let params = sets::gates_2m64();
    assert!(matches!(params.spec().key_switch, KeySwitch::Ring(digits) if digits.base_log() == 1));
    check::<u64>(&params, 240, 20);
}

#[test]
fn integers_in_the_ring() {
    let sets = [
        (sets::integers_1_1_2m128(), 1, 240),
        (sets::integers_2_2_2m64(), 2, 80),
    ];
    for (params, base_log, keys) in sets {
        assert_eq!(
            params.spec().key_switch.decomposition().base_log(),
            base_log
        );
        check::<u64>(&params, keys, 20);
    }
}

#[test]
fn by_samples() {
    check::<u32>(&sets::gates_lwe(), 20, 40);
    check::<u64>(&sets::integers_2_2_lwe(), 10, 100);
}
