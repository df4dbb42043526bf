//! Plaintexts compared with the definition, and operands that do not fit.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::Setup;
use palladion_bfv::{Error, Params, PublicKey, T_FERMAT, encrypt_public, measure};
use rand::Rng;
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use rlwe::{GaloisKeys, ParamsSpec};

const N: usize = 64;

fn spec_insecure() -> ParamsSpec {
    ParamsSpec {
        n: N,
        q: ntt_primes(40, N, 4).unwrap(),
        p: ntt_primes(45, N, 2).unwrap(),
        digit_limbs: 2,
    }
}

fn setup(seed: u64) -> Setup {
    let params = Params::new_insecure(&spec_insecure(), T_FERMAT).unwrap();
    Setup::of(params, seed)
}

fn values(rng: &mut ChaCha20Rng) -> Vec<u64> {
    (0..N).map(|_| rng.random_range(0..T_FERMAT)).collect()
}

fn pow(base: u64, mut exponent: usize) -> u64 {
    let (mut square, mut result) = (base, 1);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = result * square % T_FERMAT;
        }
        square = square * square % T_FERMAT;
        exponent /= 2;
    }
    result
}

#[test]
fn slots_are_values_at_powers_of_one_root() {
    let mut s = setup(1);
    let slots = values(&mut s.rng);
    let encoder = s.params.encoder();
    let plaintext = encoder.slots_to_plaintext(&slots);
    assert_eq!(encoder.slots_of(&plaintext), slots);
    let centred = encoder.slots_to_centred(|slot| slots[slot]);
    let same = centred.iter().zip(plaintext.coefficients());
    for (&centred, &residue) in same {
        let (centred, t) = (i64::from(centred), T_FERMAT as i64);
        assert_eq!(centred.rem_euclid(t) as u64, residue);
        assert!(2 * centred.abs() < t);
    }
    let value = |point: u64| {
        let terms = plaintext.coefficients().iter().rev();
        terms.fold(0, |sum, c| (sum * point + c) % T_FERMAT)
    };
    // 3 generates the units modulo 65537. One of the primitive 2N-th roots is the encoder's.
    let root = pow(3, (T_FERMAT as usize - 1) / (2 * N));
    let fits = |zeta: u64| {
        let mut exponent = 1;
        (0..N / 2).all(|i| {
            let row = [pow(zeta, exponent), pow(zeta, 2 * N - exponent)].map(value);
            exponent = exponent * 5 % (2 * N);
            row == [slots[i], slots[i + N / 2]]
        })
    };
    let count = (1..2 * N)
        .step_by(2)
        .filter(|&k| fits(pow(root, k)))
        .count();
    assert_eq!(count, 1);
}

#[test]
fn coefficients_are_taken_modulo_t_and_missing_values_are_zero() {
    let s = setup(2);
    let encoder = s.params.encoder();
    let plaintext = encoder.coefficients(&[-1, 65_537, 65_538, i64::MIN]);
    let want = [
        T_FERMAT - 1,
        0,
        1,
        i64::MIN.rem_euclid(T_FERMAT as i64) as u64,
    ];
    assert_eq!(plaintext.coefficients()[..4], want);
    assert!(plaintext.coefficients()[4..].iter().all(|&c| c == 0));
    let slots = encoder.slots_of(&encoder.slots_to_plaintext(&[7, 8]));
    assert_eq!((slots[0], slots[1]), (7, 8));
    assert!(slots[2..].iter().all(|&v| v == 0));
    assert_eq!(encoder.rotation_element(0), 1);
    assert_eq!(
        encoder.rotation_element(N as isize / 2),
        1,
        "a whole turn of a row"
    );
    assert_eq!(
        encoder.rotation_element(-1),
        encoder.rotation_element(N as isize / 2 - 1)
    );
}

#[test]
fn public_keys_encrypt_at_every_level() {
    let mut s = setup(3);
    let key = PublicKey::generate(&s.secret, &mut s.rng);
    let slots = values(&mut s.rng);
    let message = s.params.encoder().slots_to_plaintext(&slots);
    let mut before = None;
    for level in 0..4 {
        let ct = encrypt_public(&s.params, &key, &message, level, &mut s.rng).unwrap();
        assert_eq!((ct.level(), ct.degree(), ct.factor()), (level, 1, 1));
        assert_eq!(ct.byte_len(), 2 * (level + 1) * N * 8);
        assert_eq!(s.decrypt(&ct), slots);
        let (_, budget) = measure(&s.params, &s.secret, &ct).unwrap();
        assert!(
            before.is_none_or(|b: f64| (budget - b - 40.0).abs() < 2.0),
            "a limb is 40 bits"
        );
        before = Some(budget);
    }
    let again = encrypt_public(&s.params, &key, &message, 0, &mut s.rng).unwrap();
    let other = encrypt_public(&s.params, &key, &message, 0, &mut s.rng).unwrap();
    assert_ne!(again, other, "encryption is random");
    let too_high = encrypt_public(&s.params, &key, &message, 4, &mut s.rng).unwrap_err();
    assert_eq!(
        too_high,
        rlwe::Error::LevelTooLow { need: 4, have: 3 }.into()
    );
}

