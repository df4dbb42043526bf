//! Scales of levels, and sums of ciphertexts that differ in both level and scale.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::{Setup, insecure_params, insecure_params_of_pairs};
use palladion_ckks::{Ciphertext, Error, ParamsSpec, Plaintext, encrypt};
use ring::sample::Masks;
use rlwe::security::max_log_qp;

#[test]
fn products_lead_from_scale_to_scale() {
    for params in [insecure_params(10, 40, 12), insecure_params_of_pairs(10, 6)] {
        let stray = |value: f64| (value / params.scale()).ln().abs();
        let moduli = (1..=params.max_level()).map(|level| params.level_modulus(level));
        let furthest = moduli.map(stray).fold(0.0, f64::max);
        for level in (1..=params.max_level()).rev() {
            let square = params.scale_at(level).powi(2) / params.level_modulus(level);
            assert!((square / params.scale_at(level - 1) - 1.0).abs() < 1e-15);
            // A geometric mean of moduli and the scale deviates no further than the one that
            // deviates most.
            assert!(stray(params.scale_at(level)) <= furthest);
        }
        assert!((params.scale_at(0) / params.scale() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn sums_of_all_depths_are_aligned() {
    let params = insecure_params(10, 40, 4);
    let mut s = Setup::new(params.clone(), 40);
    let e = s.evaluator.clone();
    let key = s
        .secret
        .relinearization_key(params.rlwe().max_level(), &mut s.rng);
    let a = s.message(params.slots());
    let message = Plaintext::encode(&params, &a, 4, params.scale_at(4)).unwrap();
    let x = encrypt(
        &s.secret,
        &message,
        &mut Masks::random(&mut s.rng),
        &mut s.rng,
    )
    .unwrap();
    let square = e.mul_and_rescale(&x, &x, &key).unwrap();
    let fourth = e.mul_and_rescale(&square, &square, &key).unwrap();
    let sum = |a: &Ciphertext, b: &Ciphertext| {
        let [a, b] = e.align(a, b).unwrap();
        let sum = e.add(&a, &b).unwrap();
        assert_eq!(e.sub(&sum, &b).unwrap(), a);
        sum
    };
    for (left, right) in [(&x, &square), (&fourth, &x), (&x, &x)] {
        let total = sum(left, right);
        let levels = [left, right].map(|ct| e.level(ct).unwrap());
        assert_eq!(e.level(&total).unwrap(), levels[0].min(levels[1]));
        let [l, r] = [left, right].map(|ct| s.decrypt(ct, params.slots()));
        let expected: Vec<_> = l.iter().zip(&r).map(|(l, r)| l + r).collect();
        let error = crate::common::mean_square(&s.decrypt(&total, params.slots()), &expected);
        assert!(error.sqrt() < 1e-7, "{error}");
    }
    // With one level and two scales, aligning costs a level, which must be left.
    let other = s.encrypt(&a, 4);
    assert_eq!(e.level(&sum(&x, &other)).unwrap(), 3);
    let [mut low, mut other] = [x, other];
    e.drop_to(&mut low, 0).unwrap();
    e.drop_to(&mut other, 0).unwrap();
    assert!(matches!(
        e.align(&low, &other),
        Err(Error::ScaleMismatch { .. })
    ));
}

#[test]
fn sets_for_a_depth_are_secure_or_refused() {
    for (log_n, depth) in [(13, 3), (14, 7), (15, 15)] {
        let n = 1 << log_n;
        let scale_bits = if log_n < 14 { 30 } else { 40 };
        let spec = ParamsSpec::for_depth(n, depth, scale_bits).unwrap();
        let bits = |q: &u64| (*q as f64).log2();
        let log_qp: f64 = spec
            .levels
            .concat()
            .iter()
            .chain(&spec.special)
            .map(bits)
            .sum();
        assert_eq!(spec.levels.len(), depth + 1);
        assert!(log_qp <= f64::from(max_log_qp(n).unwrap()), "{log_n}");
    }
    for depth in [4, 1 << 40] {
        assert!(matches!(
            ParamsSpec::for_depth(1 << 13, depth, 40),
            Err(Error::Rlwe(rlwe::Error::Insecure { limit: 214, .. }))
        ));
    }
}
