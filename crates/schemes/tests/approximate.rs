//! CKKS against plain complex numbers.

use palladion_schemes::ckks::{self, Complex64};
use palladion_schemes::{Error, ErrorKind, Needs, rng};

struct Setup {
    params: ckks::Params,
    secret: ckks::SecretKey,
    keys: ckks::EvaluationKeys,
}

fn insecure(depth: usize, rotations: &[isize]) -> Setup {
    let sizes = ckks::Sizes {
        log_n: 10,
        levels: [vec![vec![50]], vec![vec![40]; depth]].concat(),
        special: vec![50, 50],
        digit_limbs: None,
        log_scale: 40.0,
    };
    let params = ckks::Params::new_insecure(&sizes).unwrap();
    let secret = params.generate_secret(&mut rng());
    let needs = Needs {
        rotations,
        conjugate: true,
        ..Needs::default()
    };
    let keys = secret.keys(&needs, &mut rng()).unwrap();
    Setup {
        params,
        secret,
        keys,
    }
}

impl Setup {
    /// Numbers of absolute value at most 1, and their encryption.
    fn numbers(&self, seed: usize) -> (Vec<Complex64>, ckks::Ciphertext) {
        let number = |j: usize| {
            let angle = (seed + 1) as f64 * (j + 1) as f64;
            Complex64::new(angle.sin(), (3.0 * angle).cos()) / 1.5
        };
        let numbers: Vec<Complex64> = (0..self.params.slots()).map(number).collect();
        let ct = self.secret.encrypt(&numbers, &mut rng()).unwrap();
        (numbers, ct.with_keys(&self.keys))
    }

    fn near(&self, found: &ckks::Ciphertext, expected: &[Complex64], error: f64) {
        let found = self.secret.decrypt(found).unwrap();
        let largest = found.iter().zip(expected).map(|(a, b)| (a - b).norm());
        let largest = largest.fold(0.0, f64::max);
        assert!(largest < error, "off by {largest}");
    }
}

fn rotated(values: &[Complex64], k: isize) -> Vec<Complex64> {
    let mut out = values.to_vec();
    out.rotate_left(k.rem_euclid(values.len() as isize) as usize);
    out
}

#[test]
fn operators_are_those_of_numbers() {
    let s = insecure(3, &[1, -2]);
    let ((a, x), (b, y)) = (s.numbers(0), s.numbers(1));
    let zip = |f: fn(Complex64, Complex64) -> Complex64| -> Vec<Complex64> {
        a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect()
    };
    let i = Complex64::I;
    let cases = [
        (x.add(&y), zip(|a, b| a + b), 3),
        (x.sub(&y), zip(|a, b| a - b), 3),
        (x.negate(), zip(|a, _| -a), 3),
        (x.mul(&y), zip(|a, b| a * b), 2),
        (x.mul(&x), zip(|a, _| a * a), 2),
        (x.mul(&y).unwrap().add(&x), zip(|a, b| a * b + a), 2),
        (x.add(2), zip(|a, _| a + 2.0), 3),
        (x.sub(0.5), zip(|a, _| a - 0.5), 3),
        (x.add(i), zip(|a, _| a + Complex64::I), 3),
        (x.mul(-3), zip(|a, _| a * -3.0), 3),
        (x.mul(0.25), zip(|a, _| a * 0.25), 2),
        (x.mul(i), zip(|a, _| a * Complex64::I), 2),
        (x.add(&b), zip(|a, b| a + b), 3),
        (x.sub(&b), zip(|a, b| a - b), 3),
        (x.mul(&b), zip(|a, b| a * b), 2),
        (x.rotate(1), rotated(&a, 1), 3),
        (x.rotate(-2), rotated(&a, -2), 3),
        (x.conjugate(), zip(|a, _| a.conj()), 3),
        (x.drop_to(1), a.clone(), 1),
    ];
    for (index, (found, expected, level)) in cases.into_iter().enumerate() {
        let found = found.unwrap();
        assert_eq!(found.level(), level, "case {index}");
        s.near(&found, &expected, 1e-6);
    }
    // Values that are too few are padded with zeros.
    let mut short = a.clone();
    short[0] += 1.0;
    s.near(&x.add(&[1.0]).unwrap(), &short, 1e-6);
}