#[test]
fn products_at_one_level_and_squares_of_any_ciphertext() {
    let mut s = setup(4);
    let key = s.secret.relinearization_key(3, &mut s.rng);
    for level in 1..4 {
        let (a, b) = (values(&mut s.rng), values(&mut s.rng));
        let (x, y) = (s.encrypt(&a, level), s.encrypt(&b, level));
        let want: Vec<u64> = a.iter().zip(&b).map(|(x, y)| x * y % T_FERMAT).collect();
        assert_eq!(
            s.decrypt(&s.eval.mul(&x, &y, &key).unwrap()),
            want,
            "level {level}"
        );
        assert_eq!(
            s.decrypt(&s.eval.mul_no_relin(&y, &x).unwrap()),
            want,
            "level {level}"
        );
        // A square is recognised by its address, so a copy takes the general way.
        let square = s.eval.mul(&x, &x, &key).unwrap();
        assert_eq!(square, s.eval.mul(&x, &x.clone(), &key).unwrap());
        let want: Vec<u64> = a.iter().map(|x| x * x % T_FERMAT).collect();
        assert_eq!(s.decrypt(&square), want, "level {level}");
    }
}

#[test]
fn zero_and_the_extremes_multiply() {
    let mut s = setup(5);
    let key = s.secret.relinearization_key(3, &mut s.rng);
    let edges = [0, 1, T_FERMAT - 1, T_FERMAT / 2, T_FERMAT / 2 + 1];
    for a in edges {
        for b in edges {
            let (x, y) = (s.encrypt(&[a; N], 2), s.encrypt(&[b; N], 2));
            let product = s.eval.mul(&x, &y, &key).unwrap();
            assert_eq!(s.decrypt(&product), [a * b % T_FERMAT; N], "{a} x {b}");
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let mut s = setup(6);
    let key = s.secret.relinearization_key(3, &mut s.rng);
    let slots = values(&mut s.rng);
    let (x, y, low) = (
        s.encrypt(&slots, 3),
        s.encrypt(&slots, 3),
        s.encrypt(&slots, 2),
    );
    let (left, right) = (3, 2);
    let mismatch: Error = rlwe::Error::LevelMismatch { left, right }.into();
    assert_eq!(
        s.eval.add_assign(&mut x.clone(), &low).unwrap_err(),
        mismatch
    );
    assert_eq!(s.eval.mul_no_relin(&x, &low).unwrap_err(), mismatch);
    let carried = s.eval.mul_and_switch(&x, &y, &key, 0).unwrap();
    let (left, right) = (1, carried.factor());
    let factors = s.eval.add_assign(&mut x.clone(), &carried).unwrap_err();
    assert_eq!(factors, Error::FactorMismatch { left, right });
    let sum = s.eval.tensor_sum(&[&x, &carried], &[&y, &y]).unwrap_err();
    assert!(matches!(sum, Error::FactorMismatch { .. }));
    let components: Error = rlwe::Error::Components {
        found: 2,
        expected: 3,
    }
    .into();
    let two = s.eval.relinearize_and_switch(&x, &key, 0).unwrap_err();
    assert_eq!(two, components);
    let all = s.eval.mul_and_switch(&x, &y, &key, 4).unwrap_err();
    assert_eq!(all, rlwe::Error::LevelTooLow { need: 4, have: 3 }.into());
    let mut up = low.clone();
    let error = s.eval.switch_to(&mut up, 3).unwrap_err();
    assert_eq!(error, rlwe::Error::LevelTooLow { need: 3, have: 2 }.into());
    let none = s.eval.automorphism(&x, 5, &GaloisKeys::new()).unwrap_err();
    assert_eq!(none, rlwe::Error::MissingGaloisKey { element: 5 }.into());
    assert_eq!(s.eval.automorphism(&x, 1, &GaloisKeys::new()).unwrap(), x);
}

#[test]
fn plaintext_moduli_that_do_not_split_the_ring_are_refused() {
    let spec = spec_insecure();
    // Even, composite, not 1 modulo 2N, and one of the moduli themselves.
    for t in [65_536, 129 * 5, 65_539, 3, 0, spec.q[1], spec.p[0]] {
        let error = Params::new_insecure(&spec, t).unwrap_err();
        assert_eq!(error, Error::PlaintextModulus { t, n: N });
    }
    let small = Params::new_insecure(&spec, 257).unwrap();
    assert_eq!((small.t().value(), small.encoder().slots()), (257, N));
}
