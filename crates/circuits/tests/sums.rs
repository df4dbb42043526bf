//! Compares sums over slots, and samples in slots, with their definitions.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

#[path = "common/slots.rs"]
mod slots;

use ckks::{Ciphertext, Plaintext};
use palladion_circuits::Result;
use palladion_circuits::approximate::{Arithmetic, Samples, sum_rotations, sum_strided};
use palladion_circuits::operations::RunRing;
use rlwe::GaloisKeys;
use slots::Setup;

fn summed(s: &Setup, x: &Ciphertext, of: (isize, usize), keys: &GaloisKeys) -> Result<Ciphertext> {
    let operations = RunRing::new(s.params.rlwe(), None, keys);
    let arithmetic = Arithmetic::of(&s.params, &operations);
    let sum = sum_strided(&arithmetic, &arithmetic.open(x)?, of)?;
    Ok(arithmetic.close(sum))
}

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
        let sum = summed(&s, &ct, (stride, count), &keys).unwrap();
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
        let refused = summed(&s, &ct, (1, count), &keys).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("the number of terms of a sum over slots is {count}, expected a power of two")
        );
    }
    assert!(summed(&s, &ct, (1, 2), &GaloisKeys::new()).is_err());
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
    let found = summed(&s, &ct, features, &keys).unwrap();
    s.check(&found, &totals, "over features");
    // Per feature, in all of its slots after the mask.
    let column: Vec<f64> = (0..11)
        .map(|f| rows.iter().map(|row| row[f]).sum())
        .collect();
    let mut found = summed(&s, &ct, samples, &keys).unwrap();
    let scale = s.params.level_modulus(2);
    let mask = Plaintext::encode_real(&s.params, &layout.first(1.0), 2, scale).unwrap();
    s.evaluator.mul_plain_assign(&mut found, &mask).unwrap();
    s.evaluator.rescale(&mut found).unwrap();
    let found = summed(&s, &found, copies, &keys).unwrap();
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