#[test]
fn powers_take_the_fewest_levels_and_sums_any_number_of_terms() {
    let s = insecure(3, &ckks::Ciphertext::sum_rotations(3, 13));
    let (a, x) = s.numbers(2);
    for exponent in 1..=8usize {
        let power: Vec<Complex64> = a.iter().map(|a| a.powu(exponent as u32)).collect();
        let found = x.pow(exponent).unwrap();
        let depth = exponent.next_power_of_two().ilog2() as usize;
        assert_eq!(found.level(), 3 - depth, "x^{exponent}");
        s.near(&found, &power, 1e-6);
    }
    assert_eq!(x.pow(9).unwrap_err().kind(), ErrorKind::Level);
    assert_eq!(x.pow(0).unwrap_err().kind(), ErrorKind::Usage);
    for count in [1, 2, 3, 6, 13] {
        let sum = (0..count).map(|i| rotated(&a, 3 * i));
        let sum = sum.fold(vec![Complex64::ZERO; a.len()], |sum, term| {
            sum.iter().zip(&term).map(|(s, t)| s + t).collect()
        });
        let found = x.sum(3, count as usize).unwrap();
        s.near(&found, &sum, 1e-6);
    }
    assert_eq!(ckks::Ciphertext::sum_rotations(3, 13), [18, 9, 3]);
}

#[test]
fn polynomials_and_series_are_those_of_numbers() {
    let s = insecure(6, &[]);
    let numbers: Vec<f64> = (0..s.params.slots()).map(|j| (j as f64).sin()).collect();
    let x = s.secret.encrypt(&numbers, &mut rng()).unwrap();
    let x = x.with_keys(&s.keys);
    for degree in [0usize, 1, 2, 5, 16, 29] {
        let coefficients: Vec<f64> = (0..=degree).map(|k| 1.0 / (k as f64 - 3.5)).collect();
        let at = |x: f64| coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c);
        let found = x.polynomial(&coefficients).unwrap();
        let expected: Vec<Complex64> = numbers.iter().map(|&x| at(x).into()).collect();
        s.near(&found, &expected, 1e-5);
        let depth = (degree + 1).next_power_of_two().ilog2() as usize;
        assert_eq!(found.level(), 6 - depth, "degree {degree}");
    }
    // The sum of a polynomial and of its argument has one scale.
    let y = x.polynomial(&[0.0, 0.0, 1.0]).unwrap().add(&x).unwrap();
    let expected: Vec<Complex64> = numbers.iter().map(|&x| (x * x + x).into()).collect();
    s.near(&y, &expected, 1e-6);
    // Outside of [-1, 1] a polynomial is the same polynomial.
    let large = s.secret.encrypt(&[3.0, -4.0], &mut rng()).unwrap();
    let cube = large.with_keys(&s.keys).polynomial(&[1.0, 0.0, 0.0, 2.0]);
    let cube = s.secret.decrypt_real(&cube.unwrap()).unwrap();
    assert!((cube[0] - 55.0).abs() < 1e-4 && (cube[1] + 127.0).abs() < 1e-4);

    let scaled: Vec<f64> = numbers.iter().map(|x| 3.0 * x + 1.0).collect();
    let x = s
        .secret
        .encrypt(&scaled, &mut rng())
        .unwrap()
        .with_keys(&s.keys);
    let exp = ckks::approximate(f64::exp, -2.0, 4.0, 15).unwrap();
    assert!((exp.at(1.5) - 1.5f64.exp()).abs() < 1e-6);
    let found = x.evaluate(&exp).unwrap();
    assert_eq!((exp.depth(), found.level()), (5, 1));
    let expected: Vec<Complex64> = scaled.iter().map(|x| x.exp().into()).collect();
    s.near(&found, &expected, 1e-4);
    assert!(ckks::approximate(f64::ln, -1.0, 1.0, 3).is_err());
    assert!(ckks::approximate(f64::exp, 1.0, 1.0, 3).is_err());
}

