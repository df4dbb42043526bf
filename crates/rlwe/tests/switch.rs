//! Key switching: the right phase, the noise of the formula, and equal results of all functions.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use palladion_rlwe::noise::{Size, centred};
use palladion_rlwe::{
    Ciphertext, Decomposed, Error, GaloisKeys, Params, ParamsSpec, PublicKey, SecretKey, SwitchKey,
    switch_coeff, switch_poly,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::{Masks, SIGMA, Seed};
use ring::{Coeff, Eval, Poly, eval_automorphism_index, ntt_primes, ntt_primes_avoiding};

fn params_insecure(n: usize, (bits, limbs): (u32, usize), p: (u32, usize), width: usize) -> Params {
    let spec = ParamsSpec {
        n,
        q: ntt_primes(bits, n, limbs).unwrap(),
        p: ntt_primes(p.0, n, p.1).unwrap(),
        digit_limbs: width,
    };
    Params::new_insecure(&spec).unwrap()
}

/// Moduli of the given sizes. Those of more than 50 bits are wide.
fn mixed_insecure(n: usize, q: &[u32], p: &[u32], width: usize) -> Params {
    let mut all = Vec::new();
    for &bits in q.iter().chain(p) {
        let next = ntt_primes_avoiding(bits, n, 1, &all).unwrap();
        all.extend(next);
    }
    let p = all.split_off(q.len());
    let digit_limbs = width;
    Params::new_insecure(&ParamsSpec {
        n,
        q: all,
        p,
        digit_limbs,
    })
    .unwrap()
}

fn uniform(params: &Params, level: usize, rng: &mut ChaCha20Rng) -> Poly<Eval> {
    ring::sample::uniform_from_seed(params.basis(level), &Seed::random(rng), 0)
}

/// `phase - d s'`: the noise that a switch of `d` adds.
fn error(secret: &SecretKey, switched: &Ciphertext, d: &Poly<Eval>, from: &Poly<Eval>) -> Vec<f64> {
    let mut difference = secret.phase(switched);
    difference.sub_assign(&d.mul(&from.prefix(d.limbs())).into_coeff());
    centred(&difference).to_vec()
}

/// Variance of the key's part: `N sigma^2 (D/P)^2 / 12` per digit, as digits are uniform in
/// `[-D/2, D/2]`.
fn key_variance(params: &Params, level: usize) -> f64 {
    params
        .digits(level)
        .map(|limbs| {
            let ratio = params.basis(level).slice(limbs).log2() - params.special().log2();
            params.n() as f64 * SIGMA * SIGMA / 12.0 * (2.0 * ratio).exp2()
        })
        .sum()
}

#[test]
fn noise_of_a_switch_follows_the_formula_from_both_sides() {
    const KEYS: usize = 400;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    // Digits larger than P, where the key's part dominates, and smaller ones, where rounding does.
    // A wide first modulus and a wide special one among narrow ones, and only wide ones.
    for params in [
        params_insecure(256, (34, 4), (35, 1), 2),
        params_insecure(256, (34, 4), (48, 2), 2),
        params_insecure(256, (34, 4), (33, 1), 1),
        mixed_insecure(256, &[60, 34, 34, 34], &[60], 1),
        mixed_insecure(256, &[60, 55, 51, 60], &[58, 60], 2),
    ] {
        let level = 3;
        let mut sum = 0.0;
        let (mut rounding, mut key_part) = (0.0, 0.0);
        for _ in 0..KEYS {
            let secret = SecretKey::generate(&params, &mut rng);
            let key = secret.relinearization_key(level, &mut rng);
            let s = secret.at_level(level);
            let d = uniform(&params, level, &mut rng);
            let switched = switch_poly(&d, &key, [None; 2], 0).unwrap();
            let errors = error(&secret, &switched, &d, &s.mul(&s));
            sum += errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
            let norm: i64 = secret.coefficients().iter().map(|s| s * s).sum();
            rounding += (1.0 + norm as f64) / 12.0;
            key_part += key_variance(&params, level);
        }
        let ratio = sum / (rounding + key_part);
        // The tolerance is wider than centred digits need: it allows for digits with a mean. A mean
        // multiplies signed partial sums of the errors. Their mean square over one key has a
        // relative deviation of sqrt(2/3), so of sqrt(2/3 / KEYS) over all keys. Rounding has
        // sqrt(4 / N) per key. The tolerance is six of the larger deviation.
        let tolerance = 6.0 * (2.0 / 3.0 / KEYS as f64).sqrt();
        let case = format!("{params:?}");
        println!(
            "{case}: ratio {ratio:.3}, key's share {:.2}",
            key_part / (rounding + key_part)
        );
        assert!((ratio - 1.0).abs() < tolerance, "{case}: {ratio}");
    }
}

/// Eight deviations of the formula: a bound on every error.
fn bound(params: &Params, level: usize) -> f64 {
    let rounding = (1.0 + 2.0 / 3.0 * params.n() as f64) / 12.0;
    8.0 * (key_variance(params, level) + rounding).sqrt()
}

#[test]
fn one_key_serves_its_level_and_all_below() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let params = params_insecure(1 << 10, (40, 7), (45, 3), 3);
    let secret = SecretKey::generate(&params, &mut rng);
    let key = secret.relinearization_key(4, &mut rng);
    for level in 0..=4 {
        let s = secret.at_level(level);
        let d = uniform(&params, level, &mut rng);
        let switched = switch_poly(&d, &key, [None; 2], 0).unwrap();
        let size = Size::of(&error(&secret, &switched, &d, &s.mul(&s)));
        assert!(
            size.log2_max < bound(&params, level).log2(),
            "level {level}: {size:?}"
        );
    }
    let d = uniform(&params, 5, &mut rng);
    let expected = Error::KeyLevel { need: 5, have: 4 };
    assert_eq!(switch_poly(&d, &key, [None; 2], 0).unwrap_err(), expected);
    let shared = Decomposed::new(&params, &d);
    assert_eq!(shared.level(), 5);
    assert_eq!(shared.switch(&key, None, 0).unwrap_err(), expected);
    let zero = Poly::<Coeff>::zero(params.basis(5));
    let coeff = switch_coeff(d.to_coeff(), &key, [&zero, &zero]);
    assert_eq!(coeff.unwrap_err(), expected);
    let d = uniform(&params, 2, &mut rng);
    let expected = Error::LevelTooLow { need: 3, have: 2 };
    assert_eq!(switch_poly(&d, &key, [None; 2], 3).unwrap_err(), expected);
}

