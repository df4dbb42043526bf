//! Sums over slots, samples in slots and dense layers against their definitions.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

#[path = "common/slots.rs"]
mod slots;

use circuits::approximate::{
    Dense, EncryptedDense, Samples, Weights, dot, sum_rotations, sum_strided,
};
use ckks::{Ciphertext, Plaintext, encrypt};
use ring::sample::Seed;
use rlwe::GaloisKeys;
use slots::Setup;

#[test]
fn sums_run_over_strides_insecure() {
    let mut s = Setup::insecure(1);
    let slots = s.params.slots();
    let x = s.values(slots);
    let ct = s.encrypt(&x);
    for (stride, count) in [
        (1isize, 8usize),
        (16, 16),
        (32, 2),
        (-1, 16),
        (5, 4),
        (3, 1),
    ] {
        let keys = s.keys(sum_rotations(stride, count));
        let sum = sum_strided(&s.evaluator, &ct, (stride, count), &keys).unwrap();
        let term = |j: usize, i: usize| {
            x[(j as isize + i as isize * stride).rem_euclid(slots as isize) as usize]
        };
        let expected: Vec<f64> = (0..slots)
            .map(|j| (0..count).map(|i| term(j, i)).sum())
            .collect();
        s.check(&sum, &expected, &format!("{count} times {stride}"));
    }
    for count in [0, 3] {
        let keys = GaloisKeys::new();
        let refused = sum_strided(&s.evaluator, &ct, (1, count), &keys).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("the number of terms of a sum over slots is {count}, expected a power of two")
        );
    }
    assert!(sum_strided(&s.evaluator, &ct, (1, 2), &GaloisKeys::new()).is_err());
}

#[test]
fn samples_are_summed_over_features_and_over_samples_insecure() {
    let mut s = Setup::insecure(2);
    let layout = Samples::new(16, 16).unwrap();
    let rows: Vec<Vec<f64>> = (0..13).map(|_| s.values(11)).collect();
    let ct = s.encrypt(&layout.pack(&rows).unwrap());
    let (features, samples) = (layout.over_features(), layout.over_samples());
    let copies = layout.to_samples();
    let keys = s.keys(
        [features, samples, copies]
            .into_iter()
            .flat_map(|(stride, count)| sum_rotations(stride, count)),
    );
    // Per sample, in all of its slots.
    let totals: Vec<f64> = (0..16)
        .map(|s| rows.get(s).map_or(0.0, |row| row.iter().sum()))
        .collect();
    let found = sum_strided(&s.evaluator, &ct, features, &keys).unwrap();
    s.check(&found, &totals, "over features");
    // Per feature, in all of its slots after the mask.
    let column: Vec<f64> = (0..11)
        .map(|f| rows.iter().map(|row| row[f]).sum())
        .collect();
    let mut found = sum_strided(&s.evaluator, &ct, samples, &keys).unwrap();
    let scale = s.params.level_modulus(2);
    let mask = Plaintext::encode_real(&s.params, &layout.first(1.0), 2, scale).unwrap();
    s.evaluator.mul_plain_assign(&mut found, &mask).unwrap();
    s.evaluator.rescale(&mut found).unwrap();
    let found = sum_strided(&s.evaluator, &found, copies, &keys).unwrap();
    s.check(&found, &layout.repeat(&column).unwrap(), "over samples");

    let refused = layout.pack(&[[0.0]; 17]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the number of samples is 17, expected at most 16"
    );
    let refused = layout.repeat(&[0.0; 18]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the number of features is 18, expected at most 16"
    );
    assert!(Samples::new(12, 16).is_err() && Samples::new(16, 0).is_err());
}

#[test]
fn dense_layers_are_products_with_their_weights_insecure() {
    let mut s = Setup::insecure(3);
    let relin = s.secret.relinearization_key(2, &mut s.rng);
    for (rows, columns, babies) in [
        (10, 200, 4),
        (16, 16, 16),
        (3, 30, 3),
        (1, 64, 2),
        (128, 256, 8),
    ] {
        let weights: Vec<Vec<f64>> = (0..rows).map(|_| s.values(columns)).collect();
        let weights = Weights::new(weights).unwrap();
        let x = s.values(columns);
        let naive = weights.apply(&x);
        let mut expected = naive.clone();
        expected.resize(weights.period_out(), 0.0);
        let mut padded = x.clone();
        padded.resize(weights.period_in(), 0.0);
        let ct = s.encrypt(&padded);
        let what = format!("{rows} x {columns}");

        let dense = Dense::new(&s.params, &weights, 2, babies).unwrap();
        let keys = s.keys(dense.rotations().iter().map(|&k| k as isize));
        let y = dense.apply(&s.evaluator, &ct, &keys).unwrap();
        s.check(&y, &expected, &what);
        assert!((y.scale() / ct.scale() - 1.0).abs() < 1e-12);

        let (secret, mut rng) = (s.secret.clone(), s.rng.clone());
        let seed = Seed([4; 32]);
        let mut count = 0;
        let encrypted = EncryptedDense::new(&s.params, &weights, 2, babies, |message| {
            count += 1;
            encrypt(&secret, message, (&seed, count), &mut rng)
        });
        let encrypted = encrypted.unwrap();
        let keys = s.keys(encrypted.rotations().iter().map(|&k| k as isize));
        let y = encrypted.apply(&s.evaluator, &ct, &relin, &keys).unwrap();
        s.check(&y, &expected, &format!("{what}, encrypted"));
        assert_eq!(s.evaluator.level(&y), Ok(1));
        assert!(encrypted.apply(&s.evaluator, &y, &relin, &keys).is_err());
    }
}

#[test]
fn weights_apply_by_the_definition() {
    let weights = Weights::new(vec![vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]]).unwrap();
    assert_eq!((weights.period_out(), weights.period_in()), (2, 4));
    assert_eq!(weights.apply(&[1.0, 10.0, 100.0]), [321.0, 654.0]);
    for (rows, text) in [
        (vec![], "a matrix is empty, expected a row and a column"),
        (
            vec![vec![1.0, 2.0], vec![1.0]],
            "the length of a row is 1, expected 2",
        ),
        (
            vec![vec![1.0]; 3],
            "the number of rows, padded, is 4, expected at most the 1 columns",
        ),
    ] {
        assert_eq!(Weights::new(rows).unwrap_err().to_string(), text);
    }
}

#[test]
fn sums_of_products_are_relinearised_once_insecure() {
    let mut s = Setup::insecure(4);
    let relin = s.secret.relinearization_key(2, &mut s.rng);
    let slots = s.params.slots();
    let vectors: Vec<Vec<f64>> = (0..6).map(|_| s.values(slots)).collect();
    let cts: Vec<Ciphertext> = vectors.iter().map(|x| s.encrypt(x)).collect();
    let sum = dot(&s.evaluator, &cts[..3], &cts[3..]).unwrap();
    assert_eq!(sum.degree(), 2);
    let mut sum = s.evaluator.relinearize(&sum, &relin).unwrap();
    s.evaluator.rescale(&mut sum).unwrap();
    let expected: Vec<f64> = (0..slots)
        .map(|j| (0..3).map(|i| vectors[i][j] * vectors[i + 3][j]).sum())
        .collect();
    s.check(&sum, &expected, "three products");
    assert!(dot(&s.evaluator, &cts, &[]).is_err());
}