#[test]
fn matrices_of_any_shape_multiply_vectors() {
    let entry = |i: usize, j: usize| ((7 * i + 3 * j) % 11) as f64 / 11.0 - 0.4;
    for (rows, columns) in [(1, 1), (3, 5), (40, 17), (1, 512), (512, 2), (100, 500)] {
        let dense: Vec<Vec<f64>> = (0..rows)
            .map(|i| (0..columns).map(|j| entry(i, j)).collect())
            .collect();
        let plain = insecure(2, &[]);
        let matrix = ckks::Matrix::new(&plain.params, &dense).unwrap();
        let s = insecure(2, &matrix.rotations());
        let (a, x) = s.numbers(3);
        let product = |i: usize| -> Complex64 {
            match dense.get(i) {
                Some(row) => row.iter().zip(&a).map(|(m, a)| a * m).sum(),
                None => Complex64::ZERO,
            }
        };
        let expected: Vec<Complex64> = (0..a.len()).map(product).collect();
        let found = matrix.mul(&x).unwrap();
        assert_eq!(found.level(), 1);
        s.near(&found, &expected, 1e-5);
        // Its scale is that of its level.
        s.near(
            &found.sub(&found).unwrap(),
            &vec![Complex64::ZERO; a.len()],
            1e-6,
        );
        s.near(&found.add(&x).unwrap().sub(&a).unwrap(), &expected, 1e-5);
        let bound = ((rows + columns) as f64).sqrt() + 3.0;
        assert!(
            (matrix.rotations().len() as f64) < bound,
            "{rows} x {columns}"
        );
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let s = insecure(1, &[1]);
    let other = insecure(2, &[1]);
    let (_, x) = s.numbers(0);
    let bare = s.secret.encrypt(&[1.0], &mut rng()).unwrap();
    let kind = |result: Result<ckks::Ciphertext, Error>| result.unwrap_err().kind();
    assert_eq!(kind(bare.mul(&bare)), ErrorKind::MissingKey);
    assert_eq!(kind(x.rotate(5)), ErrorKind::MissingKey);
    assert_eq!(kind(x.add(&other.numbers(0).1)), ErrorKind::Usage);
    assert_eq!(kind(x.add(f64::NAN)), ErrorKind::Usage);
    assert_eq!(kind(x.mul(&x).unwrap().mul(&x)), ErrorKind::Level);
    assert_eq!(kind(x.drop_to(2)), ErrorKind::Level);
    assert_eq!(
        kind(s.secret.encrypt(&[f64::INFINITY], &mut rng())),
        ErrorKind::Usage
    );
    let words = x.rotate(5).unwrap_err().to_string();
    assert!(
        words.contains("rotation by 5: found keys of the rotations [1]"),
        "{words}"
    );
    let stranger = s.params.generate_secret(&mut rng());
    let error = stranger.decrypt(&x).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KeyMismatch);
    let large = s.secret.encrypt(&[1e3, 1e3], &mut rng()).unwrap();
    let lost = large
        .with_keys(&s.keys)
        .square()
        .unwrap()
        .mul(1000)
        .unwrap();
    assert_eq!(
        s.secret.decrypt(&lost).unwrap_err().kind(),
        ErrorKind::Noise
    );
    let ragged = [vec![1.0], vec![1.0, 2.0]];
    assert!(ckks::Matrix::new(&s.params, &ragged).is_err());
    assert_eq!(
        ckks::Params::for_depth(12, 9, 40).unwrap_err().kind(),
        ErrorKind::Security
    );
}