#[test]
fn every_way_to_switch_gives_the_same_ciphertext() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let params = params_insecure(1 << 10, (40, 5), (45, 2), 2);
    let secret = SecretKey::generate(&params, &mut rng);
    let key = secret.relinearization_key(4, &mut rng);
    for level in [4, 3, 1] {
        let [d, x0, x1] = [(); 3].map(|()| uniform(&params, level, &mut rng));
        let shared = Decomposed::new(&params, &d);
        let from_coeff = Decomposed::from_coeff(&params, d.to_coeff());
        for dropped in 0..=level {
            let plain = shared.switch(&key, None, dropped).unwrap();
            assert_eq!(plain.level(), level - dropped);
            assert_eq!(switch_poly(&d, &key, [None; 2], dropped).unwrap(), plain);
            assert_eq!(from_coeff.switch(&key, None, dropped).unwrap(), plain);
            let carried = shared.switch(&key, Some((&x0, &x1)), dropped).unwrap();
            assert_eq!(
                switch_poly(&d, &key, [Some(&x0), Some(&x1)], dropped).unwrap(),
                carried
            );
            if dropped == 0 {
                let mut sum = plain;
                sum.add_assign(&Ciphertext::new(vec![x0.clone(), x1.clone()]))
                    .unwrap();
                assert_eq!(carried, sum);
                let minus_p = [&x0, &x1].map(|x| {
                    let mut x = x.to_coeff();
                    x.scalar_mul_assign(|i| {
                        let q = params.basis(level).modulus(i);
                        q.neg(params.special().product_mod(q))
                    });
                    x
                });
                let [m0, m1] = &minus_p;
                assert_eq!(switch_coeff(d.to_coeff(), &key, [m0, m1]).unwrap(), sum);
            }
        }
    }
}

