//! The embedding compared with its definition, and values that cannot be encoded.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::{Setup, insecure_params, mean_square};
use palladion_ckks::{Complex64, Error, Plaintext};
use std::f64::consts::PI;

#[test]
fn slots_are_the_values_at_powers_of_the_root() {
    let params = insecure_params(5, 40, 1);
    let (n, encoder) = (params.n(), params.encoder());
    for slots in [1, 2, 8, 16] {
        let values: Vec<Complex64> = (0..slots)
            .map(|j| Complex64::new(j as f64 - 1.5, 0.25 * (j * j) as f64))
            .collect();
        let coefficients = encoder.embed(&values).unwrap();
        let mut exponent = 1;
        for j in 0..n / 2 {
            let value: Complex64 = coefficients
                .iter()
                .enumerate()
                .map(|(k, &c)| c * Complex64::cis(PI * (exponent * k % (2 * n)) as f64 / n as f64))
                .sum();
            assert!(
                (value - values[j % slots]).norm() < 1e-12,
                "slot {j} of {slots}"
            );
            exponent = exponent * 5 % (2 * n);
        }
        let back = encoder.slots_of(&coefficients, slots).unwrap();
        assert!(mean_square(&back, &values) < 1e-24);
    }
}

#[test]
fn messages_come_back_at_every_level_and_scale() {
    let params = insecure_params(10, 45, 4);
    let mut s = Setup::new(params.clone(), 1);
    let values = s.message(512);
    for level in 0..=4 {
        // Beyond 63 bits coefficients do not fit a word.
        for log_scale in [20.0f64, 40.0, 47.0, 70.0, 150.0] {
            let scale = log_scale.exp2();
            let encoded = Plaintext::encode(&params, &values, level, scale);
            if log_scale > 48.0 + 45.0 * level as f64 {
                assert!(
                    matches!(encoded, Err(Error::Overflow { .. })),
                    "{log_scale} bits at {level}"
                );
                continue;
            }
            let found = encoded.unwrap().decode(&params, 512).unwrap();
            let error = mean_square(&found, &values).sqrt();
            // Error of rounded coefficients, sqrt(N / 12) over the scale, or the precision of
            // doubles.
            assert!(
                error < 10.0 / scale + 1e-14,
                "{error} at 2^{log_scale}, level {level}"
            );
        }
    }
}

#[test]
fn large_messages_are_not_taken_for_small_ones() {
    let params = insecure_params(10, 45, 4);
    let values = [1e30, -2e30, 3.5];
    let plain = Plaintext::encode_coefficients(&params, &values, 4, 1e6).unwrap();
    for (found, expected) in plain.coefficients().iter().zip(values) {
        assert!((found / expected - 1.0).abs() < 1e-9 || (found - expected).abs() < 1e-3);
    }
}

#[test]
fn wrong_messages_are_refused() {
    let params = insecure_params(5, 40, 1);
    let scale = params.scale();
    let one = Complex64::ONE;
    let encode = |values: &[Complex64], scale: f64| Plaintext::encode(&params, values, 1, scale);
    assert_eq!(
        encode(&[one; 17], scale).unwrap_err(),
        Error::TooManyValues {
            found: 17,
            limit: 16
        }
    );
    let nan = encode(&[one, Complex64::new(0.0, f64::NAN)], scale).unwrap_err();
    assert!(matches!(nan, Error::NotFinite { index: 1, .. }), "{nan}");
    let infinite = Plaintext::encode_coefficients(&params, &[f64::INFINITY], 1, scale).unwrap_err();
    assert!(matches!(infinite, Error::NotFinite { index: 0, .. }));
    assert_eq!(
        encode(&[one], f64::NAN).unwrap_err().to_string(),
        "the scale is NaN, expected a finite number above 1"
    );
    let plain = encode(&[one], scale).unwrap();
    assert_eq!(
        plain.decode(&params, 3).unwrap_err(),
        Error::Slots {
            found: 3,
            limit: 16
        }
    );
}