#[test]
fn galois_keys_map_phases_at_every_level_up_to_theirs() {
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let n = 1 << 10;
    let params = params_insecure(n, (40, 6), (45, 3), 3);
    let secret = SecretKey::generate(&params, &mut rng);
    let mut keys = GaloisKeys::new();
    for (g, level) in [(5, 5), (2 * n - 1, 3), (25, 0)] {
        keys.insert(g, secret.galois_key(g, level, &mut rng));
        for level in 0..=level {
            let masks = &mut Masks::random(&mut rng);
            let ct = secret.encrypt_zero(level, masks, &mut rng);
            let (key, index) = keys.get(g).unwrap();
            let mut switched = switch_poly(&ct.components()[1], key, [None; 2], 0).unwrap();
            switched.components_mut()[0].add_assign(&ct.components()[0]);
            let parts = switched.components().iter().map(|c| c.permuted(index));
            let mut phase = secret.phase(&Ciphertext::new(parts.collect()));
            phase.sub_assign(&secret.phase(&ct).automorphism(g));
            let size = Size::of(&centred(&phase));
            assert!(
                size.log2_max < bound(&params, level).log2(),
                "{g}, {level}: {size:?}"
            );
            assert_eq!(index, eval_automorphism_index(n, g));
        }
    }
    assert_eq!(
        keys.iter()
            .map(|(g, key)| (g, key.level()))
            .collect::<Vec<_>>(),
        [(5, 5), (25, 0), (2 * n - 1, 3)]
    );
    let missing = keys.get(7).map(|_| ()).unwrap_err();
    assert_eq!(missing, Error::MissingGaloisKey { element: 7 });
    // Two polynomials per digit, over the level and three special moduli: words of 5 and 6 bytes.
    let bytes =
        [(2, 6), (1, 1), (2, 4)].map(|(digits, limbs)| 2 * digits * (5 * limbs + 6 * 3) * n);
    assert_eq!(keys.byte_len(), bytes.iter().sum::<usize>());
}

#[test]
fn sums_drops_and_switches_of_ciphertexts() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let params = params_insecure(1 << 8, (40, 4), (45, 1), 1);
    let secret = SecretKey::generate(&params, &mut rng);
    let mut random = |level: usize, parts: usize| {
        Ciphertext::new(
            (0..parts)
                .map(|_| uniform(&params, level, &mut rng))
                .collect(),
        )
    };
    let (a, b, low) = (random(3, 2), random(3, 3), random(2, 2));
    let mut sum = a.clone();
    sum.add_assign(&b).unwrap();
    assert_eq!((sum.degree(), sum.level()), (2, 3));
    let mut want = secret.phase(&a);
    want.add_assign(&secret.phase(&b));
    assert_eq!(secret.phase(&sum), want);
    sum.sub_assign(&b).unwrap();
    assert_eq!(secret.phase(&sum), secret.phase(&a));
    let mut difference = a.clone();
    difference.sub_assign(&b).unwrap();
    let mut want = secret.phase(&a);
    want.sub_assign(&secret.phase(&b));
    assert_eq!(secret.phase(&difference), want);

    let (left, right) = (3, 2);
    let mismatch = Error::LevelMismatch { left, right };
    assert_eq!(a.clone().add_assign(&low).unwrap_err(), mismatch);
    let components = Error::Components {
        found: 3,
        expected: 2,
    };
    assert_eq!(b.pair().map(|_| ()).unwrap_err(), components);
    let too_low = Error::LevelTooLow { need: 3, have: 2 };
    assert_eq!(low.clone().drop_to(3).unwrap_err(), too_low);
    assert_eq!(low.clone().switch_to(&params, 3).unwrap_err(), too_low);
    assert_eq!(low.switched_to(&params, 3).unwrap_err(), too_low);

    let mut dropped = a.clone();
    dropped.drop_to(1).unwrap();
    assert_eq!(secret.phase(&dropped), secret.phase(&a).prefix(2).into());
    let mut same = a.clone();
    same.switch_to(&params, 3).unwrap();
    assert_eq!(same, a);
    assert_eq!(a.switched_to(&params, 3).unwrap(), a);
    same.switch_to(&params, 1).unwrap();
    assert_eq!(a.switched_to(&params, 1).unwrap(), same);
}

#[test]
fn a_modulus_switch_divides_the_phase_up_to_its_rounding() {
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let n = 1 << 12;
    for (sizes, message_bits) in [
        ([40, 40, 40], 60),
        ([60, 40, 40], 60),
        ([60, 45, 60], 62),
        ([60, 55, 51], 62),
    ] {
        let params = mixed_insecure(n, &sizes, &[45], 1);
        let secret = SecretKey::generate(&params, &mut rng);
        let norm: i64 = secret.coefficients().iter().map(|s| s * s).sum();
        let mut ct = secret.encrypt_zero(2, &mut Masks::random(&mut rng), &mut rng);
        // A phase of the size of the modulus below, so that a quotient remains.
        let message: Vec<i64> = (0..n)
            .map(|_| rng.random_range(-(1 << message_bits)..1 << message_bits))
            .collect();
        let message = Poly::from_signed(params.basis(2), &message);
        ct.components_mut()[0].add_assign(&message.into_eval());
        let before = centred(&secret.phase(&ct));
        ct.switch_to(&params, 1).unwrap();
        let after = centred(&secret.phase(&ct));
        let q = params.basis(2).modulus(2).value() as f64;
        let errors: Vec<f64> = before
            .iter()
            .zip(after.iter())
            .map(|(b, a)| a - b / q)
            .collect();
        let variance = errors.iter().map(|e| e * e).sum::<f64>() / n as f64;
        let expected = (1.0 + norm as f64) / 12.0;
        // Rounding errors times a fixed secret have a relative deviation of sqrt(4 / N). Six are
        // allowed.
        assert!((variance / expected - 1.0).abs() < 6.0 * (4.0 / n as f64).sqrt());
    }
}

#[test]
fn digits_end_before_they_exceed_the_special_moduli() {
    let digits = |params: &Params, level| {
        let params = params.with_bounded_digits();
        params.digits(level).collect::<Vec<_>>()
    };
    // 101 bits of special moduli: at most two limbs of 45 bits, three of 30.
    let params = mixed_insecure(256, &[45, 45, 45, 30, 30, 30, 30], &[50, 51], 4);
    assert!(params.digits(6).eq([0..4, 4..7]));
    assert!(params != params.with_bounded_digits());
    assert_eq!(digits(&params, 6), [0..2, 2..4, 4..7]);
    assert_eq!(digits(&params, 5), [0..2, 2..4, 4..6]);
    assert_eq!(digits(&params, 2), [0..2, 2..3]);
    // A digit may be a single limb of any size. The number of limbs bounds digits as well as the
    // bits.
    let params = mixed_insecure(256, &[60, 60], &[40], 2);
    assert_eq!(digits(&params, 1), [0..1, 1..2]);
    let params = mixed_insecure(256, &[30, 30, 30], &[50, 51], 2);
    assert_eq!(digits(&params, 2), [0..2, 2..3]);
}

/// If digits shared a mask, the difference of what they encrypt, a multiple of the secret, would
/// leak.
#[test]
fn no_two_digits_of_a_key_share_a_mask() {
    let mut rng = ChaCha20Rng::seed_from_u64(12);
    let params = params_insecure(1 << 10, (40, 6), (45, 1), 1);
    let secret = SecretKey::generate(&params, &mut rng);
    let key = secret.relinearization_key(5, &mut rng);
    let again = SwitchKey::from_parts(
        &params,
        5,
        *key.seed(),
        (0..6).map(|j| key.digit(j, 0).to_poly()).collect(),
    );
    assert_eq!(again, key);
    for j in 0..6 {
        for i in 0..j {
            assert!(key.digit(i, 1) != key.digit(j, 1), "digits {i} and {j}");
        }
    }
    let galois = secret.galois_key(5, 5, &mut rng);
    assert_ne!(galois.seed(), key.seed());
}

/// A fresh `u` masks both components. A ciphertext of errors alone would decrypt to the same
/// message.
#[test]
fn a_public_encryption_is_as_large_as_its_modulus() {
    let mut rng = ChaCha20Rng::seed_from_u64(13);
    let params = params_insecure(1 << 10, (40, 2), (45, 1), 1);
    let secret = SecretKey::generate(&params, &mut rng);
    let key = PublicKey::generate(&secret, &mut rng);
    let encrypt = |rng: &mut ChaCha20Rng| key.encrypt_zero(&params, 1, rng).unwrap();
    let ct = encrypt(&mut rng);
    // Uniform in [-Q/2, Q/2): a variance of Q^2 / 12, within six deviations for 1024 samples.
    let uniform = params.log_q(1) - 12f64.log2() / 2.0;
    for component in ct.components() {
        let size = Size::of(&centred(&component.to_coeff()));
        assert!((size.log2_rms - uniform).abs() < 0.25, "{}", size.log2_rms);
    }
    let other = encrypt(&mut rng);
    assert_ne!(ct.components()[1], other.components()[1]);
    // Two errors and the key's, times ternary polynomials: sigma^2 (1 + 2 N 2/3), within six
    // deviations.
    let noise = Size::of(&centred(&secret.phase(&ct)));
    let expected = (3.19f64.powi(2) * (1.0 + 4.0 * 1024.0 / 3.0)).log2() / 2.0;
    assert!(
        (noise.log2_rms - expected).abs() < 0.25,
        "{}",
        noise.log2_rms
    );
}
